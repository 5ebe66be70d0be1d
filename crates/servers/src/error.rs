//! Why a server ends otherwise than by being told to.

use std::io;

use net::role::Failure;

use crate::program::Program;
use crate::refusal::Refusal;

/// Why a server could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// It cannot do what was asked.
    #[error("failed to take its place: {0}")]
    Refused(#[from] Refusal),
    /// Something that we did for it.
    #[error("failed to {what}: {source}")]
    Host {
        /// What we did.
        what: String,
        /// Why it did not go.
        source: io::Error,
    },
    /// It is not what can be tested so.
    #[error("failed to {0}")]
    Unfit(String),
    /// What it did, or did not do, with the last that it said.
    #[error("failed to {what}{}", last(words))]
    Program {
        /// What should have been.
        what: String,
        /// What it said last.
        words: String,
    },
    /// Our records could not be written.
    #[error("failed to write records: {0}")]
    Records(#[source] io::Error),
}

/// What it said last, as the end of a sentence; nothing, if it said nothing.
fn last(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; its last words: {words}") }
}

impl ServerError {
    /// For errors of what we do for it: `what` fits "failed to ...".
    pub(crate) fn host<E>(what: impl Into<String>) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let what = what.into();
        move |source| Self::Host { what, source: io::Error::other(source) }
    }

    /// The same with the last words of the program, which is stopped first: all that it said is known then.
    pub(crate) fn quoting(self, program: &mut Program) -> Self {
        match self {
            Self::Program { what, .. } => {
                // What is left of it, its subreaper's end tells.
                let _ = program.stop();
                Self::Program { what, words: program.last_words() }
            }
            other => other,
        }
    }

    /// Who can mend it.
    pub fn failure(&self) -> Failure {
        match self {
            Self::Refused(_) => Failure::Usage,
            Self::Records(_) => Failure::Unheard,
            _ => Failure::Trouble,
        }
    }
}
