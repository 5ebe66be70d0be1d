//! Why a run with a server would not be what was asked for, and why one ends otherwise than by being told to.

use std::fmt::Display;
use std::path::Path;

use net::role::{Failure, RoleError};
use probe::ProbeError;

use crate::program::Program;
use crate::toggles::Reason;

/// Why a run with this proxy would not be what was asked for, and what to do instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub(crate) String);

impl From<ProbeError> for Refusal {
    fn from(error: ProbeError) -> Self {
        Self(error.to_string())
    }
}

impl Refusal {
    /// A toggle means nothing to a program.
    pub(crate) fn of_toggle(program: &str, toggle: &str, Reason { why, instead }: Reason) -> Self {
        Self(format!("{program} cannot honour {toggle}: {why}; {instead}"))
    }

    /// A command was given that is not there.
    pub(crate) fn no_program(path: &Path) -> Self {
        let path = path.display();
        Self(format!("failed to find the program {path}: name one that is there and can be run"))
    }

    /// A build was named for a proxy that has none.
    pub(crate) fn needless_build(proxy: &str) -> Self {
        Self(format!("--proxy-bin has no meaning with --proxy {proxy}: leave it out"))
    }
}

/// Why a server could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// As any role: what was asked of it, or what this host refused.
    #[error(transparent)]
    Role(#[from] RoleError),
    /// What it did, or did not do, with the last that it said.
    #[error("failed to {what}{}", last(words))]
    Program {
        /// What should have been.
        what: String,
        /// What it said last.
        words: String,
    },
}

impl From<Refusal> for ServerError {
    fn from(refusal: Refusal) -> Self {
        Self::Role(RoleError::Usage(format!("failed to take its place: {refusal}")))
    }
}

/// What it said last, as the end of a sentence; nothing, if it said nothing.
fn last(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; its last words: {words}") }
}

impl ServerError {
    /// It is not what can be tested so: `what` fits "failed to ...".
    pub(crate) fn unfit(what: impl Display) -> Self {
        Self::Role(RoleError::Unable(format!("failed to {what}")))
    }

    /// For errors of what we do for it: `what` fits "failed to ...".
    pub(crate) fn host<E: Display>(what: impl Display) -> impl FnOnce(E) -> Self {
        move |source| Self::unfit(format_args!("{what}: {source}"))
    }

    /// What it did, or did not do; its words come later.
    pub(crate) fn program(what: String) -> Self {
        Self::Program { what, words: String::new() }
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
            Self::Role(error) => error.failure(),
            Self::Program { .. } => Failure::Trouble,
        }
    }
}
