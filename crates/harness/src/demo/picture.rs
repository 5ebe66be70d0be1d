//! The picture: a line of words, an arm on the left, one on the right, the keys, what the glyphs mean.
//! What they tell, they tell without colour too.
//!
//! Invariant: nothing is drawn outside of the screen, whatever its size.

use std::time::Duration;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Constraint, Layout, Margin, Rect};
use ratatui_core::style::{Color, Modifier, Style as Look};
use ratatui_core::symbols::border;
use ratatui_core::text::{Line, Span, Text};
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use ratatui_widgets::paragraph::{Paragraph, Wrap};
use records::{Holder, Micros, MonoNs, Outcome, Phase, RunRecords, Verdict, count};
use report::{Style, words};

use super::arm::{ArmView, Stage};
use super::{ACTS, Act, Show};

/// Records reach the screen by way of files that are written every 200 ms, from samples that are
/// gathered for as long: what is older than this is complete, so the lanes end here.
const LAG: Duration = Duration::from_millis(500);
/// What lanes show while a trial runs.
const WINDOW: Duration = Duration::from_secs(9);
/// Cells before a lane, and after it.
const LABEL: usize = 3;
const FIGURE: usize = 7;
/// A step is worth a sentence from here on: ten turns of it make the cap of a fetch.
const LONG: Micros = Micros(100_000);

const GOOD: Color = Color::Indexed(36);
const FAILED: Color = Color::Indexed(202);
const WAITS: Color = Color::Indexed(214);
const SOFT: Color = Color::Indexed(245);
/// Downloads, in the order of their slots: the colours of Okabe and Ito (2008), "Color Universal
/// Design", as near as xterm's palette has them. The report page uses the same. Vermillion is left for
/// fetches that failed.
const DOWNLOADS: [Color; 6] = [
    Color::Indexed(32),
    WAITS,
    GOOD,
    Color::Indexed(175),
    Color::Indexed(117),
    Color::Indexed(227),
];

/// Draws the show as it stands at `now` over all of `buf`.
pub(super) fn draw(show: &Show, now: MonoNs, style: Style, buf: &mut Buffer) {
    let pen = Pen { style, at: show.held.unwrap_or(now) - LAG };
    let rows = [1, 3].map(Constraint::Length).into_iter().chain([Constraint::Fill(1)]);
    let rows = rows.chain([1, 1].map(Constraint::Length));
    let [top, line, stage, keys, legend] = Layout::vertical(rows).areas(buf.area);
    let bold = Look::new().add_modifier(Modifier::BOLD);
    Line::raw(title(show, now)).style(bold.add_modifier(Modifier::REVERSED)).render(top, buf);
    let text: Text<'_> = said(show).into_iter().map(Line::raw).collect();
    Paragraph::new(text)
        .wrap(Wrap { trim: true })
        .style(bold)
        .render(line.inner(Margin::new(1, 0)), buf);
    let about = match show.act() {
        Act::Opening | Act::Verdict | Act::Trial(0) => Some(0),
        Act::Change | Act::Trial(_) => Some(1),
        Act::Closing => None,
    };
    let halves = Layout::horizontal([Constraint::Fill(1); 2]).areas::<2>(stage);
    for (place, half) in halves.into_iter().enumerate() {
        pen.panel(show, place, about.is_none_or(|about| about == place), half, buf);
    }
    Line::styled(help(show), pen.ink(SOFT)).render(keys, buf);
    let glyphs = " █ one long step  ▒ in a step, silent  ─ turns  · asleep  ✓ good  ✗ failed";
    Line::styled(glyphs, pen.ink(SOFT)).render(legend, buf);
}

fn title(show: &Show, now: MonoNs) -> String {
    let total = ACTS.iter().map(|act| show.timing.of(*act)).sum();
    let times = [now.since(show.began), total].map(|time: Duration| time.as_secs());
    let [now, total] = times.map(|secs| format!("{}:{:02}", secs / 60, secs % 60));
    let (act, acts, title) = (show.act + 1, ACTS.len(), ACTS[show.act].1);
    let held = if show.held.is_some() { "  HELD" } else { "" };
    format!(" turnstile demo  act {act} of {acts}: {title}{held}  {now} of about {total}{:500}", "")
}

