//! The pages of runs and campaigns, `report.html`, and their figures as SVG: from what the harness
//! knows to what the report takes.

mod campaign;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analysis::{Analysis, FetchSplit};
use anyhow::Context;
use records::{Cause, Holder};
use report::{Figure, PageData, RunInput};

pub(super) use campaign::{Extra, campaign, case};

use crate::run_dir::REPORT;

/// Writes the page into the run directory; returns its path.
pub(super) fn page(dir: &Path, analysis: &Analysis<'_>) -> anyhow::Result<PathBuf> {
    let text = report::html(&data(analysis));
    let path = dir.join(REPORT);
    fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    Ok(path)
}

/// One figure of the run.
pub(super) fn svg(analysis: &Analysis<'_>, figure: Figure) -> anyhow::Result<String> {
    report::svg(&data(analysis), figure).context("failed to draw the figure")
}

fn data(analysis: &Analysis<'_>) -> PageData {
    let Analysis { records, summary, .. } = analysis;
    let fates: Vec<report::Fate> = analysis.splits().iter().map(fate).collect();
    let holders: Vec<Option<Holder>> =
        (0..records.holds.len()).map(|hold| analysis.holder(hold)).collect();
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

fn fate(split: &FetchSplit) -> report::Fate {
    let held = |(&hold, &waited): (&usize, &Duration)| (hold, waited.into());
    let cause = |cause: Cause| {
        let part = split.shares.of(cause);
        (!part.is_zero()).then(|| (cause, part.into()))
    };
    report::Fate {
        fetch: split.index,
        worker: split.worker,
        held: split.held.iter().map(held).collect(),
        causes: Cause::ALL.into_iter().filter_map(cause).collect(),
    }
}

#[cfg(test)]
mod tests;
