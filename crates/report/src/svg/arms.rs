//! Arms side by side: a row an arm, a point a round, all rows on one scale.

use analysis::guard::rounds::Ran;
use records::{ArmRow, BytesPerSec, Micros, Summary, Verdict, percent};
use stats::{Count, Interval, ShareInterval, share_over_rounds, wilson};

use super::palette::{self, Ink};
use super::plot::{Axes, Drawing, Rect, Scale, cut, even_ticks, time_decades};
use crate::campaign::{Arm, Campaign};
use crate::escape;
use crate::words::failed;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 160.0;
const PLOT: f64 = 370.0;
const TOP: f64 = 8.0;
const ROW: f64 = 27.0;
const TITLE: f64 = 26.0;

/// What [`percentiles`] are of.
const PERCENTILES: [&str; 5] = ["idle p50", "p50", "p90", "p99", "slowest"];

/// Idle p50; then p50, p90, p99 and the slowest under load, us; absent: there was no fetch.
pub(crate) fn percentiles(summary: &Summary) -> [Option<u64>; 5] {
    let (idle, load) = (&summary.idle, &summary.measure);
    let of_idle = (idle.attempts > 0).then_some(idle.latency_us.p50);
    let of_load = |us| (load.attempts > 0).then_some(us);
    let l = &load.latency_us;
    [of_idle, of_load(l.p50), of_load(l.p90), of_load(l.p99), of_load(l.max)]
}

/// Rows under a title.
struct Group<'a> {
    title: &'static str,
    rows: Vec<Row<'a>>,
}

/// One arm: its rounds, its middle and where that may be, and the middle in words.
struct Row<'a> {
    arm: &'a Arm,
    ink: Ink,
    rounds: Vec<(&'a Ran, Value)>,
    middle: Option<f64>,
    reach: Option<(f64, f64)>,
    told: String,
    height: f64,
}

/// What a round came to; a bound: this or more.
struct Value {
    at: f64,
    is_bound: bool,
    reach: Option<(f64, f64)>,
    told: String,
}

impl<'a> Row<'a> {
    fn of(
        (place, arm): (u32, &'a Arm),
        value: impl Fn(&Ran) -> Option<Value>,
        (middle, told): (f64, String),
    ) -> Self {
        let rounds: Vec<_> =
            arm.trials.iter().filter_map(|trial| Some((trial, value(trial)?))).collect();
        let (middle, told) = match rounds.as_slice() {
            [] => (None, "\u{2013}".to_owned()),
            _ => (Some(middle), told),
        };
        let ink = palette::download(place);
        Self { arm, ink, rounds, middle, reach: None, told, height: ROW }
    }
}

/// Percentiles of every arm.
pub(super) fn latency<'a>(campaign: &'a Campaign) -> Option<Drawing> {
    let group = |(place, title): (usize, &'static str)| {
        let row = |(at, arm): (u32, &'a Arm)| {
            let value = |trial: &Ran| {
                let us = percentiles(&trial.summary).get(place).copied().flatten()?;
                // A fetch that was given up took its cap or more; a histogram of 3 digits may say a
                // little less.
                let cap = trial.summary.arm.fetch.cap.0;
                let is_bound = us >= cap - cap / 500;
                Some(Value { at: us as f64, is_bound, reach: None, told: Micros(us).to_string() })
            };
            let ArmRow { idle_p50, p50, p90, p99, max, .. } = &arm.row;
            let middle = [idle_p50, p50, p90, p99, max].get(place).map_or(Micros(0), |us| **us);
            Row::of((at, arm), value, (middle.0 as f64, middle.to_string()))
        };
        Group { title, rows: (0..).zip(&campaign.arms).map(row).collect() }
    };
    let groups: Vec<Group<'_>> = PERCENTILES.into_iter().enumerate().map(group).collect();
    let all = groups.iter().flat_map(|group| &group.rows).flat_map(|row| &row.rounds);
    let all: Vec<f64> = all.map(|(_, value)| value.at).collect();
    let low = all.iter().copied().reduce(f64::min)?;
    let low = 10_f64.powf(low.max(1.0).log10().floor());
    let high =
        all.iter().copied().fold(campaign.cap().unwrap_or_default().0 as f64, f64::max) * 1.5;
    let plot = Plot {
        name: "latency",
        title: format!("latency of arms by round: {}", campaign.title()),
        scale: Scale::Log { low, high },
        ticks: time_decades(low, high),
        cap: campaign.cap(),
    };
    Some(plot.draw(&groups))
}

