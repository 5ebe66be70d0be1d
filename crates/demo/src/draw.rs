//! The picture: a line of words, an arm on the left, one on the right, what the glyphs mean, the keys.
//!
//! Not for: deciding anything. It shows what the show has.
//!
//! Invariant: nothing is drawn outside of the screen, whatever its size.

mod big;
mod ink;
mod panel;
mod rows;

use std::time::Duration;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use records::MonoNs;

pub use ink::{Colours, Glyphs, Look};

use ink::Ink;

use crate::act::{Act, Side};
use crate::arm::{ArmView, Stage};
use crate::show::Show;
use crate::words;

/// Records reach the screen by way of files that are written every 200 ms, from samples that are
/// gathered for as long: what is older than this is complete, so the lanes end here.
const LAG: Duration = Duration::from_millis(500);
/// What lanes show while a trial runs.
const WINDOW: Duration = Duration::from_secs(9);
/// The narrowest screen with both arms beside each other.
const BOTH: u16 = 60;

/// Draws the show as it stands at `now` over all of `buf`.
pub fn draw(show: &Show, now: MonoNs, look: Look, buf: &mut Buffer) {
    let area = buf.area;
    let (arms, at) = show.picture(now);
    let mut pen = Pen { buf, look };
    let (top, rest) = split(area, 1);
    title(&mut pen, show, now, top);
    let (words, rest) = split(rest, if rest.height > 3 { 2 } else { 1 });
    pen.wrapped(words, &words::line(show.act(), arms), Ink::Words);
    // What can be missed goes first on a small screen.
    let feet = match rest.height {
        0..=8 => 0,
        9..=12 => 1,
        _ => 2,
    };
    let (stage, foot) = split(rest, rest.height.saturating_sub(feet));
    panels(&mut pen, show, arms, at - LAG, stage);
    let (keys, legend) = split(foot, 1);
    pen.text(keys, &help(show), Ink::Soft);
    pen.text(legend, &look.glyphs.legend(), Ink::Soft);
}

fn title(pen: &mut Pen<'_>, show: &Show, now: MonoNs, area: Rect) {
    let act = show.act();
    let number = format!("act {} of {}", act.number(), Act::ALL.len());
    let held = if show.is_held() { "  HELD" } else { "" };
    let left = format!(" turnstile demo  {number}: {}{held}", act.title());
    let right = format!("{} of about {} ", clock(show.elapsed(now)), clock(show.total()));
    pen.fill(area, Ink::Title);
    pen.text(area, &left, Ink::Title);
    let width = u16::try_from(right.len()).unwrap_or(u16::MAX);
    let used = u16::try_from(left.chars().count()).unwrap_or(u16::MAX);
    if used.saturating_add(width) < area.width {
        let x = area.x + area.width - width;
        pen.text(Rect { x, width, ..area }, &right, Ink::Title);
    }
}

fn help(show: &Show) -> String {
    let hold = if show.is_held() { "space lets go" } else { "space holds" };
    let next =
        if show.is_hastened() { "n: goes on as soon as 20 fetches are in" } else { "n goes on" };
    let held = if show.is_held() && show.act().trial().is_some() {
        "   (the trial goes on behind the picture)"
    } else {
        ""
    };
    format!(" {hold}   {next}   q leaves{held}")
}

fn panels(pen: &mut Pen<'_>, show: &Show, arms: &[ArmView; 2], at: MonoNs, area: Rect) {
    let [left, right] = arms;
    let peak = [left, right].map(panel::peak).into_iter().max().unwrap_or(0);
    let draw = |pen: &mut Pen<'_>, side: Side, area: Rect| {
        let arm = if side == Side::Left { left } else { right };
        let active = show.act().side().is_none_or(|active| active == side);
        panel::draw(pen, panel::Panel { arm, show, at, active, peak }, area);
    };
    if area.width >= BOTH {
        let half = area.width / 2;
        draw(pen, Side::Left, Rect { width: half, ..area });
        let (x, width) = (area.x + half, area.width - half);
        draw(pen, Side::Right, Rect { x, width, ..area });
    } else {
        let latest = if *right.stage() == Stage::Waiting { Side::Left } else { Side::Right };
        draw(pen, show.act().side().unwrap_or(latest), area);
    }
}

/// The first `rows` of `area`, and what is left of it.
fn split(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    let rest = Rect { y: area.y + rows, height: area.height - rows, ..area };
    (Rect { height: rows, ..area }, rest)
}

/// `1:05`.
fn clock(time: Duration) -> String {
    let secs = time.as_secs();
    format!("{}:{:02}", secs / 60, secs % 60)
}

/// Draws within bounds.
struct Pen<'a> {
    buf: &'a mut Buffer,
    look: Look,
}

impl Pen<'_> {
    /// One letter, if it is on the screen.
    fn put(&mut self, x: u16, y: u16, letter: char, ink: Ink) {
        let style = self.look.style(ink);
        if let Some(cell) = self.buf.cell_mut((x, y)) {
            cell.set_char(letter).set_style(style);
        }
    }

    /// One line of text in the first row of `area`, as much of it as there is room for. Every letter
    /// takes one cell: what takes more or none is shown as `?`.
    fn text(&mut self, area: Rect, text: &str, ink: Ink) {
        if area.height == 0 {
            return;
        }
        let letters = text.chars().map(|letter| self.look.glyphs.plain(letter));
        let cells: Vec<char> = letters.take(usize::from(area.width)).collect();
        for (x, letter) in (area.x..).zip(cells) {
            self.put(x, area.y, letter, ink);
        }
    }

    /// Text over the rows of `area`, broken between words.
    fn wrapped(&mut self, area: Rect, text: &str, ink: Ink) {
        let room = usize::from(area.width.saturating_sub(2));
        let mut lines = vec![String::new()];
        for word in text.split_whitespace() {
            let Some(line) = lines.last_mut() else { return };
            let length = line.chars().count();
            if length > 0 && length + 1 + word.chars().count() > room {
                lines.push(word.to_owned());
            } else {
                if length > 0 {
                    line.push(' ');
                }
                line.push_str(word);
            }
        }
        for (row, line) in (area.y..area.y + area.height).zip(lines) {
            self.text(Rect { y: row, height: 1, ..area }, &format!(" {line}"), ink);
        }
    }

    /// Gives all of `area` the style of `ink`.
    fn fill(&mut self, area: Rect, ink: Ink) {
        for y in area.y..area.y + area.height {
            for x in area.x..area.x + area.width {
                self.put(x, y, ' ', ink);
            }
        }
    }
}
