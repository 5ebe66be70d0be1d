//! Reads a run directory, roughly, and writes its page: `from_run DIR OUT.html [FIGURE OUT.svg]`.
//!
//! Rough: what held a fetch is read off overlaps; the harness explains it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use page::{Figure, PageData, RunInput};
use records::{Manifest, Record, Summary};

#[derive(Default)]
struct Lines {
    fetches: Vec<records::Fetch>,
    holds: Vec<records::Hold>,
    stretches: Vec<records::Stretch>,
    dialed: Vec<records::Dialed>,
    intervals: Vec<records::DownloadInterval>,
    accepted: Vec<records::Accepted>,
    sessions: Vec<records::Session>,
    listeners: Vec<records::ListenerSample>,
    sockets: Vec<records::SocketSample>,
    absences: Vec<records::Absence>,
    blocked: Vec<records::Blocked>,
}

impl Lines {
    fn read(dir: &Path) -> anyhow::Result<Self> {
        let mut lines = Self::default();
        for name in ["fetches", "downloads", "sessions", "steps", "workers", "sockets"] {
            let Ok(text) = fs::read_to_string(dir.join(format!("{name}.ndjson"))) else { continue };
            for line in text.lines() {
                lines.add(Record::from_line(line).with_context(|| name)?);
            }
        }
        Ok(lines)
    }

    fn add(&mut self, record: Record) {
        match record {
            Record::Fetch(record) => self.fetches.push(record),
            Record::Hold(record) => self.holds.push(record),
            Record::Stretch(record) => self.stretches.push(record),
            Record::Dialed(record) => self.dialed.push(record),
            Record::DownloadInterval(record) => self.intervals.push(record),
            Record::Accepted(record) => self.accepted.push(record),
            Record::Session(record) => self.sessions.push(record),
            Record::ListenerSample(record) => self.listeners.push(record),
            Record::SocketSample(record) => self.sockets.push(record),
            Record::Absence(record) => self.absences.push(record),
            Record::Blocked(record) => self.blocked.push(record),
            _ => {}
        }
    }
}

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (dir, out, figure) = match args.as_slice() {
        [dir, out] => (dir, out, None),
        [dir, out, figure, svg] => (dir, out, Some((figure.parse::<Figure>()?, svg))),
        _ => bail!("failed to begin: write from_run DIR OUT.html [FIGURE OUT.svg]"),
    };
    let dir = Path::new(dir);
    let read = |name: &str| fs::read(dir.join(name)).with_context(|| format!("no {name}"));
    let manifest: Manifest = serde_json::from_slice(&read("manifest.json")?)?;
    let summary: Summary = serde_json::from_slice(&read("summary.json")?)?;
    let lines = Lines::read(dir)?;
    let mut input = RunInput {
        manifest: &manifest,
        summary: &summary,
        fetches: &lines.fetches,
        holds: &lines.holds,
        holders: &[],
        stretches: &lines.stretches,
        dialed: &lines.dialed,
        intervals: &lines.intervals,
        accepted: &lines.accepted,
        sessions: &lines.sessions,
        listeners: &lines.listeners,
        sockets: &lines.sockets,
        absences: &lines.absences,
        blocked: &lines.blocked,
        fates: &[],
    };
    let fates = page::overlaps(&input);
    input.fates = &fates;
    let data = PageData::of(input);
    fs::write(out, page::html(&data)?)?;
    if let Some((figure, out)) = figure {
        fs::write(out, page::svg(&data, figure)?)?;
    }
    Ok(())
}