/// Failed shares of every arm.
pub(super) fn failures<'a>(campaign: &'a Campaign) -> Option<Drawing> {
    let count = |trial: &Ran| {
        let outcomes = &trial.summary.measure.outcomes;
        Count::new(outcomes.failed(), outcomes.tried())
    };
    let row = |(at, arm): (u32, &'a Arm)| {
        let value = |trial: &Ran| {
            let ShareInterval { share, interval } = wilson(count(trial)?);
            let told = format!("{} failed", failed(&trial.summary.measure.outcomes));
            let reach = Some((interval.low, interval.high));
            Some(Value { at: share, is_bound: false, reach, told })
        };
        let counts: Vec<Count> = arm.trials.iter().filter_map(count).collect();
        let mut row = Row::of((at, arm), value, (0.0, String::new()));
        // Intervals must not lie on each other: a line for each round, as long as there is room.
        row.height = ROW.max(row.rounds.len() as f64 * 7.0 + 10.0).min(150.0);
        let all = share_over_rounds(&counts);
        if let Some(ShareInterval { share, interval: Interval { low, high } }) = all {
            let bare = |share| percent(share).trim_end_matches(" %").to_owned();
            (row.middle, row.reach) = (Some(share), Some((low, high)));
            row.told = format!("{} ({} to {})", percent(share), bare(low), bare(high));
        }
        row
    };
    let rows: Vec<Row<'_>> = (0..).zip(&campaign.arms).map(row).collect();
    if rows.iter().all(|row| row.rounds.is_empty()) {
        return None;
    }
    let plot = Plot {
        name: "failures",
        title: format!("share of fetches that failed, by arm and round: {}", campaign.title()),
        scale: Scale::Linear { low: 0.0, high: 1.0 },
        ticks: [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, percent(share))).into(),
        cap: None,
    };
    Some(plot.draw(&[Group { title: "", rows }]))
}

/// Rates of the downloads of every arm.
pub(super) fn throughput<'a>(campaign: &'a Campaign) -> Option<Drawing> {
    let row = |(at, arm): (u32, &'a Arm)| {
        let value = |trial: &Ran| {
            let slow = &trial.summary.slow;
            let rate = (slow.downloads > 0).then_some(slow.bytes_per_sec)?;
            let (at, told) = (rate.0 as f64, rate.to_string());
            Some(Value { at, is_bound: false, reach: None, told })
        };
        let rate = arm.row.slow_rate;
        Row::of((at, arm), value, (rate.0 as f64, rate.to_string()))
    };
    let rows: Vec<Row<'_>> = (0..).zip(&campaign.arms).map(row).collect();
    let rounds = rows.iter().flat_map(|row| &row.rounds);
    let most = rounds.map(|(_, value)| value.at).reduce(f64::max)?;
    let high = (most * 1.1).max(1.0);
    let label = |at: f64| BytesPerSec(whole(at)).to_string();
    let plot = Plot {
        name: "throughput",
        title: format!("rate of all downloads, by arm and round: {}", campaign.title()),
        scale: Scale::Linear { low: 0.0, high },
        ticks: even_ticks(high, 4).into_iter().map(|at| (at, label(at))).collect(),
        cap: None,
    };
    Some(plot.draw(&[Group { title: "", rows }]))
}

/// A value of an axis back as a whole number; axes begin at zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to an integer saturates, and ticks are never negative"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// What all rows share.
struct Plot {
    name: &'static str,
    title: String,
    scale: Scale,
    ticks: Vec<(f64, String)>,
    cap: Option<Micros>,
}

