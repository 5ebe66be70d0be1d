//! One arm: where its trial stands, what became of its fetches, what its workers do, what queues.

use ratatui_core::layout::Rect;
use records::{MonoNs, Phase, Summary, Verdict};

use super::ink::Ink;
use super::rows::{Layout, Row, layout};
use super::{Pen, WINDOW, big, split};
use crate::arm::{ArmView, Counts, Ending, Fate, Queue, Stage};
use crate::lane::{Cell, Extent, Holder, Silence, Window, Worker};
use crate::show::Show;
use crate::words::short;

/// An arm to be drawn.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a> {
    pub(super) arm: &'a ArmView,
    pub(super) show: &'a Show,
    /// Where its lanes end.
    pub(super) at: MonoNs,
    /// Whether the act is about it.
    pub(super) active: bool,
    /// The longest queue of both arms: bars of both have one scale.
    pub(super) peak: u32,
}

/// Cells before a lane, and after it.
const LABEL: u16 = 3;
const FIGURE: u16 = 6;
/// A full bar stands for this many connections at least.
const SCALE: u32 = 8;

/// The longest queue of an arm.
pub(super) fn peak(arm: &ArmView) -> u32 {
    let samples = arm.queues().iter().flat_map(|queue| &queue.samples);
    samples.map(|(_, length)| *length).max().unwrap_or(0)
}

/// Draws an arm over `area`.
pub(super) fn draw(pen: &mut Pen<'_>, panel: Panel<'_>, area: Rect) {
    let inner = frame(pen, panel, area);
    let layout = layout(panel.arm.workers().len(), panel.arm.queues().len(), inner.height);
    let mut rest = inner;
    for &(row, height) in &layout.rows {
        let (place, below) = split(rest, height);
        draw_row(pen, panel, &layout, row, place);
        rest = below;
    }
}

