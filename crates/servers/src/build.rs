//! One build of a program: where it is and what it says of itself.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use net::child::{Child, Dropped, Event};
use serde::Deserialize;

use crate::limits;

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Build {
    /// [`records::ProxyKind::name`].
    pub(crate) name: String,
    /// The file that runs.
    pub(crate) path: PathBuf,
    pub(crate) version: Version,
    /// All that it said when asked for its version.
    pub(crate) about: String,
}

impl Build {
    /// Asks the program `name` at `path` for its version by these arguments, if there are any. Its answer
    /// has `mark` in it when it is itself.
    ///
    /// # Errors
    /// It does not answer, or as another program.
    pub(crate) fn ask(name: &str, path: &Path, args: &[String], mark: &str) -> io::Result<Self> {
        let (name, path) = (name.to_owned(), path.to_owned());
        if args.is_empty() {
            return Ok(Self { name, path, version: Version::default(), about: String::new() });
        }
        let about = say(&path, args)?;
        let version = Version::find(&about);
        if version == Version::default() {
            return Err(io::Error::other("it did not tell one"));
        }
        if !about.contains(mark) {
            let said = about.lines().next().unwrap_or_default();
            return Err(io::Error::other(format!("it says {said:?}")));
        }
        Ok(Self { name, path, version, about })
    }

    /// Name and version, as people say them.
    pub(crate) fn title(&self) -> String {
        if self.version == Version::default() {
            self.name.clone()
        } else {
            format!("{} {}", self.name, self.version)
        }
    }
}

/// `1.22.1`; what does not follow that form is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(from = "String")]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32, pub(crate) u32);

impl Version {
    /// The first word in `text` that starts as a version does, whatever stands before it with a
    /// slash.
    fn find(text: &str) -> Self {
        text.split([' ', '\n', '\t', '/', ','])
            .find_map(|word| {
                let word = word.strip_prefix('v').unwrap_or(word);
                let mut parts = word.split(['.', '-', '+']).map(|part| part.parse().ok());
                Some(Self(
                    parts.next().flatten()?,
                    parts.next().flatten()?,
                    parts.next().flatten().unwrap_or(0),
                ))
            })
            .unwrap_or_default()
    }
}

impl From<String> for Version {
    fn from(text: String) -> Self {
        Self::find(&text)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}.{}", self.0, self.1, self.2))
    }
}

/// The file that `name` means: a path as it stands, seen from `dir`; a bare name as the shell would find
/// it, or as root's shell would.
pub(crate) fn look_up(name: &Path, dir: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        let path = dir.join(name);
        return is_program(&path).then(|| std::path::absolute(path).ok()).flatten();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian keeps servers in sbin, which a user's PATH leaves out.
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path)
        .chain(system)
        .map(|dir| dir.join(name))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// What `program args` says on both its streams, within [`limits::VERSION`].
fn say(program: &Path, args: &[impl AsRef<std::ffi::OsStr>]) -> io::Result<String> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (tell, told) = mpsc::channel();
    let take = move |event| {
        if let Event::Line(line) | Event::Said(line) = event {
            let _ = tell.send(line + "\n");
        }
    };
    let mut child = Child::start(&mut command, "version".to_owned(), Dropped::Killed, take)?;
    if !child.ends_within(limits::VERSION) {
        return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not end"));
    }
    child.reap()?;
    Ok(told.iter().collect())
}

#[cfg(test)]
mod tests;
