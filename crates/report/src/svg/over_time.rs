//! Series over the time of the run: throughput and queues.

use std::collections::BTreeMap;

use records::{Bytes, BytesPerSec, DownloadInterval, ListenerSample, Phase, RunRecords, SocketEnd};

use super::palette::{self, Ink};
use super::plot::{Axes, Drawing, Rect, Scale, even_ticks, time_label};
use crate::page::{PageData, head};

/// So many lines can be told apart; of more, their sum is drawn.
const MOST_LINES: usize = 8;
/// So many points a line, at most: each is the largest of those it stands for.
const MOST_POINTS: usize = 600;

/// Lines that are no downloads are all of ink, and told apart by these.
const DASHES: [&str; 4] = ["", "7 4", "2 3", "12 3 2 3"];

/// A line of the plot.
struct Line {
    name: String,
    color: &'static str,
    /// SVG's dashes; empty: solid.
    dashes: &'static str,
    points: Vec<(f64, f64)>,
}

/// What each download got, as a rate that stands from the start to the end of each interval.
pub(super) fn throughput(data: &PageData<'_>) -> Option<Drawing> {
    let intervals = &data.analysis.records.intervals;
    let slots = intervals.iter().map(|interval| interval.bytes.len()).max().unwrap_or(0);
    let of = |slot: u32| {
        let rate = |one: &DownloadInterval| {
            let length = one.end_ns.since(one.start_ns);
            one.bytes.get(slot as usize).map_or(0, |bytes| bytes.per(length).0)
        };
        let ends = |one: &DownloadInterval| {
            [one.start_ns, one.end_ns].map(|at| (data.clock.us(at) as f64, rate(one) as f64))
        };
        of_download(slot, intervals.iter().flat_map(ends).collect())
    };
    let lines = (0..u32::try_from(slots).unwrap_or(0)).map(of).collect();
    let label = |value: f64| BytesPerSec(whole(value)).to_string();
    plot(data, "throughput", "downloads, bytes per second", lines, None, &label)
}

/// Accept queues by listener, in the order of workers.
pub(super) fn accept_queues(data: &PageData<'_>) -> Option<Drawing> {
    let RunRecords { manifest, listeners, .. } = data.analysis.records;
    let place = |inode: u64| manifest.listeners.iter().position(|known| *known == inode);
    let mut by_inode: BTreeMap<(usize, u64), Vec<&ListenerSample>> = BTreeMap::new();
    for sample in listeners {
        let place = place(sample.inode).unwrap_or(usize::MAX);
        by_inode.entry((place, sample.inode)).or_default().push(sample);
    }
    let limit = listeners.iter().map(|sample| u64::from(sample.limit)).min();
    let is_shared = by_inode.len() == 1;
    let line = |(((place, inode), samples), dashes): ((_, Vec<&ListenerSample>), _)| Line {
        name: match place {
            _ if is_shared => "the listener of all workers".to_owned(),
            usize::MAX => format!("listener {inode}"),
            worker => format!("worker {worker}"),
        },
        color: "var(--ink)",
        dashes,
        points: samples
            .into_iter()
            .map(|one| (data.clock.us(one.at_ns) as f64, f64::from(one.queue)))
            .collect(),
    };
    let lines = by_inode.into_iter().zip(DASHES.into_iter().cycle()).map(line).collect();
    let what = "connections that wait to be accepted";
    plot(data, "accept-queue", what, lines, limit, &|value| format!("{value:.0}"))
}

/// By download: what lay in the proxy's socket towards the origin, to be read.
pub(super) fn receive_queues(data: &PageData<'_>) -> Option<Drawing> {
    let join = data.analysis.join();
    let transfers = join.transfers.iter().enumerate().filter_map(|(index, transfer)| {
        Some((join.transfer(index)?.session?.upstream_port?, transfer.slot))
    });
    let upstream: BTreeMap<u16, u32> = transfers.collect();
    let mut by_slot: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for sample in &data.analysis.records.sockets {
        if let (SocketEnd::Upstream, Some(slot)) = (sample.end, upstream.get(&sample.port)) {
            let point = (data.clock.us(sample.at_ns) as f64, sample.receive_queue.0 as f64);
            by_slot.entry(*slot).or_default().push(point);
        }
    }
    let lines = by_slot.into_iter().map(|(slot, points)| of_download(slot, points)).collect();
    let label = |value: f64| Bytes(whole(value)).to_string();
    plot(data, "receive-queue", "bytes that wait in the worker's socket", lines, None, &label)
}

