//! The picture on a terminal: the holds that last on top, then those that have ended, then the workers.
//!
//! Invariant: nothing is drawn outside of the screen, whatever its size.

use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier, Style as Look};
use records::Micros;

use super::ledger::{Ledger, Told};
use super::words;
use report::Style;

#[cfg(test)]
mod tests;

/// A row, and how it looks.
type Row = (Look, String);

/// Draws what is known over all of `buf`; `title` says who is watched, `note` what became of a process
/// last.
pub(super) fn draw(ledger: &Ledger, title: &str, note: &str, style: Style, buf: &mut Buffer) {
    let area = buf.area;
    buf.reset();
    let mut rows = rows(ledger, title, style, usize::from(area.height).saturating_sub(1));
    rows.push((Look::new(), note.to_owned()));
    for (y, (look, text)) in (area.y..area.bottom()).zip(rows) {
        buf.set_stringn(area.x, y, text, usize::from(area.width), look);
    }
}

/// As many rows as there is room for.
fn rows(ledger: &Ledger, title: &str, style: Style, room: usize) -> Vec<Row> {
    let plain = Look::new();
    let inked = |colour| match style {
        Style::Plain => plain,
        Style::Colour => plain.fg(colour),
    };
    let bold = plain.add_modifier(Modifier::BOLD);
    let watched = ledger.watched_us.0 / 1_000_000;
    let head =
        format!(" turnstile who  {title}  {watched} s  holds from {}   q leaves", ledger.threshold);
    let mut rows =
        vec![(plain.add_modifier(Modifier::REVERSED | Modifier::BOLD), format!("{head:<500}"))];
    let lines =
        |told: &Told, look: Look| words::hold(told).into_iter().map(move |line| (look, line));
    if ledger.open.is_empty() {
        rows.push((inked(Color::Green), "nobody is held".to_owned()));
    }
    rows.extend(
        ledger
            .open
            .iter()
            .flat_map(|told| lines(told, inked(Color::Red).add_modifier(Modifier::BOLD))),
    );
    rows.truncate(room);
    let left = room - rows.len();
    // Those that were held most first; a third of the screen is theirs.
    let mut workers: Vec<_> =
        ledger.workers.values().map(|worker| (ledger.held(worker), worker)).collect();
    // In the order of their ids where they were held alike.
    workers.sort_by_key(|(held, _)| std::cmp::Reverse(*held));
    let kept = workers.len().min((room / 3).max(1)).min(left.saturating_sub(1));
    let ended = left.saturating_sub(kept + 1);
    if ended > 1 {
        rows.push((bold, "ended".to_owned()));
        rows.extend(ledger.recent.iter().flat_map(|told| lines(told, plain)).take(ended - 1));
    }
    if kept == 0 {
        return rows;
    }
    rows.resize(room - kept - 1, (plain, String::new()));
    let more = workers.len() - kept;
    let more = if more > 0 { format!("  ({more} more)") } else { String::new() };
    rows.push((bold, format!("workers{more}")));
    let ink = |held| if held > Micros(0) { inked(Color::Yellow) } else { plain };
    rows.extend(
        workers.iter().take(kept).map(|&(held, worker)| (ink(held), words::worker(worker, held))),
    );
    rows
}
