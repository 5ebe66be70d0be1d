//! The pages of runs and campaigns, `report.html`, and their figures as SVG: from what the harness
//! knows to what the page crate takes.

mod campaign;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use page::{Figure, PageData, RunInput};
use records::Summary;

pub(super) use campaign::{Extra, campaign};

use crate::explain::{self, Fate};
use crate::run_dir::{REPORT, RunRecords};

/// Writes the page into the run directory; returns its path.
pub(super) fn page(dir: &Path, records: &RunRecords, summary: &Summary) -> anyhow::Result<PathBuf> {
    let text = page::html(&data(records, summary));
    let path = dir.join(REPORT);
    fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(path)
}

/// One figure of the run.
pub(super) fn svg(
    records: &RunRecords,
    summary: &Summary,
    figure: Figure,
) -> anyhow::Result<String> {
    page::svg(&data(records, summary), figure).context("failed to draw the figure")
}

fn data(records: &RunRecords, summary: &Summary) -> PageData {
    let (fates, holders) = explain::fates(records);
    let fates: Vec<page::Fate> = fates.into_iter().map(fate).collect();
    PageData::of(RunInput {
        manifest: &records.manifest,
        summary,
        fetches: &records.fetches,
        holds: &records.holds,
        holders: &holders,
        stretches: &records.stretches,
        dialed: &records.dialed,
        intervals: &records.intervals,
        accepted: &records.accepted,
        sessions: &records.sessions,
        listeners: &records.listeners,
        sockets: &records.sockets,
        absences: &records.absences,
        blocked: &records.blocked,
        fates: &fates,
    })
}

fn fate(fate: Fate) -> page::Fate {
    let Fate { fetch, worker, held, causes } = fate;
    page::Fate { fetch, worker, held, causes }
}

#[cfg(test)]
mod tests;
