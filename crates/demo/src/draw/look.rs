//! Colours and glyphs: what each thing looks like on which terminal.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::symbols::{bar, border};
use records::{Holder, Verdict};

use crate::lane::{Cell, Silence};

/// How the show looks on this terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Which colours it has.
    pub colours: Colours,
    /// Which letters it has.
    pub glyphs: Glyphs,
}

/// The colours of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// None, or none wanted.
    None,
    /// The sixteen of ANSI, which every palette has its own idea of.
    Sixteen,
    /// xterm's 256, which look alike everywhere.
    Many,
}

/// The letters of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    /// Blocks and bars.
    Unicode,
    /// For a terminal whose locale is not UTF-8.
    Ascii,
}

/// What something is, so that it has one look everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// The bar at the top.
    Title,
    /// What is to be read first.
    Strong,
    /// Ordinary text.
    Plain,
    /// Less important text.
    Soft,
    /// Fetches that were served.
    Good,
    /// Fetches that were not.
    Failed,
    /// What waits.
    Queue,
    /// A step, by whom it serves.
    Step(Holder),
    /// The number in a step.
    Label(Holder),
    /// A worker that tells nothing.
    Silent,
}

impl Colours {
    /// What a terminal can do, by its environment: `NO_COLOR` (<https://no-color.org>), `TERM`,
    /// `COLORTERM`.
    pub fn of(no_color: Option<&str>, term: Option<&str>, colorterm: Option<&str>) -> Self {
        if no_color.is_some_and(|value| !value.is_empty()) {
            return Self::None;
        }
        let term = term.unwrap_or_default();
        let without = ["dumb", "vt1", "vt2", "vt3", "ansi-m"];
        if term.is_empty()
            || term.ends_with("-m")
            || term.ends_with("-mono")
            || without.iter().any(|name| term.starts_with(name))
        {
            return Self::None;
        }
        let many = ["256", "direct", "kitty", "alacritty", "ghostty", "wezterm", "foot"];
        let told = colorterm.is_some_and(|value| matches!(value, "truecolor" | "24bit"));
        if told || many.iter().any(|name| term.contains(name)) { Self::Many } else { Self::Sixteen }
    }

    fn pick(self, (many, few): (u8, Color)) -> Option<Color> {
        match self {
            Self::None => None,
            Self::Sixteen => Some(few),
            Self::Many => Some(Color::Indexed(many)),
        }
    }
}

impl Look {
    pub(super) fn style(self, ink: Ink) -> Style {
        let plain = Style::new();
        let inked = |colour| self.colours.pick(colour).map_or(plain, |colour| plain.fg(colour));
        match ink {
            Ink::Title => plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            Ink::Strong => plain.add_modifier(Modifier::BOLD),
            Ink::Plain => plain,
            Ink::Soft => inked(GREY),
            Ink::Good => inked(GREEN),
            Ink::Failed => inked(VERMILLION).add_modifier(Modifier::BOLD),
            Ink::Queue => inked(YELLOW),
            Ink::Step(holder) => inked(colour_of(holder)),
            Ink::Label(holder) => match self.colours.pick(colour_of(holder)) {
                Some(back) => plain.fg(Color::Black).bg(back),
                None => plain.add_modifier(Modifier::REVERSED),
            },
            Ink::Silent => inked(LIGHT),
        }
    }
}

/// Downloads, in the order of their slots: the colours of Okabe and Ito (2008), "Color Universal
/// Design", as near as xterm's palette has them, and what comes nearest of the sixteen. The report
/// page uses the same. Vermillion is left for fetches that failed.
const DOWNLOADS: [(u8, Color); 6] = [
    (32, Color::Blue),
    YELLOW,
    GREEN,
    (175, Color::Magenta),
    (117, Color::Cyan),
    (227, Color::LightYellow),
];
const YELLOW: (u8, Color) = (214, Color::Yellow);
const GREEN: (u8, Color) = (36, Color::Green);
const VERMILLION: (u8, Color) = (202, Color::LightRed);
const GREY: (u8, Color) = (245, Color::DarkGray);
const LIGHT: (u8, Color) = (250, Color::Gray);

