//! One build of a program: where it is and what it says of itself.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::driver::Driver;
use crate::patience;
use crate::refusal::Refusal;

/// A program that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Build {
    /// [`records::ProxyKind::name`].
    pub(crate) name: &'static str,
    /// The file that runs.
    pub(crate) path: PathBuf,
    pub(crate) version: Version,
    /// All that it said when asked for its version.
    pub(crate) about: String,
}

impl Build {
    /// Asks the program for its version.
    pub(crate) fn ask(path: PathBuf, driver: &dyn Driver) -> Result<Self, Refusal> {
        let name = driver.name();
        let failed = |source| Refusal::Version { path: path.clone(), name, source };
        let args = driver.version_args();
        let about =
            if args.is_empty() { String::new() } else { say(&path, args).map_err(failed)? };
        let version = Version::find(&about);
        if !args.is_empty() && version == Version::default() {
            return Err(failed(io::Error::other("it did not tell one")));
        }
        if !about.contains(driver.mark()) {
            let said = about.lines().next().unwrap_or_default();
            return Err(failed(io::Error::other(format!("it says {said:?}"))));
        }
        Ok(Self { name, path, version, about })
    }

    /// Name and version, as people say them.
    pub(crate) fn title(&self) -> String {
        if self.version == Version::default() {
            self.name.to_owned()
        } else {
            format!("{} {}", self.name, self.version)
        }
    }
}

/// `1.22.1`; what does not follow that form is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}.{}", self.0, self.1, self.2))
    }
}

/// The file that `name` means: a path as it stands, a bare name as the shell would find it, or as
/// root's shell would.
pub(crate) fn look_up(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 {
        return is_program(name).then(|| std::path::absolute(name).ok()).flatten();
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

/// What `program args` says on both its streams, within [`patience::VERSION`].
pub(crate) fn say(program: &Path, args: &[&str]) -> io::Result<String> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (out, err) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let deadline = Instant::now() + patience::VERSION;
    // Its streams end with it, unless it leaves somebody behind who holds them.
    while Instant::now() < deadline && !(out.is_finished() && err.is_finished()) {
        thread::park_timeout(Duration::from_millis(5));
    }
    if !(out.is_finished() && err.is_finished()) {
        child.kill()?;
        child.wait()?;
        return Err(io::Error::new(io::ErrorKind::TimedOut, "it did not end"));
    }
    child.wait()?;
    Ok(out.join().unwrap_or_default() + &err.join().unwrap_or_default())
}

fn collect(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    const MOST: u64 = 64 * 1024;
    thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(stream) = stream {
            let _ = stream.take(MOST).read_to_end(&mut text);
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

#[cfg(test)]
mod tests;
