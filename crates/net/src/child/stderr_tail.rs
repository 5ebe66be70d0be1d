//! What of a child's standard error is worth quoting when it ends unasked.

use crate::terminal::printable;

/// The last line that says something. Of a panic, where and what: a backtrace and advice follow it, and
/// neither says what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StderrTail {
    line: String,
    panic: Panic,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Panic {
    #[default]
    None,
    /// The line is a panic's first, before its message.
    At,
    /// The line is a panic, whole.
    Told,
}

/// A longer line is cut, letters.
const LONGEST: usize = 16 * 1024;

impl StderrTail {
    /// Takes note of a line.
    pub(super) fn hear(&mut self, line: &str) {
        let line = printable(line);
        let line = line.trim();
        if line.is_empty() || self.panic == Panic::Told {
            return;
        }
        if self.panic == Panic::At {
            self.line.push(' ');
            self.panic = Panic::Told;
        } else {
            self.line.clear();
            let panics = line.contains(" panicked at ");
            self.panic = if panics { Panic::At } else { Panic::None };
        }
        self.line.extend(line.chars().take(LONGEST));
    }

    /// What is to be quoted; empty: nothing was said.
    pub(super) fn quoted(&self) -> &str {
        &self.line
    }
}
