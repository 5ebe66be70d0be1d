//! The picture: a line of words, an arm on the left, one on the right, what the glyphs mean, the keys.
//!
//! Not for: deciding anything. It shows what the show has.
//!
//! Invariant: nothing is drawn outside of the screen, whatever its size.

mod look;
mod panel;

use std::time::Duration;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Constraint, Layout, Margin, Rect};
use ratatui_core::text::Line;
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use ratatui_widgets::paragraph::{Paragraph, Wrap};
use records::MonoNs;
use report::Style;

use look::Ink;
use panel::Panel;

use crate::act::{Act, Side};
use crate::arm::{ArmView, Stage};
use crate::show::Show;
use crate::words;

/// Records reach the screen by way of files that are written every 200 ms, from samples that are
/// gathered for as long: what is older than this is complete, so the lanes end here.
const LAG: Duration = Duration::from_millis(500);
/// The narrowest screen with both arms beside each other.
const BOTH: u16 = 60;

/// Draws the show as it stands at `now` over all of `buf`.
pub fn draw(show: &Show, now: MonoNs, style: Style, buf: &mut Buffer) {
    let (arms, at) = show.picture(now);
    // The reasons of a verdict take two rows of 80 cells, and a little more. What can be missed goes
    // first on a small screen.
    let (words, notes) = match buf.area.height {
        0..=4 => (1, 0),
        5..=13 => (2, 0),
        14..=29 => (2, 1),
        _ => (3, 1),
    };
    let rows = [1, words].map(Constraint::Length).into_iter().chain([Constraint::Fill(1)]);
    let rows = rows.chain([notes, notes].map(Constraint::Length));
    let [top, line, stage, keys, legend] = Layout::vertical(rows).areas(buf.area);
    title(show, now, style, top, buf);
    Paragraph::new(words::line(show.act(), arms))
        .wrap(Wrap { trim: true })
        .style(look::style(style, Ink::Strong))
        .render(line.inner(Margin::new(1, 0)), buf);
    panels(show, arms, at - LAG, style, stage, buf);
    Line::styled(help(show), look::style(style, Ink::Soft)).render(keys, buf);
    Line::styled(look::legend(), look::style(style, Ink::Soft)).render(legend, buf);
}

fn title(show: &Show, now: MonoNs, style: Style, area: Rect, buf: &mut Buffer) {
    let act = show.act();
    let number = format!("act {} of {}", act.number(), Act::ALL.len());
    let held = if show.is_held() { "  HELD" } else { "" };
    let left = Line::raw(format!(" turnstile demo  {number}: {}{held}", act.title()));
    let times = [show.elapsed(now), show.total()].map(|time| time.as_secs());
    let [now, total] = times.map(|secs| format!("{}:{:02}", secs / 60, secs % 60));
    let right = Line::raw(format!("{now} of about {total} "));
    let both = left.width() + right.width() < usize::from(area.width);
    let bar = Block::new().style(look::style(style, Ink::Title)).title(left);
    let bar = if both { bar.title(right.right_aligned()) } else { bar };
    bar.render(area, buf);
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

fn panels(
    show: &Show,
    arms: &[ArmView; 2],
    at: MonoNs,
    style: Style,
    area: Rect,
    buf: &mut Buffer,
) {
    let about = show.act().side();
    let peak = arms.iter().map(ArmView::longest_queue).max().unwrap_or(0);
    let mut draw = |side: Side, area: Rect| {
        let active = about.is_none_or(|about| about == side);
        Panel { arm: side.of(arms), show, at, style, active, peak }.draw(area, buf);
    };
    if area.width >= BOTH {
        let halves = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]);
        let [left, right] = halves.areas(area);
        draw(Side::Left, left);
        draw(Side::Right, right);
    } else {
        let waits = Side::Right.of(arms).stage == Stage::Waiting;
        draw(about.unwrap_or(if waits { Side::Left } else { Side::Right }), area);
    }
}
