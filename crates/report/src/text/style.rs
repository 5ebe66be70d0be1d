//! Colour, for those who want it.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style as Ansi};
use records::Verdict;

/// Whether a text carries colour. Without it, it reads the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// No escape sequence at all.
    #[default]
    Plain,
    /// ANSI escape sequences.
    Colour,
}

impl Style {
    /// Colour when `stream` is a terminal, unless `NO_COLOR` is set and not empty
    /// (<https://no-color.org>) or `TERM` is `dumb`.
    pub fn for_stream(stream: &impl IsTerminal) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if stream.is_terminal() && !unwanted && !dumb { Self::Colour } else { Self::Plain }
    }

    /// `text` in the colour of `tint`.
    pub(crate) fn paint(self, tint: Tint, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => {
                let ansi = tint.ansi();
                format!("{ansi}{text}{ansi:#}")
            }
        }
    }
}

/// What a colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tint {
    /// The name of a section.
    Label,
    /// All is well.
    Good,
    /// Look here.
    Warn,
    /// This is what went wrong.
    Bad,
}

impl Tint {
    const fn ansi(self) -> Ansi {
        match self {
            Self::Label => Ansi::new().bold(),
            Self::Good => AnsiColor::Green.on_default().bold(),
            Self::Warn => AnsiColor::Yellow.on_default().bold(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
        }
    }
}

impl From<Verdict> for Tint {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Healthy => Self::Good,
            Verdict::Starved => Self::Bad,
            Verdict::Degraded | Verdict::Inconclusive => Self::Warn,
        }
    }
}