impl Plot {
    fn draw(&self, groups: &[Group<'_>]) -> Drawing {
        let high = |group: &Group<'_>| {
            let title = if group.title.is_empty() { 0.0 } else { TITLE };
            title + group.rows.iter().map(|row| row.height).sum::<f64>()
        };
        let height: f64 = groups.iter().map(high).sum();
        let foot = if self.cap.is_some() { 52.0 } else { 32.0 };
        let axes = Axes {
            left: LEFT,
            top: TOP,
            width: PLOT,
            height,
            x: self.scale,
            y: Scale::Linear { low: 0.0, high: 1.0 },
        };
        let mut drawing = Drawing::new(self.name, &self.title, WIDTH, TOP + height + foot);
        for (value, _) in &self.ticks {
            let x = axes.x(*value);
            drawing.line((x, axes.top), (x, axes.bottom()), "grid");
        }
        axes.x_ticks(&mut drawing, &self.ticks);
        if let Some(cap) = self.cap {
            let x = axes.x(cap.0 as f64);
            drawing.line((x, axes.top), (x, axes.bottom()), "cap");
            let text = format!("cap {cap}: given up");
            drawing.text(x + 4.0, axes.bottom() + 42.0, "cap-label end", &text);
        }
        let mut y = TOP;
        for group in groups {
            if !group.title.is_empty() {
                drawing.text(8.0, y + 19.0, "label", group.title);
                drawing.line((8.0, y + 3.0), (WIDTH - 8.0, y + 3.0), "grid");
                y += TITLE;
            }
            for row in &group.rows {
                draw_row(&mut drawing, &axes, row, y);
                y += row.height;
            }
        }
        drawing
    }
}

fn draw_row(drawing: &mut Drawing, axes: &Axes, row: &Row<'_>, top: f64) {
    let (middle, name) = (top + row.height / 2.0, &row.arm.spec.name);
    let Ink { color, hatched } = row.ink;
    let key = Rect { x: 12.0, y: middle - 6.0, width: 12.0, height: 12.0 };
    let fill = if hatched { "none" } else { color };
    drawing.rect(key, &format!("fill=\"{fill}\" stroke=\"{color}\" stroke-width=\"2\""), name);
    drawing.text(32.0, middle + 5.0, "tick strong", &cut(name, LEFT - 44.0, 8.2));
    if let Some((low, high)) = row.reach {
        let (from, to) = (axes.x(low), axes.x(high));
        let band = Rect { x: from, y: top + 3.0, width: to - from, height: row.height - 6.0 };
        drawing.rect(band, "class=\"reach\"", &row.told);
    }
    if let Some(x) = row.middle.map(|at| axes.x(at)) {
        drawing.line((x, top + 3.0), (x, top + row.height - 3.0), "middle-bar");
    }
    drawing.text(axes.right() + 12.0, middle + 5.0, "tick strong", &row.told);
    // Rounds from above to below, so that equal ones do not hide each other.
    let step = (row.height - 12.0) / row.rounds.len().max(1) as f64;
    for (place, (trial, value)) in row.rounds.iter().enumerate() {
        let at = (axes.x(value.at), top + 6.0 + (place as f64 + 0.5) * step);
        if let Some((low, high)) = value.reach {
            drawing.line((axes.x(low), at.1), (axes.x(high), at.1), "whisker");
        }
        draw_mark(drawing, row, trial, value, at);
    }
}

fn draw_mark(
    drawing: &mut Drawing,
    Row { arm, ink: Ink { color, hatched }, .. }: &Row<'_>,
    Ran { round, summary, .. }: &Ran,
    value: &Value,
    (x, y): (f64, f64),
) {
    let verdict = summary.verdict;
    let (shape, class) = match (verdict, value.is_bound) {
        // A trial that proves nothing.
        (Verdict::Inconclusive, _) => ("M-3.5-3.5l7 7m0-7l-7 7", "doubtful"),
        (_, true) => ("M-4-5l10 5l-10 5z", "point"),
        (_, false) => ("M4.5 0a4.5 4.5 0 1 1-9 0a4.5 4.5 0 1 1 9 0z", "point"),
    };
    let fill = if *hatched { "var(--paper)" } else { color };
    let more = if value.is_bound { " or more" } else { "" };
    let name = &arm.spec.name;
    let told = format!("{name}, round {}: {}{more} ({verdict})", round + 1, value.told);
    drawing.raw(&format!(
        "<path transform=\"translate({x:.1} {y:.1})\" d=\"{shape}\" class=\"{class}\" \
         fill=\"{fill}\" stroke=\"{color}\"><title>{}</title></path>",
        escape::html(&told)
    ));
}
