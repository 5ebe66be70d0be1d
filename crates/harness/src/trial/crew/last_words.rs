//! What of a child's standard error is worth quoting when it ends unasked.

/// The last line that it said. Of a panic, where and what: a backtrace and advice follow it, and
/// neither says what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum LastWords {
    #[default]
    None,
    Line(String),
    /// A panic's first line, before its message.
    PanicAt(String),
    /// A panic, whole.
    Panicked(String),
}

impl LastWords {
    /// Takes note of a line.
    pub(super) fn hear(&mut self, line: &str) {
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        *self = match std::mem::take(self) {
            Self::Panicked(words) => Self::Panicked(words),
            Self::PanicAt(place) => Self::Panicked(format!("{place} {line}")),
            _ if line.contains(" panicked at ") => Self::PanicAt(line.to_owned()),
            _ => Self::Line(line.to_owned()),
        };
    }

    /// What is to be quoted.
    pub(super) fn quoted(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Line(words) | Self::PanicAt(words) | Self::Panicked(words) => Some(words),
        }
    }
}
