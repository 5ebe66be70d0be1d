//! Files records while a trial runs.
//!
//! Not for: deciding what is recorded, or reading it back.
//!
//! Invariants:
//! - A record file holds whole lines only, also after a failed write: it is cut back to the last one.
//! - `manifest.json` and `summary.json` are replaced by rename, so a reader sees an old or a new
//!   document, never half of one.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use records::run_dir::{MANIFEST, RECORD_FILES, ROLES_LOG};
use records::{Manifest, Record, Role};
use serde::Serialize;

#[cfg(test)]
mod tests;

/// A run directory that takes records.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    /// By name: [`RECORD_FILES`] from the start, others from their first line on.
    files: BTreeMap<&'static str, Lines>,
}

impl RunWriter {
    /// Makes `<runs_dir>/<yyyymmddThhmmssZ>-<label>/` with its empty record files; a name that is
    /// taken gets `-2`, `-3`, ...
    ///
    /// # Errors
    /// The directory cannot be made or written.
    pub fn create(runs_dir: &Path, started: Timestamp, label: &str) -> anyhow::Result<Self> {
        let name = format!("{}-{label}", started.strftime("%Y%m%dT%H%M%SZ"));
        let mut run = Self { dir: make_new(runs_dir, &name)?, files: BTreeMap::new() };
        for name in RECORD_FILES {
            if let Err(error) = run.lines(name) {
                // Nothing was recorded yet: leave no empty shell behind.
                let _ = fs::remove_dir_all(&run.dir);
                return Err(error);
            }
        }
        Ok(run)
    }

    /// Where the records go.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Files one record. It reaches the disk with the next [`Self::flush`], or before.
    ///
    /// # Errors
    /// As `write(2)`; what was filed before stays whole.
    pub fn file(&mut self, record: &Record) -> anyhow::Result<()> {
        let Some(name) = record.file() else { return Ok(()) };
        self.lines(name)?.push(&record.to_line()?)
    }

    /// Files a line that a role said on its standard error.
    ///
    /// # Errors
    /// As `write(2)`.
    pub fn note(&mut self, role: Role, line: &str) -> anyhow::Result<()> {
        self.lines(ROLES_LOG)?.push(&format!("{role}: {line}\n"))
    }

    /// Writes everything filed so far.
    ///
    /// # Errors
    /// As `write(2)`; what was written before stays whole.
    pub fn flush(&mut self) -> anyhow::Result<()> {
        self.files.values_mut().try_for_each(Lines::flush)
    }

    /// The file of that name; it is made when it is first asked for.
    fn lines(&mut self, name: &'static str) -> anyhow::Result<&mut Lines> {
        match self.files.entry(name) {
            Entry::Occupied(open) => Ok(open.into_mut()),
            Entry::Vacant(free) => Ok(free.insert(Lines::create(self.dir.join(name))?)),
        }
    }

    /// Writes or replaces the manifest.
    ///
    /// # Errors
    /// As `write(2)` and `rename(2)`; an earlier manifest stays as it was.
    pub fn manifest(&self, manifest: &Manifest) -> anyhow::Result<()> {
        write_json(&self.dir.join(MANIFEST), manifest)
    }
}

/// Writes or replaces a document as JSON.
///
/// # Errors
/// As `write(2)` and `rename(2)`; an earlier document stays as it was.
pub fn write_json(path: &Path, document: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    write(path, text.as_bytes())
}

/// Writes or replaces a file of a run.
///
/// # Errors
/// As `write(2)` and `rename(2)`; an earlier file stays as it was.
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    replace(path, bytes).map_err(unwritten(path))
}

/// What a device, a pipe or a directory is to who would replace it.
pub const NOT_A_FILE: &str = "it is no regular file";

/// Writes a file beside the one that `path` names, symbolic links followed, and renames it into place.
///
/// # Errors
/// As `write(2)`; what is there and no regular file stays.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Err(io::Error::other(NOT_A_FILE));
    }
    let target = match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        target => target?,
    };
    // A name of its own for each target.
    let mut part = target.clone().into_os_string();
    part.push(".part");
    fs::write(&part, bytes).and_then(|()| fs::rename(&part, &target)).inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}

/// Makes `runs_dir/name`, and what is missing above it; a name that is taken gets `-2`, `-3`, ...
///
/// # Errors
/// As `mkdir(2)`.
pub fn make_new(runs_dir: &Path, name: &str) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(runs_dir).map_err(unwritten(runs_dir))?;
    let mut dir = runs_dir.join(name);
    for copy in 2.. {
        match fs::create_dir(&dir) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && copy < 1_000 => {
                dir = runs_dir.join(format!("{name}-{copy}"));
            }
            Err(source) => return Err(unwritten(&dir)(source)),
            Ok(()) => break,
        }
    }
    Ok(dir)
}

/// One record file, buffered in whole lines.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: File,
    /// Whole lines that are not written yet.
    pending: Vec<u8>,
    /// Bytes of whole lines that are written.
    written: u64,
}

impl Lines {
    /// Lines are handed to the kernel from this many bytes on.
    const FULL: usize = 64 * 1024;

    fn create(path: PathBuf) -> anyhow::Result<Self> {
        let file = File::create_new(&path).map_err(unwritten(&path))?;
        Ok(Self { path, file, pending: Vec::new(), written: 0 })
    }

    fn push(&mut self, line: &str) -> anyhow::Result<()> {
        self.pending.extend_from_slice(line.as_bytes());
        if self.pending.len() >= Self::FULL { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        let outcome = self.file.write_all(&self.pending);
        if outcome.is_ok() {
            self.written += self.pending.len() as u64;
        } else {
            // write(2) may have taken a part of the last line.
            let _ = self.file.set_len(self.written);
            let _ = self.file.seek(SeekFrom::Start(self.written));
        }
        self.pending.clear();
        outcome.map_err(unwritten(&self.path))
    }
}

/// What it is that `path` does not take what must be written.
fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> anyhow::Error {
    use io::ErrorKind as Kind;
    move |source| {
        let advice = match source.kind() {
            Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
                "make room there, or name another place with --runs-dir"
            }
            _ => "name a directory that can be written with --runs-dir",
        };
        anyhow::Error::new(source).context(format!("cannot write {}: {advice}", path.display()))
    }
}
