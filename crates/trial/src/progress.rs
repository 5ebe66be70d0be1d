//! What a trial shows of itself while it runs: a live line on a terminal, else a line per phase.
//!
//! Not for: results. Those come from the records, after the run.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use records::{Fetch, FetchTotals, Outcome, Phase};
use rustix::termios::tcgetwinsize;

#[cfg(test)]
mod tests;

/// Where progress goes: always to standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Nowhere.
    Nothing,
    /// One plain line as each phase begins.
    Phases,
    /// One line that is drawn again and again.
    Live,
}

impl Show {
    /// What suits standard error, unless people want quiet.
    pub fn fitting(quiet: bool) -> Self {
        match (quiet, io::stderr().is_terminal()) {
            (true, _) => Self::Nothing,
            (false, true) => Self::Live,
            (false, false) => Self::Phases,
        }
    }
}

/// The progress of one trial.
#[derive(Debug)]
pub struct Progress {
    show: Show,
    phase: Phase,
    until: Option<Instant>,
    good: u64,
    failed: u64,
}

impl Progress {
    /// Time between two drawings.
    pub const INTERVAL: Duration = Duration::from_millis(200);

    /// Progress that begins with the setup.
    pub fn new(show: Show) -> Self {
        Self { show, phase: Phase::Setup, until: None, good: 0, failed: 0 }
    }

    /// A phase begins; `length` is its own, when it has one.
    pub fn phase(&mut self, phase: Phase, length: Option<Duration>) {
        self.phase = phase;
        self.until = length.map(|length| Instant::now() + length);
        if matches!(phase, Phase::Idle | Phase::Measure) {
            (self.good, self.failed) = (0, 0);
        }
        if self.show == Show::Phases {
            let length = length.map(|length| format!(", {}", humantime::format_duration(length)));
            // Nobody may be listening any more: that is no reason to stop a trial.
            let _ = writeln!(
                io::stderr(),
                "{}: {}{}",
                phase.name(),
                meaning(phase),
                length.unwrap_or_default()
            );
        }
        self.draw();
    }

    /// A fetch has ended.
    pub fn fetch(&mut self, fetch: &Fetch) {
        self.good += u64::from(fetch.outcome == Outcome::Ok);
        self.failed += u64::from(fetch.outcome.is_failed());
    }

    /// Fetches have ended that are only counted.
    pub fn fetch_totals(&mut self, totals: &FetchTotals) {
        let kind = if totals.outcome.is_failed() { &mut self.failed } else { &mut self.good };
        *kind += totals.fetches();
    }

    /// Draws the live line, if that is wanted.
    pub fn draw(&self) {
        self.put(&self.line(Instant::now()));
    }

    /// Takes the live line away: what follows is the report, or an error.
    pub fn clear(&self) {
        self.put("");
    }

    fn put(&self, line: &str) {
        if self.show == Show::Live {
            let width = tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col);
            // A terminal that has gone is no reason to stop a trial.
            let _ = io::stderr().write_all(instead_of_the_last(line, width.into()).as_bytes());
        }
    }

    fn line(&self, now: Instant) -> String {
        let mut line = format!("{:8} {}", self.phase.name(), meaning(self.phase));
        if let Some(until) = self.until {
            line += &format!(", {:.0} s left", until.saturating_duration_since(now).as_secs_f64());
        }
        if self.good + self.failed > 0 {
            line += &format!(" | fetches: {} good, {} failed", self.good, self.failed);
        }
        line
    }
}

/// `line` as it takes the place of the one before it, on a terminal with so many columns. It ends
/// before the last of them: a line that is wrapped could not be overwritten.
fn instead_of_the_last(line: &str, columns: usize) -> String {
    // A terminal that does not know its size says 0.
    let room = if columns == 0 { 79 } else { columns - 1 };
    format!("\r{line:.room$}\x1b[K")
}

/// What happens in a phase.
const fn meaning(phase: Phase) -> &'static str {
    match phase {
        Phase::Setup => "starting origin and proxy",
        Phase::Idle => "fetches alone",
        Phase::Load => "starting downloads",
        Phase::Measure => "fetches beside downloads",
        Phase::Drain => "waiting for the last fetches",
        Phase::Teardown => "stopping",
    }
}
