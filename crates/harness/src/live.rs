//! Reads the records of a run directory while the run writes them.
//!
//! Not for: figures. What is read here is shown and forgotten; the summary is made by the run itself.
//!
//! Invariant: only whole lines are taken. The rest of one is taken when it is there.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use demo::{Show, Side};
use records::{Record, Summary};
use serde::de::DeserializeOwned;

use crate::run_dir::{DOWNLOADS, FETCHES, MANIFEST, SOCKETS, STEPS, SUMMARY, WORKERS};

/// The only run directory in a place, as it grows.
#[derive(Debug)]
pub(super) struct Follow {
    place: PathBuf,
    dir: Option<PathBuf>,
    files: [Tail; 5],
}

/// One record file.
#[derive(Debug)]
struct Tail {
    name: &'static str,
    file: Option<File>,
    /// Read, and not a whole line yet.
    rest: Vec<u8>,
}

/// Bytes taken from a file at a time, and how many times for one picture: a trial writes a tenth of
/// one bite meanwhile.
const BITE: u64 = 256 * 1024;
const BITES: u32 = 64;

impl Follow {
    /// Nothing is there yet.
    pub(super) fn new(place: &Path) -> Self {
        // Downloads first: they tell whose a port is.
        let files = [DOWNLOADS, STEPS, FETCHES, SOCKETS, WORKERS];
        let files = files.map(|name| Tail { name, file: None, rest: Vec::new() });
        Self { place: place.to_owned(), dir: None, files }
    }

    /// The run directory, once it is there.
    pub(super) fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Hands on what was written since.
    pub(super) fn read(&mut self, side: Side, show: &mut Show) {
        if self.dir.is_none() {
            self.dir = run_in(&self.place);
        }
        let Some(dir) = &self.dir else { return };
        // It is replaced as a whole, and small: each picture reads it again.
        if let Some(manifest) = read(&dir.join(MANIFEST)) {
            show.manifest(side, &manifest);
        }
        for tail in &mut self.files {
            tail.read(dir, |record| show.take(side, &record));
        }
    }
}

impl Tail {
    fn read(&mut self, dir: &Path, mut take: impl FnMut(Record)) {
        if self.file.is_none() {
            self.file = File::open(dir.join(self.name)).ok();
        }
        let Some(file) = &mut self.file else { return };
        // Trouble with reading is no trouble of the trial: the picture stands still.
        for _ in 0..BITES {
            match file.by_ref().take(BITE).read_to_end(&mut self.rest) {
                Ok(taken) if taken as u64 == BITE => {}
                Ok(_) => break,
                Err(_) => return,
            }
        }
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return };
        let rest = self.rest.split_off(end + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        let lines = String::from_utf8_lossy(&lines);
        lines.lines().filter_map(|line| Record::from_line(line).ok()).for_each(&mut take);
    }
}

/// The only run directory in `place`, if there is one yet.
pub(super) fn run_in(place: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(place).ok()?.filter_map(Result::ok);
    entries.find(|entry| entry.path().is_dir()).map(|entry| entry.path())
}

/// The summary of a run, if it is whole.
pub(super) fn summary(dir: &Path) -> Option<Summary> {
    read(&dir.join(SUMMARY))
}

/// The document at `path`, if it is there and whole.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

#[cfg(test)]
mod tests;
