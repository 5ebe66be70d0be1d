//! Latencies of arms side by side: a row an arm, a point a round, all rows on one scale.

use analysis::guard::rounds::Ran;
use records::{ArmRow, Micros, Summary, Verdict};

use super::palette;
use super::plot::Drawing;
use crate::campaign::{Arm, Campaign};
use crate::escape;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 160.0;
const PLOT: f64 = 370.0;
const TOP: f64 = 8.0;
const ROW: f64 = 27.0;
const TITLE: f64 = 26.0;
/// Letters that a name has room for.
const NAME: usize = 14;

/// Times by powers of ten.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// Where a time stands, us; what is not above zero stands at the low end.
    fn x(self, us: f64) -> f64 {
        let [low, high, us] = [self.low, self.high, us.max(self.low)].map(f64::log10);
        let part = if high > low { ((us - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        LEFT + part * PLOT
    }
}

/// What [`percentiles`] are of.
const PERCENTILES: [&str; 5] = ["idle p50", "p50", "p90", "p99", "slowest"];

/// Idle p50; then p50, p90, p99 and the slowest under load, us; absent: there was no fetch.
fn percentiles(summary: &Summary) -> [Option<u64>; 5] {
    let (idle, load) = (&summary.idle, &summary.measure);
    let of_idle = (idle.attempts > 0).then_some(idle.latency_us.p50);
    let of_load = |us| (load.attempts > 0).then_some(us);
    let l = &load.latency_us;
    [of_idle, of_load(l.p50), of_load(l.p90), of_load(l.p99), of_load(l.max)]
}

pub(super) fn draw(campaign: &Campaign) -> Option<Drawing> {
    let trials = campaign.arms.iter().flat_map(|arm| &arm.trials);
    let all: Vec<u64> = trials.flat_map(|ran| percentiles(&ran.summary)).flatten().collect();
    let (cap, least) = (campaign.cap(), *all.iter().min()?);
    let low = 10_f64.powf((least.max(1) as f64).log10().floor());
    let high = (*all.iter().max()?).max(cap.unwrap_or_default().0) as f64 * 1.5;
    let group = TITLE + ROW * campaign.arms.len() as f64;
    let height = group * PERCENTILES.len() as f64;
    let (axis, bottom) = (Axis { low, high }, TOP + height);
    let title = format!("latency of arms by round: {}", campaign.title());
    let mut drawing = Drawing::new("latency", &title, WIDTH, TOP + height + 52.0);
    drawing.line((LEFT, bottom), (LEFT + PLOT, bottom), "axis");
    let decades = (0..=19).map(|power| 10_u64.pow(power));
    for us in decades.filter(|us| (low * 0.999..=high).contains(&(*us as f64))) {
        let x = axis.x(us as f64);
        drawing.line((x, TOP), (x, bottom), "grid");
        drawing.line((x, bottom), (x, bottom + 5.0), "axis");
        drawing.text(x, bottom + 22.0, "tick middle", &Micros(us).to_string());
    }
    if let Some(cap) = cap {
        let x = axis.x(cap.0 as f64);
        drawing.line((x, TOP), (x, bottom), "cap");
        let text = format!("cap {cap}: given up");
        drawing.text(x + 4.0, bottom + 42.0, "cap-label end", &text);
    }
    for (of, title) in PERCENTILES.into_iter().enumerate() {
        let y = TOP + group * of as f64;
        drawing.text(8.0, y + 19.0, "label", title);
        drawing.line((8.0, y + 3.0), (WIDTH - 8.0, y + 3.0), "grid");
        for (place, arm) in (0..).zip(&campaign.arms) {
            row(&mut drawing, axis, of, (place, arm), y + TITLE + ROW * f64::from(place));
        }
    }
    Some(drawing)
}

/// One arm's rounds of a percentile, and their middle in words.
fn row(drawing: &mut Drawing, axis: Axis, of: usize, (place, arm): (u32, &Arm), top: f64) {
    let (middle, name, color) = (top + ROW / 2.0, &arm.spec.name, palette::download(place));
    let (y, title) = (middle - 6.0, escape::html(name));
    drawing.raw(&format!(
        "<rect x=\"12\" y=\"{y:.1}\" width=\"12\" height=\"12\" fill=\"{color}\"><title>{title}</title></rect>"
    ));
    let is_long = name.chars().count() > NAME;
    let short: String = name.chars().take(if is_long { NAME - 1 } else { NAME }).collect();
    let short = short + if is_long { "\u{2026}" } else { "" };
    drawing.text(32.0, middle + 5.0, "tick strong", &short);
    let point = |ran: &Ran| percentiles(&ran.summary).get(of).copied().flatten();
    let rounds: Vec<(&Ran, u64)> =
        arm.trials.iter().filter_map(|ran| Some((ran, point(ran)?))).collect();
    let ArmRow { idle_p50, p50, p90, p99, max, .. } = &arm.row();
    let middles = [idle_p50, p50, p90, p99, max];
    let us = middles.get(of).filter(|_| !rounds.is_empty());
    if let Some(x) = us.map(|us| axis.x(us.0 as f64)) {
        drawing.line((x, top + 3.0), (x, top + ROW - 3.0), "middle-bar");
    }
    let told = us.map_or_else(|| "\u{2013}".to_owned(), ToString::to_string);
    drawing.text(LEFT + PLOT + 12.0, middle + 5.0, "tick strong", &told);
    // Rounds from above to below, so that equal ones do not hide each other.
    let step = (ROW - 12.0) / rounds.len().max(1) as f64;
    for (nth, (ran, us)) in rounds.into_iter().enumerate() {
        let at = (axis.x(us as f64), top + 6.0 + (nth as f64 + 0.5) * step);
        mark(drawing, (name, color), (ran, us), at);
    }
}

fn mark(
    drawing: &mut Drawing,
    (name, color): (&str, &str),
    (Ran { round, summary, .. }, us): (&Ran, u64),
    (x, y): (f64, f64),
) {
    // A fetch that was given up took its cap or more; a histogram of 3 digits may say a little less.
    let (verdict, cap) = (summary.verdict, summary.arm.fetch.cap.0);
    let is_bound = us >= cap - cap / 500;
    let (shape, class) = match (verdict, is_bound) {
        // A trial that proves nothing.
        (Verdict::Inconclusive, _) => ("M-3.5-3.5l7 7m0-7l-7 7", "doubtful"),
        (_, true) => ("M-4-5l10 5l-10 5z", "point"),
        (_, false) => ("M4.5 0a4.5 4.5 0 1 1-9 0a4.5 4.5 0 1 1 9 0z", "point"),
    };
    let more = if is_bound { " or more" } else { "" };
    let told = format!("{name}, round {}: {}{more} ({verdict})", round + 1, Micros(us));
    drawing.raw(&format!(
        "<path transform=\"translate({x:.1} {y:.1})\" d=\"{shape}\" class=\"{class}\" \
         fill=\"{color}\" stroke=\"{color}\"><title>{}</title></path>",
        escape::html(&told)
    ));
}
