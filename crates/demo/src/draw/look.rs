//! Colours and glyphs: what each thing looks like. A terminal shows UTF-8.

use ratatui_core::style::{Color, Modifier, Style as Look};
use records::{Holder, Verdict};
use report::Style;

use crate::lane::Cell;

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

/// How it looks: in xterm's 256 colours, which look alike everywhere, or without any.
pub(super) fn style(style: Style, ink: Ink) -> Look {
    let plain = Look::new();
    let inked = |colour| match style {
        Style::Plain => plain,
        Style::Colour => plain.fg(colour),
    };
    match ink {
        Ink::Title => plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
        Ink::Strong => plain.add_modifier(Modifier::BOLD),
        Ink::Plain => plain,
        Ink::Soft => inked(GREY),
        Ink::Good => inked(GREEN),
        Ink::Failed => inked(VERMILLION).add_modifier(Modifier::BOLD),
        Ink::Queue => inked(YELLOW),
        Ink::Step(holder) => inked(colour_of(holder)),
        Ink::Label(holder) => match style {
            Style::Plain => plain.add_modifier(Modifier::REVERSED),
            Style::Colour => plain.fg(Color::Black).bg(colour_of(holder)),
        },
        Ink::Silent => inked(LIGHT),
    }
}

/// Downloads, in the order of their slots: the colours of Okabe and Ito (2008), "Color Universal
/// Design", as near as xterm's palette has them. The report page uses the same. Vermillion is left for
/// fetches that failed.
const DOWNLOADS: [Color; 6] = [
    Color::Indexed(32),
    YELLOW,
    GREEN,
    Color::Indexed(175),
    Color::Indexed(117),
    Color::Indexed(227),
];
const YELLOW: Color = Color::Indexed(214);
const GREEN: Color = Color::Indexed(36);
const VERMILLION: Color = Color::Indexed(202);
const GREY: Color = Color::Indexed(245);
const LIGHT: Color = Color::Indexed(250);

fn colour_of(holder: Holder) -> Color {
    match holder {
        Holder::Download(slot) | Holder::Upload(slot) => {
            let slot = usize::try_from(slot).unwrap_or(0);
            DOWNLOADS.get(slot % DOWNLOADS.len()).copied().unwrap_or(LIGHT)
        }
        Holder::Fetch(_) | Holder::Session(_) => LIGHT,
    }
}

/// A fetch that was served.
pub(super) const GOOD: char = '✓';

/// A fetch that was not.
pub(super) const FAILED: char = '✗';

pub(super) const fn verdict(verdict: Verdict) -> (char, Ink) {
    match verdict {
        Verdict::Starved => (FAILED, Ink::Failed),
        Verdict::Degraded => ('~', Ink::Queue),
        Verdict::Healthy => (GOOD, Ink::Good),
        Verdict::Inconclusive => ('?', Ink::Soft),
    }
}

/// A cell of a lane.
pub(super) const fn cell(cell: Cell) -> (char, Ink) {
    match cell {
        Cell::Blank => (' ', Ink::Soft),
        Cell::Asleep => ('·', Ink::Soft),
        Cell::Turning => ('─', Ink::Soft),
        Cell::Held(holder) => ('█', Ink::Step(holder)),
        Cell::Silent => ('▒', Ink::Silent),
    }
}

/// What the glyphs mean, in a row of a screen of 80.
pub(super) fn legend() -> String {
    let glyph = |kind| cell(kind).0;
    format!(
        " {} one long step  {} busy, silent  {} turns  {} asleep  {GOOD} good  {FAILED} failed",
        glyph(Cell::Held(Holder::Session(0))),
        glyph(Cell::Silent),
        glyph(Cell::Turning),
        glyph(Cell::Asleep),
    )
}

/// The rows of `number` as it is read from the back of a room, of blocks; in its plain digits where
/// `room` cells are too few.
pub(super) fn big(number: u64, room: usize) -> [String; 3] {
    let digits = number.to_string();
    if digits.len() * 4 > room + 1 {
        return [String::new(), digits, String::new()];
    }
    [0, 1, 2].map(|row| {
        let parts: Vec<&str> = digits.bytes().map(|digit| shape(digit)[row]).collect();
        parts.join(" ")
    })
}

const fn shape(digit: u8) -> [&'static str; 3] {
    match digit {
        b'0' => ["█▀█", "█ █", "▀▀▀"],
        b'1' => ["▀█ ", " █ ", "▀▀▀"],
        b'2' => ["▀▀█", "█▀▀", "▀▀▀"],
        b'3' => ["▀▀█", " ▀█", "▀▀▀"],
        b'4' => ["█ █", "▀▀█", "  ▀"],
        b'5' => ["█▀▀", "▀▀█", "▀▀▀"],
        b'6' => ["█▀▀", "█▀█", "▀▀▀"],
        b'7' => ["▀▀█", "  █", "  ▀"],
        b'8' => ["█▀█", "█▀█", "▀▀▀"],
        _ => ["█▀█", "▀▀█", "▀▀▀"],
    }
}
