//! Builds of a proxy that are not in PATH, on the way to being arms of a campaign: which they are.
//!
//! Not for: finding a program or judging what it can do; that is the business of `servers`.

use std::path::{Path, PathBuf};

use records::ProxyKind;
use trial::roles::{Given, build_title};

/// A build that told its version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Build {
    /// What it says of itself, `nginx 1.17.4`; of two that say the same the second is `nginx 1.17.4 (2)`.
    pub(super) title: String,
    path: PathBuf,
}

impl Build {
    /// The build that was given by its `path`, after `others`. Where there is no such program the process
    /// ends as for any wrong option.
    pub(super) fn given(proxy: &ProxyKind, path: &Path, others: &[Self]) -> Self {
        let given = Given { proxy_bin: Some(path.to_owned()), ..Given::default() };
        let said = build_title(proxy, &given)
            .unwrap_or_else(|refusal| super::usage_text(&refusal.to_string()));
        let taken = |title: &String| others.iter().any(|other| other.title == *title);
        let numbered = (2..).map(|number| format!("{said} ({number})"));
        let title = std::iter::once(said.clone()).chain(numbered).find(|title| !taken(title));
        Self { title: title.unwrap_or(said), path: path.to_owned() }
    }

    /// The options that name it.
    pub(super) fn args(&self) -> [String; 2] {
        ["--proxy-bin".to_owned(), self.path.display().to_string()]
    }
}
