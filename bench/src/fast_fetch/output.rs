//! Where the group's document goes: beside criterion's own files.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::report::Report;

#[cfg(test)]
mod tests;

/// Cargo leaves this in every target directory that it makes: <https://bford.info/cachedir/>.
const OF_CARGO: &str = "CACHEDIR.TAG";

/// Whether and where the group writes `fast_fetch.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Into this directory.
    Dir(PathBuf),
    /// Nowhere: criterion writes nothing in this mode, so an older document stays as well.
    Nothing,
}

impl Output {
    /// As criterion does with this process's arguments and environment: no file unless it
    /// measures, else the group's directory in its own.
    pub fn of_this_process() -> Self {
        let args: Vec<OsString> = env::args_os().collect();
        if !measures(&args) {
            return Self::Nothing;
        }
        let exe = env::current_exe().unwrap_or_default();
        let dir = criterion_dir(
            env::var_os("CRITERION_HOME"),
            env::var_os("CARGO_TARGET_DIR"),
            exe.ancestors().find(|dir| dir.join(OF_CARGO).is_file()),
        );
        Self::Dir(dir.join("fast_fetch"))
    }

    /// Replaces the document, whole or not at all.
    ///
    /// # Errors
    /// The directory cannot be made, or the file cannot be written.
    pub(super) fn write(&self, report: &Report) -> anyhow::Result<()> {
        let Self::Dir(dir) = self else { return Ok(()) };
        let path = dir.join("fast_fetch.json");
        let part = dir.join("fast_fetch.json.part");
        let mut text = serde_json::to_string_pretty(report)?;
        text.push('\n');
        fs::create_dir_all(dir)
            .and_then(|()| fs::write(&part, text))
            .and_then(|()| fs::rename(&part, &path))
            .with_context(|| format!("failed to write {}", path.display()))
    }
}

/// Criterion's rule: with `--bench`, which cargo adds, unless it is to do something else.
fn measures(args: &[OsString]) -> bool {
    let has = |flag: &str| args.iter().any(|arg| arg == flag);
    let profiles = args.iter().any(|arg| arg.to_string_lossy().starts_with("--profile-time"));
    has("--bench") && !has("--test") && !has("--list") && !profiles
}

/// Criterion's order. Its last resort but one is to ask cargo, which names the directory that this
/// program was built into: `target`.
fn criterion_dir(
    home: Option<OsString>,
    target_dir: Option<OsString>,
    target: Option<&Path>,
) -> PathBuf {
    match (home, target_dir, target) {
        (Some(home), ..) => home.into(),
        (None, Some(dir), _) => Path::new(&dir).join("criterion"),
        (None, None, Some(target)) => target.join("criterion"),
        (None, None, None) => Path::new("target").join("criterion"),
    }
}
