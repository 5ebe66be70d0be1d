//! Arms side by side: a row an arm, a point a round, all rows on one scale.

use records::{ArmRow, BytesPerSec, Micros};

use super::Points;
use super::over_time::whole;
use super::plot::{Axes, Drawing, Rect, Scale, cut, even_ticks, time_decades};
use crate::campaign::{ArmData, CampaignData, PERCENTILES, ShareData, TrialData};
use crate::escape;
use crate::words::percent;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 160.0;
const PLOT: f64 = 370.0;
const TOP: f64 = 8.0;
const ROW: f64 = 27.0;
const TITLE: f64 = 26.0;
/// Width of a letter of a label, about.
const LETTER: f64 = 8.2;

/// Rows under a title.
struct Group {
    title: String,
    rows: Vec<Row>,
}

/// One arm.
struct Row {
    name: String,
    color: &'static str,
    hatched: bool,
    marks: Vec<Mark>,
    /// The arm's middle, and where it may be.
    middle: Option<(f64, Option<(f64, f64)>)>,
    /// The middle in words.
    told: String,
    height: f64,
}

/// One round.
struct Mark {
    at: f64,
    reach: Option<(f64, f64)>,
    kind: Kind,
    told: String,
    page: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Measured.
    Known,
    /// This or more.
    AtLeast,
    /// Of a trial that proves nothing.
    Doubtful,
}

impl Row {
    fn of(arm: &ArmData, marks: Vec<Mark>) -> Self {
        Self {
            name: arm.name.clone(),
            color: arm.color,
            hatched: arm.hatched,
            marks,
            middle: None,
            told: "\u{2013}".to_owned(),
            height: ROW,
        }
    }
}

fn mark(arm: &ArmData, trial: &TrialData, at: f64, is_bound: bool, value: &str) -> Mark {
    let kind = match (trial.verdict, is_bound) {
        (records::Verdict::Inconclusive, _) => Kind::Doubtful,
        (_, true) => Kind::AtLeast,
        (_, false) => Kind::Known,
    };
    let more = if is_bound { " or more" } else { "" };
    let told = format!("{}, round {}: {value}{more} ({})", arm.name, trial.round, trial.verdict);
    Mark { at, reach: None, kind, told, page: trial.page.clone() }
}

/// Percentiles of every arm.
pub(super) fn latency(campaign: &CampaignData, points: Points) -> Option<Drawing> {
    let mut groups = Vec::new();
    for (place, name) in PERCENTILES.into_iter().enumerate() {
        let row = |arm: &ArmData| {
            let marks: Vec<Mark> = arm
                .trials
                .iter()
                .filter_map(|trial| {
                    let at = trial.latency.get(place).copied().flatten()?;
                    let value = Micros(at.us).to_string();
                    Some(mark(arm, trial, at.us as f64, at.given_up, &value))
                })
                .collect();
            let ArmRow { idle_p50, p50, p90, p99, max, .. } = arm.row;
            let all = [idle_p50, p50, p90, p99, max];
            let middle = all.get(place).copied().unwrap_or_default();
            let mut row = Row::of(arm, marks);
            if !row.marks.is_empty() {
                row.middle = Some((middle.0 as f64, None));
                row.told = middle.to_string();
            }
            row
        };
        let rows = campaign.arms.iter().map(row).collect();
        groups.push(Group { title: name.to_owned(), rows });
    }
    let all = || groups.iter().flat_map(|g| &g.rows).flat_map(|row| &row.marks).map(|m| m.at);
    let low = all().fold(f64::INFINITY, f64::min);
    let high = all().fold(0.0, f64::max).max(campaign.cap_us.unwrap_or(0) as f64) * 1.5;
    if !low.is_finite() {
        return None;
    }
    let low = 10_f64.powf(low.max(1.0).log10().floor());
    let title = format!("latency of arms by round: {}", campaign.title);
    let plot = Plot {
        name: "latency",
        title,
        scale: Scale::Log { low, high },
        ticks: time_decades(low, high),
        cap: campaign.cap_us,
    };
    Some(plot.draw(&groups, points))
}

/// Failed shares of every arm.
pub(super) fn failures(campaign: &CampaignData, points: Points) -> Option<Drawing> {
    let row = |arm: &ArmData| {
        let marks: Vec<Mark> = arm
            .trials
            .iter()
            .filter_map(|trial| {
                let ShareData { share, low, high } = trial.failed_share?;
                let value = format!("{} of {} failed", trial.failed, trial.tried);
                let mut mark = mark(arm, trial, share, false, &value);
                mark.reach = Some((low, high));
                Some(mark)
            })
            .collect();
        // Intervals must not lie on each other: a line for each round, as long as there is room.
        let height = ROW.max(marks.len() as f64 * 7.0 + 10.0).min(150.0);
        let mut row = Row { height, ..Row::of(arm, marks) };
        if let Some(all) = arm.failed {
            row.middle = Some((all.share, Some((all.low, all.high))));
            let bare = |share| percent(share).trim_end_matches(" %").to_owned();
            row.told = format!("{} ({} to {})", percent(all.share), bare(all.low), bare(all.high));
        }
        row
    };
    let rows: Vec<Row> = campaign.arms.iter().map(row).collect();
    if rows.iter().all(|row| row.marks.is_empty()) {
        return None;
    }
    let plot = Plot {
        name: "failures",
        title: format!("share of fetches that failed, by arm and round: {}", campaign.title),
        scale: Scale::Linear { low: 0.0, high: 1.0 },
        ticks: [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| (share, percent(share))).into(),
        cap: None,
    };
    Some(plot.draw(&[Group { title: String::new(), rows }], points))
}