fn help(show: &Show) -> String {
    let is_trial = matches!(show.act(), Act::Trial(_));
    let hold = match show.held {
        Some(_) if is_trial => "space lets go (the trial goes on behind the picture)",
        Some(_) => "space lets go",
        None => "space holds",
    };
    let next = if show.hastened { "n: as soon as 20 fetches are in" } else { "n goes on" };
    format!(" {hold}   {next}   q leaves")
}

/// What is said to the room, made of what is known at the moment.
fn said(show: &Show) -> Vec<String> {
    let [before, after] = &show.arms;
    match show.act() {
        Act::Opening => {
            let (arm, workers) = (&before.arm, u64::from(before.arm.proxy.workers));
            let workers = count(workers, "worker", "workers");
            let cap = arm.fetch.cap;
            vec![format!(
                "A proxy with {workers}, and small fetches: each has {cap}, then is given up."
            )]
        }
        Act::Trial(place) => vec![trial(&show.arms[place])],
        Act::Verdict => {
            let cause = before.summary().and_then(words::causes);
            [Some(before.proved()), cause].into_iter().flatten().collect()
        }
        Act::Change => vec![format!("One change: {}. {}", after.options, after.says)],
        Act::Closing => {
            let told = |arm: &ArmView| format!("{}  {}", arm.spec.name, arm.proved());
            let rate = |arm: &ArmView| arm.summary().map(|summary| summary.slow.bytes_per_sec);
            let rates = rate(before).zip(rate(after));
            let rates = rates.map(|(before, after)| format!("downloads  {before}, then {after}"));
            [Some(told(before)), Some(told(after)), rates].into_iter().flatten().collect()
        }
    }
}

fn trial(arm: &ArmView) -> String {
    let (failed, all) = arm.counts(false);
    if arm.began(Phase::Load).is_none() {
        return match idle(arm) {
            Some(idle) => format!("First without downloads: {idle}."),
            None => "First without downloads: what this machine does when it is idle.".to_owned(),
        };
    }
    if all == 0 {
        let load = &arm.arm.load;
        let downloads = count(load.slow.into(), "download", "downloads");
        return format!("Now {downloads} of {}. {}", load.slow_size.exact(), arm.says);
    }
    let failed = format!("{failed} of {all} fetches failed");
    match arm.longest().filter(|hold| hold.length_us() >= LONG) {
        Some(hold) => {
            let (whom, length) = (words::holder(arm.holder(hold)), hold.length_us());
            format!("{failed}. Worker {} served {whom} alone for {length}.", hold.worker)
        }
        None => format!("{failed}. {}", arm.says),
    }
}

fn idle(arm: &ArmView) -> Option<String> {
    let (failed, all) = arm.counts(true);
    Some(format!("{} of {all} served, half in {}", all - failed, arm.idle_median()?))
}

/// How things are drawn, and where lanes end.
#[derive(Clone, Copy)]
struct Pen {
    style: Style,
    at: MonoNs,
}

/// The time that a lane shows, as cells.
#[derive(Clone, Copy)]
struct Window {
    start: MonoNs,
    cell_ns: u64,
    count: usize,
    /// Whether it ends now.
    is_live: bool,
}

impl Window {
    /// About the last of it while the trial runs, all of its load once it is over.
    fn of(arm: &ArmView, at: MonoNs, count: usize) -> Self {
        let cells = u64::try_from(count.max(1)).unwrap_or(u64::MAX);
        let load = arm.began(Phase::Load).zip(arm.load_ended());
        if let (Stage::Over(_), Some((start, end))) = (&arm.stage, load) {
            let cell_ns = (end.0.saturating_sub(start.0) / cells).max(1);
            return Self { start, cell_ns, count, is_live: false };
        }
        let length = u64::try_from(WINDOW.as_nanos()).unwrap_or(u64::MAX);
        let cell_ns = (length / cells).max(1);
        // Cells stay where they are in time: a lane moves cell by cell and does not shimmer.
        let end = at.0 - at.0 % cell_ns;
        let start = MonoNs(end.saturating_sub(cell_ns.saturating_mul(cells)));
        Self { start, cell_ns, count, is_live: true }
    }