/// In the download's colour, with dashes where it is hatched elsewhere.
fn of_download(slot: u32, points: Vec<(f64, f64)>) -> Line {
    let Ink { color, hatched } = palette::download(slot);
    let dashes = if hatched { "7 4" } else { "" };
    Line { name: format!("download {slot}"), color, dashes, points }
}

/// A value of an axis back as a whole number; axes begin at zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float to an integer saturates, and ticks are never negative"
)]
pub(super) fn whole(value: f64) -> u64 {
    value.round() as u64
}

fn plot(
    data: &PageData<'_>,
    name: &'static str,
    what: &str,
    mut lines: Vec<Line>,
    limit: Option<u64>,
    label: &dyn Fn(f64) -> String,
) -> Option<Drawing> {
    let end = data.end_us as f64;
    lines.iter_mut().for_each(|line| line.points.retain(|(at, _)| *at <= end));
    lines.retain(|line| !line.points.is_empty());
    if lines.is_empty() {
        return None;
    }
    let highest = lines.iter().flat_map(|line| &line.points).map(|p| p.1).fold(0.0, f64::max);
    let high = (highest * 1.12).max(4.0);
    let axes = Axes {
        left: 104.0,
        top: 34.0,
        width: 520.0,
        height: 190.0,
        x: Scale::Linear { low: 0.0, high: end },
        y: Scale::Linear { low: 0.0, high },
    };
    let rows = if lines.len() > MOST_LINES { 1 } else { lines.len().div_ceil(4) };
    let height = 272.0 + 22.0 * rows as f64;
    let mut drawing = Drawing::new(
        name,
        &format!("{what}: {}", head::title(&data.analysis.summary)),
        640.0,
        height,
    );
    if let Some(span) = data.phase(Phase::Measure) {
        let (x, to) = (axes.x(span.start_us as f64), axes.x(span.end_us() as f64));
        let band = Rect { x, y: axes.top, width: to - x, height: axes.height };
        drawing.rect(band, "class=\"measured\"", "");
        drawing.text(x + 4.0, axes.top - 8.0, "tick", "fetches under load");
    }
    let ticks: Vec<_> = even_ticks(high, 4).into_iter().map(|at| (at, label(at))).collect();
    axes.y_ticks(&mut drawing, &ticks);
    let ticks = even_ticks(end, 8).into_iter().map(|at| (at, time_label(at)));
    axes.x_ticks(&mut drawing, &ticks.collect::<Vec<_>>());
    if let Some(limit) = limit.map(|limit| limit as f64).filter(|limit| *limit <= high) {
        let y = axes.y(limit);
        drawing.line((axes.left, y), (axes.right(), y), "cap");
        drawing.text(axes.right(), y - 6.0, "cap-label end", &format!("full: {limit:.0}"));
    }
    let many = lines.len() > MOST_LINES;
    for line in &lines {
        let points = thinned(&line.points);
        let points: Vec<_> = points.into_iter().map(|(x, y)| (axes.x(x), axes.y(y))).collect();
        let dashes = line.dashes;
        let class = if many { "series faint" } else { "series" };
        drawing.path(
            &points,
            &format!("class=\"{class}\" stroke=\"{}\" stroke-dasharray=\"{dashes}\"", line.color),
        );
    }
    legend(&mut drawing, &lines, axes.bottom() + 48.0, many);
    Some(drawing)
}

fn legend(drawing: &mut Drawing, lines: &[Line], top: f64, many: bool) {
    if many {
        let text = format!("{} lines, coloured in turn", lines.len());
        drawing.text(20.0, top, "tick", &text);
        return;
    }
    for (place, line) in lines.iter().enumerate() {
        let (x, y) = (20.0 + (place % 4) as f64 * 152.0, top + (place / 4) as f64 * 22.0);
        let dashes = line.dashes;
        let attributes =
            format!("class=\"series\" stroke=\"{}\" stroke-dasharray=\"{dashes}\"", line.color);
        drawing.path(&[(x, y - 5.0), (x + 26.0, y - 5.0)], &attributes);
        drawing.text(x + 32.0, y, "tick", &line.name);
    }
}

/// Fewer points, none of the peaks lost.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    let every = points.len().div_ceil(MOST_POINTS);
    let highest = |part: &[(f64, f64)]| part.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(every).filter_map(highest).collect()
}
