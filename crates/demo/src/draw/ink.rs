//! Colours and glyphs: what each thing looks like on which terminal.

use ratatui_core::style::{Color, Modifier, Style};
use records::Verdict;

use crate::lane::{Cell, Holder, Silence};

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
    /// The line of words.
    Words,
    /// Ordinary text.
    Plain,
    /// Less important text.
    Soft,
    /// The frame of the arm that the act is about.
    Active,
    /// Fetches that were served.
    Good,
    /// Fetches that were not.
    Failed,
    /// The accept queue.
    Queue,
    /// A step, by whom it serves.
    Holder(Holder),
    /// The number in a step.
    Label(Holder),
    /// A worker that tells nothing.
    Silent,
    /// A verdict.
    Verdict(Verdict),
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
}

impl Look {
    pub(super) fn style(self, ink: Ink) -> Style {
        let plain = Style::new();
        match self.colours {
            Colours::None => match ink {
                Ink::Title | Ink::Label(_) => plain.add_modifier(Modifier::REVERSED),
                Ink::Words | Ink::Active | Ink::Verdict(_) | Ink::Failed => {
                    plain.add_modifier(Modifier::BOLD)
                }
                _ => plain,
            },
            colours => {
                let pick = |(many, few): (u8, Color)| match colours {
                    Colours::Many => Color::Indexed(many),
                    _ => few,
                };
                let ink_of = |ink| colour(ink).map(pick);
                let style = ink_of(ink).map_or(plain, |colour| plain.fg(colour));
                match ink {
                    Ink::Title => plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
                    Ink::Label(holder) => match ink_of(Ink::Holder(holder)) {
                        Some(back) => plain.fg(Color::Black).bg(back),
                        None => plain.add_modifier(Modifier::REVERSED),
                    },
                    Ink::Words | Ink::Active | Ink::Verdict(_) | Ink::Failed => {
                        style.add_modifier(Modifier::BOLD)
                    }
                    _ => style,
                }
            }
        }
    }
}

/// Downloads, in the order of their slots: the colours of Okabe and Ito (2008), "Color Universal
/// Design", as near as xterm's palette has them, and what comes nearest of the sixteen. The report
/// page uses the same. Vermillion is left for fetches that failed.
const DOWNLOADS: [(u8, Color); 6] = [
    (32, Color::Blue),
    (214, Color::Yellow),
    (36, Color::Green),
    (175, Color::Magenta),
    (117, Color::Cyan),
    (227, Color::LightYellow),
];
const VERMILLION: (u8, Color) = (202, Color::LightRed);
const GREY: (u8, Color) = (245, Color::DarkGray);

/// The colour of an ink, on terminals with many and with sixteen; `None`: the terminal's own.
fn colour(ink: Ink) -> Option<(u8, Color)> {
    match ink {
        Ink::Title | Ink::Words | Ink::Plain | Ink::Active | Ink::Label(_) => None,
        Ink::Soft => Some(GREY),
        Ink::Good => Some((36, Color::Green)),
        Ink::Failed | Ink::Verdict(Verdict::Starved) => Some(VERMILLION),
        Ink::Queue => Some((214, Color::Yellow)),
        Ink::Holder(Holder::Download(slot)) => {
            let slot = usize::try_from(slot).unwrap_or(0);
            DOWNLOADS.get(slot % DOWNLOADS.len()).copied()
        }
        Ink::Holder(Holder::Other) | Ink::Silent => Some((250, Color::Gray)),
        Ink::Verdict(Verdict::Degraded) => Some((214, Color::Yellow)),
        Ink::Verdict(Verdict::Healthy) => Some((36, Color::Green)),
        Ink::Verdict(Verdict::Inconclusive) => Some(GREY),
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

    pub(super) const fn of_fate(self) -> (char, char) {
        match self {
            Self::Unicode => ('✓', '✗'),
            Self::Ascii => ('+', 'x'),
        }
    }

    /// A cell of a lane.
    pub(super) const fn cell(self, cell: Cell) -> (char, Ink) {
        let ink = match cell {
            Cell::Held(holder) | Cell::Steps(holder) => Ink::Holder(holder),
            Cell::Silent(_) => Ink::Silent,
            Cell::Blank | Cell::Asleep | Cell::Turning => Ink::Soft,
        };
        let (unicode, ascii) = match cell {
            Cell::Blank => (' ', ' '),
            Cell::Asleep | Cell::Silent(Silence::Asleep) => ('·', '.'),
            Cell::Turning => ('─', '-'),
            Cell::Held(_) => ('█', '#'),
            Cell::Steps(_) => ('▓', '='),
            Cell::Silent(Silence::Busy) => ('▒', '?'),
            Cell::Silent(Silence::Unseen) => ('░', '?'),
        };
        match self {
            Self::Unicode => (unicode, ink),
            Self::Ascii => (ascii, ink),
        }
    }

    /// A bar of `eighths` of a cell.
    pub(super) fn bar(self, eighths: u32) -> char {
        let unicode = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let ascii = [' ', '.', '.', ':', ':', '|', '|', '#', '#'];
        let bars = match self {
            Self::Unicode => unicode,
            Self::Ascii => ascii,
        };
        bars.get(eighths.min(8) as usize).copied().unwrap_or(' ')
    }

    /// The four corners, the flat and the upright line of a frame.
    pub(super) const fn frame(self, active: bool) -> [char; 6] {
        match (self, active) {
            (Self::Unicode, true) => ['┏', '┓', '┗', '┛', '━', '┃'],
            (Self::Unicode, false) => ['┌', '┐', '└', '┘', '─', '│'],
            (Self::Ascii, true) => ['+', '+', '+', '+', '=', '|'],
            (Self::Ascii, false) => ['+', '+', '+', '+', '-', '|'],
        }
    }

    /// The three rows of a large digit.
    pub(super) const fn rows(
        self,
        rows: [&'static str; 3],
        ascii: [&'static str; 3],
    ) -> [&'static str; 3] {
        match self {
            Self::Unicode => rows,
            Self::Ascii => ascii,
        }
    }

    /// What the glyphs mean, in a row of a screen of 80.
    pub(super) fn legend(self) -> String {
        let glyph = |cell| self.cell(cell).0;
        let (good, failed) = self.of_fate();
        format!(
            " {} one step  {} long steps  {} busy, silent  {} turns  {} asleep  {good} good  {failed} failed",
            glyph(Cell::Held(Holder::Other)),
            glyph(Cell::Steps(Holder::Other)),
            glyph(Cell::Silent(Silence::Busy)),
            glyph(Cell::Turning),
            glyph(Cell::Asleep),
        )
    }

    /// A letter as this terminal can show it in one cell.
    pub(super) fn plain(self, letter: char) -> char {
        let ours = |letter: char| {
            matches!(letter, ' '..='~') || "─│┌┐└┘━┃┏┓┗┛░▒▓█▀▄▁▂▃▅▆▇·✓✗".contains(letter)
        };
        match (self, letter) {
            (_, ' '..='~') => letter,
            (Self::Unicode, letter) if ours(letter) => letter,
            _ => '?',
        }
    }
}
