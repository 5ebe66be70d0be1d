//! What a trial shows of itself while it runs: a line on standard error as each phase begins.
//!
//! Not for: results. Those come from the records, after the run.

use std::io::{self, Write};
use std::time::Duration;

use records::Phase;

/// How much of it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Nothing.
    Nothing,
    /// Each phase.
    Phases,
}

impl Show {
    /// A phase begins; `length` is its own, when it has one.
    pub(crate) fn phase(self, phase: Phase, length: Option<Duration>) {
        if self == Self::Nothing {
            return;
        }
        let length = length.map(|length| format!(", {}", humantime::format_duration(length)));
        let (name, what, length) = (phase.name(), meaning(phase), length.unwrap_or_default());
        // Nobody may be listening any more: that is no reason to stop a trial.
        let _ = writeln!(io::stderr(), "{name}: {what}{length}");
    }
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