    /// The first cell of which the middle is not before `at`; at most one more than there are.
    fn cell(&self, at: MonoNs) -> usize {
        let after = at.0.saturating_sub(self.start.0).saturating_add(self.cell_ns / 2);
        usize::try_from(after / self.cell_ns).unwrap_or(self.count).min(self.count)
    }

    /// The cell that `at` falls into.
    fn index(&self, at: MonoNs) -> Option<usize> {
        let place = usize::try_from(at.0.checked_sub(self.start.0)? / self.cell_ns).ok()?;
        (place < self.count).then_some(place)
    }
}

impl Pen {
    fn ink(self, color: Color) -> Look {
        match self.style {
            Style::Plain => Look::new(),
            Style::Colour => Look::new().fg(color),
        }
    }

    /// Draws an arm over `area`.
    fn panel(self, show: &Show, place: usize, is_active: bool, area: Rect, buf: &mut Buffer) {
        let arm = &show.arms[place];
        let (set, look) = match is_active {
            true => (border::THICK, Look::new().add_modifier(Modifier::BOLD)),
            false => (border::PLAIN, self.ink(SOFT)),
        };
        let title = format!(" {}: {} ", arm.spec.name, arm.options);
        let block = Block::bordered().border_set(set).border_style(look).title(title);
        let inner = block.inner(area);
        block.render(area, buf);
        let room = usize::from(inner.height);
        let width = usize::from(inner.width).saturating_sub(LABEL + FIGURE);
        let window = Window::of(arm, self.at, width);
        let mut rows = vec![self.state(arm), self.figures(arm)];
        let idle = idle(arm).filter(|_| arm.began(Phase::Load).is_some());
        let idle = idle.map_or_else(String::new, |idle| format!(" idle: {idle}"));
        rows.push(Line::styled(idle, self.ink(SOFT)));
        // A tall screen has tall lanes.
        let workers = arm.arm.proxy.workers;
        let lanes = usize::try_from(workers).unwrap_or(1).max(1);
        let tall = (room.saturating_sub(8) / lanes).saturating_sub(1).clamp(1, 4);
        for worker in (0..workers).take(room) {
            rows.extend(vec![self.lane(arm, worker, window); tall]);
            rows.push(self.queue(arm, worker, window));
        }
        rows.push(self.marks(arm, true, window));
        rows.push(self.marks(arm, false, window));
        let ends = if window.is_live { ["9 s ago", "now"] } else { ["load starts", "ends"] };
        let [left, right] = ends;
        let axis = format!("{:LABEL$}{left}{right:>1$}", "", width.saturating_sub(left.len()));
        rows.push(Line::styled(axis, self.ink(SOFT)));
        Text::from(rows).render(inner, buf);
    }