/// Draws the frame, and returns what it holds. A small screen has none.
fn frame(pen: &mut Pen<'_>, panel: Panel<'_>, area: Rect) -> Rect {
    if area.width < 12 || area.height < 6 {
        return area;
    }
    let ink = if panel.active { Ink::Active } else { Ink::Soft };
    let [nw, ne, sw, se, flat, upright] = pen.look.glyphs.frame(panel.active);
    let (right, bottom) = (area.x + area.width - 1, area.y + area.height - 1);
    for x in area.x + 1..right {
        pen.put(x, area.y, flat, ink);
        pen.put(x, bottom, flat, ink);
    }
    for y in area.y + 1..bottom {
        pen.put(area.x, y, upright, ink);
        pen.put(right, y, upright, ink);
    }
    for (x, y, corner) in
        [(area.x, area.y, nw), (right, area.y, ne), (area.x, bottom, sw), (right, bottom, se)]
    {
        pen.put(x, y, corner, ink);
    }
    let plan = panel.arm.plan();
    let name = Rect { x: area.x + 2, width: area.width - 4, height: 1, ..area };
    pen.text(name, &format!(" {}: {} ", plan.name, plan.options), ink);
    Rect { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

fn draw_row(pen: &mut Pen<'_>, panel: Panel<'_>, layout: &Layout, row: Row, area: Rect) {
    let arm = panel.arm;
    let (window, extent) = arm.window(panel.at, WINDOW, usize::from(lane_of(area).width));
    match row {
        Row::State => state(pen, panel, layout, area),
        Row::Big => counters(pen, arm, area),
        Row::Small => {
            let (counts, when) = shown(arm);
            pen.text(area, &small(pen, counts, when), Ink::Plain);
        }
        Row::Idle => idle(pen, arm, area),
        Row::Gap => {}
        Row::Lane(index) => {
            if let Some(worker) = arm.workers().get(index) {
                lane(pen, (worker, index), (window, extent), panel.at, area);
            }
        }
        Row::Queue(index) => {
            if let Some(queue) = arm.queues().get(index) {
                bars(pen, (queue, index), (window, extent), panel, area);
            }
        }
        Row::Good => marks(pen, arm, Fate::Good, window, area),
        Row::Failed => marks(pen, arm, Fate::Failed, window, area),
        Row::Axis => axis(pen, (window, extent), area),
        Row::Longest => longest(pen, arm, area),
        Row::Rate => rate(pen, arm, area),
    }
}

fn state(pen: &mut Pen<'_>, panel: Panel<'_>, layout: &Layout, area: Rect) {
    let (good, failed) = pen.look.glyphs.of_fate();
    let (text, ink) = match panel.arm.stage() {
        Stage::Waiting => ("waits for its turn".to_owned(), Ink::Soft),
        Stage::Running(phase) => (running(panel, *phase), Ink::Plain),
        Stage::Over(Ending::Broken(_)) => ("did not run".to_owned(), Ink::Failed),
        Stage::Over(Ending::Judged(summary)) => {
            let mark = match summary.verdict {
                Verdict::Starved => failed,
                Verdict::Degraded => '~',
                Verdict::Healthy => good,
                Verdict::Inconclusive => '?',
            };
            let cut = if summary.interrupted.is_some() { " (cut short)" } else { "" };
            let name = summary.verdict.name().to_uppercase();
            let slower = summary.verdict == Verdict::Degraded && failed_of(summary) == 0;
            let slower = if slower { ": served, slower than idle" } else { "" };
            (format!("{mark} {name}{slower}{cut}"), Ink::Verdict(summary.verdict))
        }
    };
    let hidden = match layout.hidden {
        0 => String::new(),
        count => format!("; {count} more workers"),
    };
    pen.text(area, &format!(" {text}{hidden}"), ink);
}

fn failed_of(summary: &Summary) -> u64 {
    summary.measure.outcomes.failed()
}

fn running(panel: Panel<'_>, phase: Phase) -> String {
    let what = match phase {
        Phase::Setup => "starts",
        Phase::Idle => "fetches alone",
        Phase::Load => "downloads start",
        Phase::Measure => "fetches beside downloads",
        Phase::Drain => "the last fetches",
        Phase::Teardown => "stops, and counts",
    };
    let left =
        panel.show.phase_length(phase).zip(panel.arm.phase_began()).map(|(length, began)| {
            let end = began + length;
            format!(", {} s left", end.since(panel.at).as_secs())
        });
    format!("{what}{}", left.unwrap_or_default())
}

/// The fetches that the arm is about now, and when they were made.
fn shown(arm: &ArmView) -> (Counts, &'static str) {
    match arm.stage() {
        Stage::Waiting | Stage::Running(Phase::Setup | Phase::Idle) => (arm.idle(), "idle"),
        Stage::Running(_) | Stage::Over(_) => (arm.load(), "under load"),
    }
}

fn small(pen: &Pen<'_>, counts: Counts, when: &str) -> String {
    let (good, failed) = pen.look.glyphs.of_fate();
    format!(" {good} {} good  {failed} {} failed  {when}", counts.good, counts.failed)
}

fn counters(pen: &mut Pen<'_>, arm: &ArmView, area: Rect) {
    if *arm.stage() == Stage::Waiting {
        return;
    }
    let (counts, when) = shown(arm);
    let half = area.width / 2;
    let (good, failed) = pen.look.glyphs.of_fate();
    let columns = [
        (area.x, counts.good, format!("{good} good {when}"), Ink::Good),
        (area.x + half, counts.failed, format!("{failed} failed"), Ink::Failed),
    ];
    for (x, number, label, ink) in columns {
        let place = Rect { x: x + 1, width: half.saturating_sub(1), ..area };
        let (rows, width) = big::rows(number, pen.look.glyphs);
        if width <= usize::from(place.width) {
            for (y, row) in (place.y..).zip(&rows) {
                pen.text(Rect { y, height: 1, ..place }, row, ink);
            }
        } else {
            let (_, below) = split(place, 1);
            pen.text(below, &number.to_string(), ink);
        }
        let (_, below) = split(place, big::HEIGHT);
        pen.text(below, &label, ink);
    }
}

fn idle(pen: &mut Pen<'_>, arm: &ArmView, area: Rect) {
    let counts = arm.idle();
    if shown(arm).1 == "idle" || counts.attempts() == 0 {
        return;
    }
    let half = arm.median(Phase::Idle).map(|median| format!(", half in {}", short(median)));
    let half = half.unwrap_or_default();
    let text = format!(" idle: {} of {} good{half}", counts.good, counts.attempts());
    pen.text(area, &text, Ink::Soft);
}

/// The part of a row that is a lane.
fn lane_of(area: Rect) -> Rect {
    let width = area.width.saturating_sub(LABEL + FIGURE);
    Rect { x: area.x + LABEL.min(area.width), width, ..area }
}

/// What stands at the right of a lane.
fn figure(pen: &mut Pen<'_>, area: Rect, text: &str, ink: Ink) {
    let lane = lane_of(area);
    let x = lane.x + lane.width;
    let width = (area.x + area.width).saturating_sub(x);
    pen.text(Rect { x, width, height: area.height.min(1), ..area }, &format!("{text:>5}"), ink);
}

fn lane(
    pen: &mut Pen<'_>,
    (worker, index): (&Worker, usize),
    (window, extent): (Window, Extent),
    at: MonoNs,
    area: Rect,
) {
    pen.text(area, &format!("w{index}"), Ink::Plain);
    let place = lane_of(area);
    let cells = worker.cells(window, usize::from(place.width), at);
    for y in place.y..place.y + place.height {
        let mut before = Cell::Blank;
        for (x, &cell) in (place.x..).zip(&cells) {
            let (glyph, ink) = pen.look.glyphs.cell(cell);
            match cell {
                // The number of a download stands where its step begins.
                Cell::Held(Holder::Download(slot)) if cell != before => {
                    let number = char::from_digit(slot % 10, 10).unwrap_or(glyph);
                    pen.put(x, y, number, Ink::Label(Holder::Download(slot)));
                }
                _ => pen.put(x, y, glyph, ink),
            }
            before = cell;
        }
    }
    // Only while it runs: later there is nobody to be silent.
    if let Some((length, Silence::Busy)) = worker.silence(at).filter(|_| extent == Extent::Lately) {
        figure(pen, area, &format!("{:.1}s", length.as_secs_f64()), Ink::Silent);
    }
}

fn bars(
    pen: &mut Pen<'_>,
    (queue, index): (&Queue, usize),
    (window, extent): (Window, Extent),
    panel: Panel<'_>,
    area: Rect,
) {
    pen.text(area, &format!("q{index}"), Ink::Plain);
    let place = lane_of(area);
    let count = usize::from(place.width);
    let mut cells = vec![0_u32; count];
    let mut peak = 0;
    for &(at, length) in &queue.samples {
        if let Some(cell) = window.index(at, count).and_then(|index| cells.get_mut(index)) {
            *cell = (*cell).max(length);
            peak = peak.max(length);
        }
    }
    let scale = u64::from(panel.peak.max(SCALE));
    for (x, length) in (place.x..).zip(cells) {
        let eighths = (u64::from(length) * u64::from(place.height) * 8).div_ceil(scale);
        for row in 0..place.height {
            // From the bottom up.
            let above = u64::from(place.height - 1 - row) * 8;
            let part = u32::try_from(eighths.saturating_sub(above)).unwrap_or(8);
            pen.put(x, place.y + row, pen.look.glyphs.bar(part), Ink::Queue);
        }
    }
    let number = match extent {
        Extent::Lately => queue.at(panel.at),
        Extent::Load => peak,
    };
    // Where nobody could look there is no number.
    if !queue.samples.is_empty() {
        figure(pen, area, &number.to_string(), Ink::Queue);
    }
}

fn marks(pen: &mut Pen<'_>, arm: &ArmView, fate: Fate, window: Window, area: Rect) {
    let (good, failed) = pen.look.glyphs.of_fate();
    let (glyph, ink) = match fate {
        Fate::Good => (good, Ink::Good),
        Fate::Failed => (failed, Ink::Failed),
    };
    pen.text(area, &glyph.to_string(), ink);
    let place = lane_of(area);
    let mut count = 0_u64;
    for mark in arm.fetches().iter().filter(|mark| mark.fate == fate) {
        if let Some(index) = window.index(mark.end, usize::from(place.width)) {
            let x = place.x.saturating_add(u16::try_from(index).unwrap_or(u16::MAX));
            pen.put(x, area.y, glyph, ink);
            count += 1;
        }
    }
    if *arm.stage() != Stage::Waiting {
        figure(pen, area, &count.to_string(), ink);
    }
}

fn axis(pen: &mut Pen<'_>, (window, extent): (Window, Extent), area: Rect) {
    let place = lane_of(area);
    let length = window.end.since(window.start).as_secs_f64();
    let (left, right) = match extent {
        Extent::Lately => (format!("{length:.0} s ago"), "under 1 s ago"),
        Extent::Load => ("load starts".to_owned(), "ends"),
    };
    pen.text(place, &left, Ink::Soft);
    let width = u16::try_from(right.len()).unwrap_or(u16::MAX);
    let used = u16::try_from(left.len()).unwrap_or(u16::MAX);
    if used.saturating_add(width) < place.width {
        let x = place.x + place.width - width;
        pen.text(Rect { x, width, ..place }, right, Ink::Soft);
    }
}

fn longest(pen: &mut Pen<'_>, arm: &ArmView, area: Rect) {
    let Some(longest) = arm.longest() else { return };
    let whom = match longest.holder {
        Holder::Download(slot) => format!("download {slot}"),
        Holder::Other => "other".to_owned(),
    };
    let text = format!(" longest {}, {whom}, {}", short(longest.length), longest.bytes);
    pen.text(area, &text, Ink::Plain);
}

fn rate(pen: &mut Pen<'_>, arm: &ArmView, area: Rect) {
    let whole = arm.summary().map(|summary| summary.slow.bytes_per_sec);
    let rate = whole.filter(|rate| rate.0 > 0).or_else(|| arm.rate());
    if let Some(rate) = rate {
        pen.text(area, &format!(" downloads {rate}"), Ink::Plain);
    }
}
