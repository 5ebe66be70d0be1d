//! The program that plays the hop into a namespace.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program with the subcommand [`Program::ENTER`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program(PathBuf);

impl Program {
    /// The subcommand that takes [`crate::EnterOptions`] and calls [`crate::enter`].
    pub const ENTER: &str = "netns-exec";

    /// The program at this path.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// This process' own. The path holds for its children and for whatever they start, also after
    /// the file was replaced, as long as this process lives.
    pub fn own() -> Self {
        Self(PathBuf::from(format!("/proc/{}/exe", std::process::id())))
    }

    /// The words that, before a program and its arguments, run it inside `net`, and let it die with
    /// this process.
    pub(crate) fn enter_words(&self, net: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec![self.0.clone().into(), Self::ENTER.into()];
        words.extend(["--net".into(), net.into()]);
        words.extend(["--parent-pid".into(), std::process::id().to_string().into()]);
        words.push("--".into());
        words
    }
}

/// [`Program::own`].
impl Default for Program {
    fn default() -> Self {
        Self::own()
    }
}