    fn state(self, arm: &ArmView) -> Line<'static> {
        let (text, look) = match &arm.stage {
            Stage::Waiting => ("waits for its turn".to_owned(), self.ink(SOFT)),
            Stage::Running => {
                (trial::meaning(arm.phase().unwrap_or(Phase::Setup)).to_owned(), Look::new())
            }
            Stage::Over(Err(_)) => ("did not run".to_owned(), self.ink(FAILED)),
            Stage::Over(Ok(summary)) => {
                let (mark, color) = match summary.verdict {
                    Verdict::Starved => ('✗', FAILED),
                    Verdict::Degraded => ('~', WAITS),
                    Verdict::Healthy => ('✓', GOOD),
                    Verdict::Inconclusive => ('?', SOFT),
                };
                let cut = if summary.interrupted.is_some() { " (cut short)" } else { "" };
                let name = summary.verdict.name().to_uppercase();
                (format!("{mark} {name}{cut}"), self.ink(color).add_modifier(Modifier::BOLD))
            }
        };
        Line::styled(format!(" {text}"), look)
    }

    /// The fetches that the arm is about now.
    fn figures(self, arm: &ArmView) -> Line<'static> {
        if matches!(arm.stage, Stage::Waiting) {
            return Line::default();
        }
        let (failed, all) = arm.counts(arm.began(Phase::Load).is_none());
        let bold = |color| self.ink(color).add_modifier(Modifier::BOLD);
        Line::from(vec![
            Span::styled(format!(" ✓ {} good", all - failed), bold(GOOD)),
            Span::styled(format!("    ✗ {failed} failed"), bold(FAILED)),
        ])
    }

    fn lane(self, arm: &ArmView, worker: u32, window: Window) -> Line<'static> {
        let mut cells = vec![Span::raw(" "); window.count];
        let mut paint = |start: MonoNs, end: MonoNs, glyph: &'static str, color| {
            let (from, to) = (window.cell(start), window.cell(end));
            cells[from..to.max(from)].fill(Span::styled(glyph, self.ink(color)));
            from < to
        };
        let mut labels = Vec::new();
        let (holds, stretches) = arm.of_worker(worker);
        for stretch in stretches {
            let asleep = stretch.poll_us.0.saturating_mul(2) >= stretch.length_us().0;
            paint(stretch.start_ns, stretch.end_ns, if asleep { "·" } else { "─" }, SOFT);
        }
        // Holds over all else: they lie within what is told of turns.
        for hold in holds {
            let Holder::Download(slot) = arm.holder(hold) else {
                paint(hold.start_ns, hold.end_ns, "█", SOFT);
                continue;
            };
            let color = DOWNLOADS[usize::try_from(slot).unwrap_or(0) % DOWNLOADS.len()];
            // The number of a download stands where its step begins.
            if paint(hold.start_ns, hold.end_ns, "█", color) {
                labels.push((window.cell(hold.start_ns), slot, color));
            }
        }
        let silence = arm.silence(worker, self.at);
        let figure = silence.map_or_else(String::new, |since| {
            paint(since, self.at, "▒", SOFT);
            format!("{:>5.1}s", self.at.since(since).as_secs_f64())
        });
        for (place, slot, color) in labels {
            let look = self.ink(color).add_modifier(Modifier::REVERSED);
            cells[place] = Span::styled((slot % 10).to_string(), look);
        }
        row(&format!("w{worker}"), cells, Span::styled(figure, self.ink(SOFT)))
    }

    /// A bar for each cell: the most that waited in it, in eighths of a row.
    fn queue(self, arm: &ArmView, worker: u32, window: Window) -> Line<'static> {
        let RunRecords { manifest, listeners, .. } = &arm.records;
        let place = usize::try_from(worker).unwrap_or(usize::MAX);
        let inode = manifest.listeners.get(place);
        let mut samples = listeners.iter().filter(|sample| Some(&sample.inode) == inode);
        let mut depths = vec![0; window.count];
        for sample in samples.clone() {
            if let Some(cell) = window.index(sample.at_ns) {
                depths[cell] = sample.queue.max(depths[cell]);
            }
        }
        let last = samples.rfind(|sample| sample.at_ns <= self.at).map(|sample| sample.queue);
        let shown = if window.is_live { last } else { depths.iter().max().copied() };
        let figure = shown.map_or_else(String::new, |depth| format!("{depth:>6}"));
        let bar = |depth: u32| [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][depth.min(8) as usize];
        let bars: String = depths.into_iter().map(bar).collect();
        let look = self.ink(WAITS);
        row(&format!("q{worker}"), vec![Span::styled(bars, look)], Span::styled(figure, look))
    }

    /// Where in the window fetches ended, and how many.
    fn marks(self, arm: &ArmView, good: bool, window: Window) -> Line<'static> {
        let (glyph, color) = if good { ('✓', GOOD) } else { ('✗', FAILED) };
        let (mut cells, mut count) = (vec![' '; window.count], 0);
        let all = arm.fetches(true).chain(arm.fetches(false));
        for fetch in all.filter(|fetch| (fetch.outcome == Outcome::Ok) == good) {
            if let Some(cell) = window.index(fetch.start_ns + fetch.total_us.as_duration()) {
                cells[cell] = glyph;
                count += 1;
            }
        }
        let (cells, look) = (cells.into_iter().collect::<String>(), self.ink(color));
        let is_told = count > 0 || !matches!(arm.stage, Stage::Waiting);
        let figure = if is_told { format!("{count:>6}") } else { String::new() };
        let figure = Span::styled(figure, look);
        row(&glyph.to_string(), vec![Span::styled(cells, look)], figure)
    }
}

/// A lane between its label and its figure.
fn row(label: &str, cells: Vec<Span<'static>>, figure: Span<'static>) -> Line<'static> {
    let mut spans = vec![Span::raw(format!("{label:<LABEL$}"))];
    spans.extend(cells);
    spans.push(figure);
    Line::from(spans)
}
