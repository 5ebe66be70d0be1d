//! The picture: lanes of workers over time, with their steps and their fetches.
//!
//! It is drawn here and nowhere else, for a document of its own and for the page. There a script
//! makes it wider, moves it, shows and hides its parts, and says what is pointed at; it draws nothing.

mod across;
mod fetches;
mod steps;

use std::fmt::Write as _;

use records::Phase;

use self::across::{Across, Labels, Lane, Level, TOP};
use super::palette;
use super::plot::Drawing;
use crate::data::{PageData, Span};
use crate::words;

/// What stands below them: the time axis.
const BOTTOM: f64 = 30.0;

/// The picture as a document of its own, with a legend; `None` where there is nothing to show.
pub(super) fn draw(data: &PageData<'_>) -> Option<Drawing> {
    let lanes = Lane::all(data)?;
    let bottom = bottom(&lanes);
    let width = Across::LEFT + Across::WIDTH + 12.0;
    let what =
        format!("workers, steps and fetches over time: {}", words::title(&data.analysis.summary));
    let mut drawing = Drawing::new("picture", &what, width, bottom + 78.0);
    drawing.raw(&format!("<defs>{}</defs>{}", palette::symbols(), names(&lanes)));
    let (plot, labels) = plot(data, &lanes, false);
    let (left, width, height) = (Across::LEFT, Across::WIDTH, bottom + BOTTOM);
    drawing.raw(&format!(
        "<svg x=\"{left}\" width=\"{width}\" height=\"{height}\">{plot}{labels}</svg>"
    ));
    legend(&mut drawing, data, bottom + 50.0);
    Some(drawing)
}

/// The same for inside the page: names that stay, beside the plot `#plot` in a box `#view` that shows
/// a part of it. Over the plot lie what a script sets: a veil with holes where something is chosen,
/// what a replay has not come to, its cursor; and labels, which must not be cut.
pub(crate) fn stage(data: &PageData<'_>) -> String {
    let lanes = Lane::all(data).unwrap_or_default();
    let (bottom, end) = (bottom(&lanes), data.end_us);
    let height = bottom + BOTTOM;
    let size = format!("class=\"figure\" width=\"100%\" height=\"{height}\"");
    let (mut plot, labels) = plot(data, &lanes, true);
    if lanes.is_empty() {
        let nothing = "No worker and no fetch is known of this run.";
        let _ = write!(plot, "<text x=\"8\" y=\"{}\" class=\"tick\">{nothing}</text>", TOP + 24.0);
    }
    format!(
        "<svg id=\"names\" class=\"figure\" height=\"{height}\" aria-hidden=\"true\">{}</svg>\
         <div id=\"view\" tabindex=\"0\" role=\"application\" aria-label=\"Workers over time. Arrow \
         keys move, plus and minus zoom, 0 shows the whole run, n and p go to the next and previous \
         failed fetch, space plays, Escape clears.\" aria-describedby=\"told\"><div id=\"plot\" \
         aria-hidden=\"true\"><svg {size}><defs>{}</defs>{plot}</svg>\
         <svg id=\"chosen\" {size} viewBox=\"0 0 {end} {height}\" preserveAspectRatio=\"none\" \
         data-top=\"{TOP}\" data-bottom=\"{bottom}\"><path id=\"veil\"/><path id=\"lit\"/>\
         <path id=\"first\"/></svg>\
         <div id=\"future\" style=\"top:{TOP}px;height:{}px\" hidden></div>\
         <svg id=\"labels\" {size}>{labels}</svg></div></div>",
        names(&lanes),
        palette::symbols(),
        bottom - TOP - 1.0
    )
}

fn bottom(lanes: &[Lane]) -> f64 {
    lanes.last().map_or(TOP + 40.0, Lane::bottom)
}

fn names(lanes: &[Lane]) -> String {
    let name = |lane: &Lane| {
        let (long, short) = match lane.worker {
            None => ("unknown".to_owned(), "?".to_owned()),
            Some(worker) => (format!("worker {worker}"), format!("w{worker}")),
        };
        let at = format!("x=\"8\" y=\"{}\"", lane.middle() + 5.0);
        format!(
            "<text {at} class=\"label long\">{long}</text><text {at} class=\"label short\">{short}\
             </text>\n"
        )
    };
    lanes.iter().map(name).collect()
}

/// All but labels, and the labels.
fn plot(data: &PageData<'_>, lanes: &[Lane], zooms: bool) -> (String, String) {
    let bottom = bottom(lanes);
    let across = Across { end_us: data.end_us, height: bottom + BOTTOM, zooms };
    let mut labels = Labels::default();
    let mut out = phases(&across, data, bottom, &mut labels);
    out += &ticks(&across, bottom);
    let labelled = labelled(data);
    for lane in lanes {
        let Lane { worker, top, blocks, rows, row_height } = lane;
        let worker = worker.map_or(-1, i64::from);
        let (x1, x2, base) = (across.x(0), across.x(data.end_us), lane.base());
        let _ = writeln!(
            out,
            "<g class=\"lane\" data-worker=\"{worker}\" data-top=\"{top}\" data-blocks=\"{blocks}\" \
             data-rows=\"{rows}\" data-row=\"{row_height}\"><line x1=\"{x1}\" x2=\"{x2}\" \
             y1=\"{base}\" y2=\"{base}\" class=\"grid\"/>"
        );
        out += &steps::draw(&across, data, lane, &mut labels, labelled);
        out += &fetches::draw(&across, data, lane);
        out += &steps::queue(&across, data, lane);
        out += "</g>\n";
    }
    (out, labels.0)
}