/// Rates of the downloads of every arm.
pub(super) fn throughput(campaign: &CampaignData, points: Points) -> Option<Drawing> {
    let row = |arm: &ArmData| {
        let marks: Vec<Mark> = arm
            .trials
            .iter()
            .filter_map(|trial| {
                let rate = trial.slow_bytes_per_sec?;
                let value = BytesPerSec(rate).to_string();
                Some(mark(arm, trial, rate as f64, false, &value))
            })
            .collect();
        let mut row = Row::of(arm, marks);
        if !row.marks.is_empty() {
            row.middle = Some((arm.row.slow_rate.0 as f64, None));
            row.told = arm.row.slow_rate.to_string();
        }
        row
    };
    let rows: Vec<Row> = campaign.arms.iter().map(row).collect();
    let rates = campaign.arms.iter().flat_map(|arm| &arm.trials);
    let most = rates.filter_map(|trial| trial.slow_bytes_per_sec).max()?;
    let high = (most as f64 * 1.1).max(1.0);
    let label = |at: f64| BytesPerSec(whole(at)).to_string();
    let plot = Plot {
        name: "throughput",
        title: format!("rate of all downloads, by arm and round: {}", campaign.title),
        scale: Scale::Linear { low: 0.0, high },
        ticks: even_ticks(high, 4).into_iter().map(|at| (at, label(at))).collect(),
        cap: None,
    };
    Some(plot.draw(&[Group { title: String::new(), rows }], points))
}

/// What all rows share.
struct Plot {
    name: &'static str,
    title: String,
    scale: Scale,
    ticks: Vec<(f64, String)>,
    cap: Option<u64>,
}

impl Plot {
    fn draw(&self, groups: &[Group], points: Points) -> Drawing {
        let high = |group: &Group| {
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
            let x = axes.x(cap as f64);
            drawing.line((x, axes.top), (x, axes.bottom()), "cap");
            let text = format!("cap {}: given up", Micros(cap));
            drawing.text(x + 4.0, axes.bottom() + 42.0, "cap-label end", &text);
        }
        let mut y = TOP;
        for group in groups {
            if !group.title.is_empty() {
                drawing.text(8.0, y + 19.0, "label", &group.title);
                drawing.line((8.0, y + 3.0), (WIDTH - 8.0, y + 3.0), "grid");
                y += TITLE;
            }
            for row in &group.rows {
                draw_row(&mut drawing, &axes, row, y, points);
                y += row.height;
            }
        }
        drawing
    }
}

fn draw_row(drawing: &mut Drawing, axes: &Axes, row: &Row, top: f64, points: Points) {
    let middle = top + row.height / 2.0;
    let key = Rect { x: 12.0, y: middle - 6.0, width: 12.0, height: 12.0 };
    let (fill, stroke) = if row.hatched { ("none", row.color) } else { (row.color, row.color) };
    drawing.rect(
        key,
        &format!("fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"2\""),
        &row.name,
    );
    let name = cut(&row.name, LEFT - 44.0, LETTER);
    drawing.text(32.0, middle + 5.0, "tick strong", &name);
    if let Some((at, reach)) = row.middle {
        if let Some((low, high)) = reach {
            let (from, to) = (axes.x(low), axes.x(high));
            let band = Rect { x: from, y: top + 3.0, width: to - from, height: row.height - 6.0 };
            drawing.rect(band, "class=\"reach\"", &row.told);
        }
        let x = axes.x(at);
        drawing.line((x, top + 3.0), (x, top + row.height - 3.0), "middle-bar");
    }
    drawing.text(axes.right() + 12.0, middle + 5.0, "tick strong", &row.told);
    // Rounds from above to below, so that equal ones do not hide each other.
    let room = row.height - 12.0;
    let step = room / row.marks.len().max(1) as f64;
    for (place, mark) in row.marks.iter().enumerate() {
        let y = top + 6.0 + (place as f64 + 0.5) * step;
        draw_mark(drawing, axes, row, mark, y, points);
    }
}

fn draw_mark(drawing: &mut Drawing, axes: &Axes, row: &Row, mark: &Mark, y: f64, points: Points) {
    let x = axes.x(mark.at);
    if let Some((low, high)) = mark.reach {
        drawing.line((axes.x(low), y), (axes.x(high), y), "whisker");
    }
    let color = row.color;
    let fill = if row.hatched { "var(--paper)" } else { color };
    let attributes = format!("class=\"point\" fill=\"{fill}\" stroke=\"{color}\"");
    let told = escape::html(&mark.told);
    let shape = match mark.kind {
        Kind::Known => format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\" {attributes}><title>{told}</title>\
             </circle>"
        ),
        Kind::AtLeast => format!(
            "<path d=\"M{:.1} {:.1}l10 5l-10 5z\" {attributes}><title>{told}</title></path>",
            x - 4.0,
            y - 5.0
        ),
        Kind::Doubtful => format!(
            "<path d=\"M{:.1} {:.1}l7 7m0 -7l-7 7\" class=\"doubtful\"><title>{told}</title>\
             </path>",
            x - 3.5,
            y - 3.5
        ),
    };
    drawing.raw(&match points {
        Points::Plain => shape,
        // The table of trials holds the same links: these need no stop of the Tab key.
        Points::Links => {
            let page = escape::html(&escape::path(&mark.page));
            format!("<a href=\"{page}\" tabindex=\"-1\">{shape}</a>")
        }
    });
}