fn colour_of(holder: Holder) -> (u8, Color) {
    match holder {
        Holder::Download(slot) => {
            let slot = usize::try_from(slot).unwrap_or(0);
            DOWNLOADS.get(slot % DOWNLOADS.len()).copied().unwrap_or(LIGHT)
        }
        Holder::Fetch(_) | Holder::Session(_) => LIGHT,
    }
}

impl Glyphs {
    /// What a locale can show, by the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set (locale(7)).
    /// None of them set says nothing: nearly every terminal shows UTF-8.
    pub fn of(lc_all: Option<&str>, lc_ctype: Option<&str>, lang: Option<&str>) -> Self {
        let set = [lc_all, lc_ctype, lang].into_iter().flatten().find(|value| !value.is_empty());
        let utf8 = |value: &str| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        };
        if set.is_none_or(utf8) { Self::Unicode } else { Self::Ascii }
    }

    /// The one of both that this terminal shows.
    pub(super) fn pick<T>(self, unicode: T, ascii: T) -> T {
        match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        }
    }

    /// A fetch that was served.
    pub(super) fn good(self) -> char {
        self.pick('✓', '+')
    }

    /// A fetch that was not.
    pub(super) fn failed(self) -> char {
        self.pick('✗', 'x')
    }

    pub(super) fn verdict(self, verdict: Verdict) -> (char, Ink) {
        match verdict {
            Verdict::Starved => (self.failed(), Ink::Failed),
            Verdict::Degraded => ('~', Ink::Queue),
            Verdict::Healthy => (self.good(), Ink::Good),
            Verdict::Inconclusive => ('?', Ink::Soft),
        }
    }

    /// A cell of a lane.
    pub(super) fn cell(self, cell: Cell) -> (char, Ink) {
        match cell {
            Cell::Blank => (' ', Ink::Soft),
            Cell::Asleep => (self.pick('·', '.'), Ink::Soft),
            Cell::Turning => (self.pick('─', '-'), Ink::Soft),
            Cell::Held(holder) => (self.pick('█', '#'), Ink::Step(holder)),
            Cell::Steps(holder) => (self.pick('▓', '='), Ink::Step(holder)),
            Cell::Silent(Silence::Busy) => (self.pick('▒', '?'), Ink::Silent),
            Cell::Silent(Silence::Asleep) => (self.pick('·', '.'), Ink::Silent),
            Cell::Silent(Silence::Unseen) => (self.pick('░', '?'), Ink::Silent),
        }
    }

    /// Bars of eighths.
    pub(super) fn bars(self) -> bar::Set<'static> {
        let ascii = bar::Set {
            full: "#",
            seven_eighths: "#",
            three_quarters: "|",
            five_eighths: "|",
            half: ":",
            three_eighths: ":",
            one_quarter: ".",
            one_eighth: ".",
            empty: " ",
        };
        self.pick(bar::NINE_LEVELS, ascii)
    }

    /// The frame of an arm, `active` if the act is about it.
    pub(super) fn frame(self, active: bool) -> border::Set<'static> {
        let flat = if active { "=" } else { "-" };
        let ascii = border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: flat,
            horizontal_bottom: flat,
        };
        self.pick(if active { border::THICK } else { border::PLAIN }, ascii)
    }

    /// What the glyphs mean, in a row of a screen of 80.
    pub(super) fn legend(self) -> String {
        let glyph = |cell| self.cell(cell).0;
        let holder = Holder::Session(0);
        format!(
            " {} one step  {} long steps  {} busy, silent  {} turns  {} asleep  {} good  {} failed",
            glyph(Cell::Held(holder)),
            glyph(Cell::Steps(holder)),
            glyph(Cell::Silent(Silence::Busy)),
            glyph(Cell::Turning),
            glyph(Cell::Asleep),
            self.good(),
            self.failed(),
        )
    }

    /// Text from elsewhere as this terminal can show it.
    pub(super) fn fit(self, text: &str) -> String {
        match self {
            Self::Unicode => text.to_owned(),
            Self::Ascii => text.replace(|letter: char| !letter.is_ascii(), "?"),
        }
    }
}