/// From which length on steps have a label, us: the longest ones.
fn labelled(data: &PageData<'_>) -> u64 {
    const MOST: usize = 300;
    let mut lengths: Vec<u64> = data.holds.iter().map(|hold| hold.span.length_us).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    lengths.get(MOST).map_or(0, |longest| longest.saturating_add(1))
}

fn phases(across: &Across, data: &PageData<'_>, bottom: f64, labels: &mut Labels) -> String {
    let mut out = String::new();
    for &(phase, span) in &data.phases {
        let x = across.x(span.start_us);
        if phase == Phase::Measure {
            let (wide, high) = (across.x(span.length_us), bottom - TOP);
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{TOP}\" width=\"{wide}\" height=\"{high}\" class=\"measured\"/>"
            );
        }
        let above = TOP - 14.0;
        let _ = writeln!(
            out,
            "<line x1=\"{x}\" x2=\"{x}\" y1=\"{above}\" y2=\"{bottom}\" class=\"phase\"/>"
        );
        labels.add(across, span, TOP - 6.0, "tick", phase.name());
    }
    out
}

/// The time axis. On a screen it has finer and finer ticks, of which the script shows as many levels
/// as have room; each divides the one before.
fn ticks(across: &Across, bottom: f64) -> String {
    /// As many as an axis has at once.
    const AT_ONCE: u32 = 12;
    /// Of the finest level.
    const MOST: f64 = 1000.0;
    /// Room that a tick needs, px.
    const ROOM: f64 = 80.0;
    let whole = Span::new(0, across.end_us);
    let (end, x1, x2) = (across.end_us as f64, across.x(0), across.x(across.end_us));
    let mut out =
        format!("<line x1=\"{x1}\" x2=\"{x2}\" y1=\"{bottom}\" y2=\"{bottom}\" class=\"axis\"/>\n");
    let least = if across.zooms { 3 } else { AT_ONCE };
    let mut every = even_step(end, least).max(1.0).round();
    let mut coarser = None;
    while coarser.is_none() || (across.zooms && end / every <= MOST) {
        let level = if coarser.is_none() { Level::Always } else { Level::Fine(every / ROOM) };
        let _ = write!(out, "<g {}>", across.seen(whole, level));
        let digits = (6.0 - every.log10()).ceil().clamp(0.0, 6.0);
        let mut at = 0.0;
        while at <= end {
            if coarser.is_none_or(|coarser| at % coarser != 0.0) {
                out += &tick(across, at, digits, bottom);
            }
            at += every;
        }
        out += "</g>\n";
        coarser = Some(every);
        let first = format!("{every}").starts_with('5');
        every = (every / if first { 5.0 } else { 2.0 }).floor();
        if every < 1.0 {
            break;
        }
    }
    out
}

/// The round step of an axis from 0 to `high` with at most `most` of them.
fn even_step(high: f64, most: u32) -> f64 {
    let rough = high / f64::from(most);
    let power = 10_f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= rough);
    round.unwrap_or(10.0) * power
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to an integer saturates, and ticks are never negative"
)]
fn tick(across: &Across, at: f64, digits: f64, bottom: f64) -> String {
    let x = across.x(at as u64);
    // The first is half out of sight where the names stand apart.
    let class = if at > 0.0 { "tick middle" } else { "tick" };
    format!(
        "<line x1=\"{x}\" x2=\"{x}\" y1=\"{bottom}\" y2=\"{}\" class=\"axis\"/><text x=\"{x}\" \
         y=\"{}\" class=\"{class}\">{:.*} s</text>\n",
        bottom + 5.0,
        bottom + 22.0,
        digits as usize,
        at / 1e6
    )
}

fn legend(drawing: &mut Drawing, data: &PageData<'_>, y: f64) {
    let load = &data.analysis.records.manifest.arm.load;
    let mut x = Across::LEFT;
    for slot in data.downloads.iter().take(6) {
        let (fill, top) = (palette::download(*slot), y - 12.0);
        drawing.raw(&format!(
            "<rect x=\"{x}\" y=\"{top}\" width=\"16\" height=\"14\" fill=\"{fill}\"/>"
        ));
        drawing.text(x + 22.0, y, "tick", &words::holder(load.holder(*slot)));
        x += 128.0;
    }
    for outcome in data.outcomes() {
        drawing.raw(&palette::mark(outcome, &format!("{x:.1}"), y - 5.0));
        let words = words::outcome(outcome).short;
        drawing.text(x + 10.0, y, "tick", words);
        x += words.len() as f64 * 7.0 + 40.0;
    }
    let queue = data.deepest_queue();
    let queue = queue.map(|most| format!("; below: connections to be accepted, {most} at most"));
    let what = "a block: one step, in which its worker served nobody else".to_owned();
    let what = what + &queue.unwrap_or_default();
    drawing.text(Across::LEFT, y + 22.0, "tick", &what);
}
