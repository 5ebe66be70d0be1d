//! One arm: where its trial stands, what became of its fetches, what its workers do, what queues.

use std::time::Duration;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::symbols::border;
use ratatui_core::text::{Line, Span, Text};
use ratatui_core::widgets::Widget;
use ratatui_widgets::block::Block;
use records::{Holder, MonoNs, Outcome, Phase};

use super::look::{self, Colours, FAILED, GOOD, Ink};
use super::rows::{Bars, Body, Rank, Row, fit, lane_width};
use crate::arm::{ArmView, Counts, Queue, Stage};
use crate::lane::{Cell, Extent, Silence, Window, Worker};
use crate::show::Show;
use crate::words;

/// An arm to be drawn.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a> {
    pub(super) arm: &'a ArmView,
    pub(super) show: &'a Show,
    /// Where its lanes end.
    pub(super) at: MonoNs,
    pub(super) colours: Colours,
    /// Whether the act is about it.
    pub(super) active: bool,
    /// The longest queue of both arms: bars of both have one scale.
    pub(super) peak: u32,
}

/// What lanes show while a trial runs.
const WINDOW: Duration = Duration::from_secs(9);
/// A full bar stands for this many connections at least.
const SCALE: u32 = 8;

impl Panel<'_> {
    /// Draws the arm over `area`. A small screen has no frame.
    pub(super) fn draw(self, area: Rect, buf: &mut Buffer) {
        let framed = area.width >= 12 && area.height >= 6;
        let inner = if framed { self.frame(area, buf) } else { area };
        let mut rows = self.rows(inner);
        let shown = usize::from(inner.height).min(self.arm.workers().len());
        let hidden = self.arm.workers().len() - shown + fit(&mut rows, inner.height);
        let mut rest = inner;
        for mut row in rows {
            if let (Rank::State, Body::Text(text), 1..) = (row.rank, &mut row.body, hidden) {
                text.push_span(format!("; {hidden} more workers"));
            }
            let height = row.height;
            row.draw(Rect { height, ..rest }, buf);
            rest = Rect { y: rest.y + height, height: rest.height - height, ..rest };
        }
    }

    fn frame(self, area: Rect, buf: &mut Buffer) -> Rect {
        let plan = self.arm.plan();
        let ink = if self.active { Ink::Strong } else { Ink::Soft };
        let block = Block::bordered()
            .border_set(if self.active { border::THICK } else { border::PLAIN })
            .border_style(self.style(ink))
            .title(format!(" {}: {} ", plan.name, plan.options));
        let inner = block.inner(area);
        block.render(area, buf);
        inner
    }

    /// All that there is to show, from the top, if there is room. What is not known yet has its row
    /// too: lanes of both arms stand beside each other, and nothing jumps.
    fn rows(self, area: Rect) -> Vec<Row<'static>> {
        let width = lane_width(area.width);
        let window = self.arm.window(self.at, WINDOW, width);
        let gap = || Row::text(Rank::Gap, "");
        let mut rows = vec![self.state()];
        rows.extend(self.counts(usize::from(area.width)));
        rows.push(gap());
        let queues = self.arm.queues().iter().map(Some).chain(std::iter::repeat(None));
        // No lane is there that has no row.
        let most = usize::from(area.height);
        for (index, (worker, queue)) in self.arm.workers().iter().zip(queues).enumerate().take(most)
        {
            rows.push(self.lane(worker, index, window, width));
            rows.extend(queue.map(|queue| self.queue(queue, index, window, width)));
        }
        rows.push(gap());
        let good = |outcome| outcome == Outcome::Ok;
        rows.push(self.marks(Rank::Good, (GOOD, Ink::Good), window, width, good));
        let failed = |outcome| !good(outcome);
        rows.push(self.marks(Rank::Failed, (FAILED, Ink::Failed), window, width, failed));
        rows.push(self.axis(window, width));
        rows.push(self.text(Rank::Longest, &self.longest().unwrap_or_default(), Ink::Plain));
        rows.push(self.text(Rank::Aside, &self.rate().unwrap_or_default(), Ink::Plain));
        rows
    }

    fn state(self) -> Row<'static> {
        let (text, ink) = match self.arm.stage() {
            Stage::Waiting => ("waits for its turn".to_owned(), Ink::Soft),
            Stage::Running(phase) => (self.running(*phase), Ink::Plain),
            Stage::Over(Err(_)) => ("did not run".to_owned(), Ink::Failed),
            Stage::Over(Ok(summary)) => {
                let (mark, ink) = look::verdict(summary.verdict);
                let cut = if summary.interrupted.is_some() { " (cut short)" } else { "" };
                (format!("{mark} {}{cut}", summary.verdict.name().to_uppercase()), ink)
            }
        };
        self.text(Rank::State, &text, ink)
    }

    fn running(self, phase: Phase) -> String {
        let what = match phase {
            Phase::Setup => "starts",
            Phase::Idle => "fetches alone",
            Phase::Load => "downloads start",
            Phase::Measure => "fetches beside downloads",
            Phase::Drain => "the last fetches",
            Phase::Teardown => "stops, and counts",
        };
        let ends = self.show.phase_length(phase).zip(self.arm.phase_began());
        let left = ends.map(|(length, began)| (began + length).since(self.at).as_secs());
        format!("{what}{}", left.map_or_else(String::new, |left| format!(", {left} s left")))
    }

    /// The fetches that the arm is about now: large, and in a line; and those of the idle phase, once
    /// there is load.
    fn counts(self, width: usize) -> [Row<'static>; 3] {
        let (arm, half) = (self.arm, width / 2);
        let (counts, idle) = match arm.stage() {
            Stage::Waiting => (None, None),
            Stage::Running(Phase::Setup | Phase::Idle) => (Some(arm.idle()), None),
            Stage::Running(_) | Stage::Over(_) => (Some(arm.load()), arm.median(Phase::Idle)),
        };
        let idle = idle.map_or_else(String::new, |median| {
            let Counts { good, .. } = arm.idle();
            format!("idle: {good} of {}, half in {median}", arm.idle().attempts())
        });
        let beside = |left: &str, right: String| {
            let left = format!(" {left:<0$}", half.saturating_sub(1));
            Line::from(vec![self.span(left, Ink::Good), self.span(right, Ink::Failed)])
        };
        let (mut large, mut small) = (Text::default(), Text::default());
        if let Some(Counts { good, failed }) = counts {
            let [g, f] = [good, failed].map(|n| look::big(n, half.saturating_sub(2)));
            large = g.iter().zip(f).map(|(good, failed)| beside(good, failed)).collect();
            small =
                beside(&format!("{GOOD} {good} good"), format!("{FAILED} {failed} failed")).into();
        }
        [
            Row { rank: Rank::Big, height: 3, body: Body::Text(large) },
            Row { rank: Rank::Counts, height: 1, body: Body::Text(small) },
            self.text(Rank::Aside, &idle, Ink::Soft),
        ]
    }

    fn lane(self, worker: &Worker, index: usize, window: Window, width: usize) -> Row<'static> {
        let mut before = Cell::Blank;
        let cells = worker.cells(window, width, self.at).into_iter().map(|cell| {
            let (glyph, ink) = look::cell(cell);
            let begins = std::mem::replace(&mut before, cell) != cell;
            match cell {
                // The number of a download stands where its step begins.
                Cell::Held(holder @ Holder::Download(slot)) if begins => {
                    self.span((slot % 10).to_string(), Ink::Label(holder))
                }
                _ => self.span(glyph.to_string(), ink),
            }
        });
        let cells = cells.collect();
        // Only while it runs: later there is nobody to be silent.
        let silence = worker.silence(self.at).filter(|_| window.extent == Extent::Lately);
        let figure = match silence {
            Some((length, Silence::Busy)) => format!("{:.1}s", length.as_secs_f64()),
            _ => String::new(),
        };
        let (label, figure) = (Span::raw(format!("w{index}")), self.span(figure, Ink::Silent));
        Row { rank: Rank::Lane, height: 1, body: Body::Lane { label, cells, figure } }
    }

    fn queue(self, queue: &Queue, index: usize, window: Window, width: usize) -> Row<'static> {
        let mut values = vec![0_u32; width];
        for &(at, length) in &queue.samples {
            if let Some(value) = window.index(at, width).and_then(|at| values.get_mut(at)) {
                *value = length.max(*value);
            }
        }
        let figure = match window.extent {
            // Where nobody could look there is no number.
            _ if queue.samples.is_empty() => String::new(),
            Extent::Lately => queue.at(self.at).to_string(),
            Extent::Load => values.iter().max().unwrap_or(&0).to_string(),
        };
        let bars = Bars { values, full: self.peak.max(SCALE), style: self.style(Ink::Queue) };
        let (label, figure) = (Span::raw(format!("q{index}")), self.span(figure, Ink::Queue));
        Row { rank: Rank::Queue, height: 1, body: Body::Bars { label, bars, figure } }
    }

    /// Where in the window fetches ended, and how many.
    fn marks(
        self,
        rank: Rank,
        (glyph, ink): (char, Ink),
        window: Window,
        width: usize,
        wanted: impl Fn(Outcome) -> bool,
    ) -> Row<'static> {
        let those = self.arm.fetches().iter().filter(|fetch| wanted(fetch.outcome));
        let (mut cells, mut count) = (vec![' '; width], 0_u64);
        for index in those.filter_map(|fetch| window.index(fetch.end, width)) {
            cells.get_mut(index).into_iter().for_each(|cell| *cell = glyph);
            count += 1;
        }
        let waits = *self.arm.stage() == Stage::Waiting;
        let figure = if waits { String::new() } else { count.to_string() };
        let cells = self.span(cells.into_iter().collect::<String>(), ink).into();
        let (label, figure) = (self.span(glyph.to_string(), ink), self.span(figure, ink));
        Row { rank, height: 1, body: Body::Lane { label, cells, figure } }
    }

    fn axis(self, window: Window, width: usize) -> Row<'static> {
        let (left, right) = match window.extent {
            Extent::Lately => {
                let length = window.end.since(window.start).as_secs_f64();
                (format!("{length:.0} s ago"), "under 1 s ago")
            }
            Extent::Load => ("load starts".to_owned(), "ends"),
        };
        let between = width.saturating_sub(left.len());
        let right = if right.len() < between { right } else { "" };
        let cells = self.span(format!("{left}{right:>between$}"), Ink::Soft).into();
        let none = Span::default();
        let body = Body::Lane { label: none.clone(), cells, figure: none };
        Row { rank: Rank::Aside, height: 1, body }
    }

    fn longest(self) -> Option<String> {
        let (hold, holder) = self.arm.longest()?;
        let whom = words::holder(holder);
        Some(format!("longest {}, {whom}, {}", hold.length_us(), hold.bytes))
    }

    fn rate(self) -> Option<String> {
        let whole = self.arm.summary().map(|summary| summary.slow.bytes_per_sec);
        let rate = whole.filter(|rate| rate.0 > 0).or_else(|| self.arm.rate())?;
        Some(format!("downloads {rate}"))
    }

    /// A row of text, a cell away from the frame.
    fn text(self, rank: Rank, text: &str, ink: Ink) -> Row<'static> {
        Row::text(rank, self.span(format!(" {text}"), ink))
    }

    fn span(self, text: impl Into<String>, ink: Ink) -> Span<'static> {
        Span::styled(text.into(), self.style(ink))
    }

    fn style(self, ink: Ink) -> Style {
        self.colours.style(ink)
    }
}
