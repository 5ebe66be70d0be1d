//! What a campaign says: the text, the document, the page. The same at its end, when it was cut
//! short, and later from its directory.
//!
//! Invariant: everything is made from the journal and the trials' own records; `comparison.json` is
//! written for others and never read.

use std::fs;
use std::path::PathBuf;

use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, arm_row};
use anyhow::Context;
use records::{Manifest, RunRecords, Summary};
use report::Arm;
use trial::run_dir;

use crate::campaign::Campaign;
use crate::cases;
use records::run_dir::{MANIFEST, REPORT};

/// What a journal says that its campaign is for: a comparison, or a case by the name that follows.
pub(super) const COMPARE: &str = "compare";
pub(super) const CASE: &str = "case ";
/// Where a comparison is kept, beside the journal.
const COMPARISON: &str = "comparison.json";

/// Reads the trials of a campaign that are done, as many as there are.
pub(super) fn read(campaign: &Campaign) -> anyhow::Result<report::Campaign> {
    let told = told(campaign).context("failed to read the trials")?;
    let journal = &campaign.journal;
    let purpose = journal.purpose.as_str();
    let case = purpose.strip_prefix(CASE).and_then(|name| cases::find(name).ok());
    let case = case.map(|case| cases::told(&case, campaign)).transpose();
    let case = case.context("failed to read the trials")?;
    let comparison = (purpose == COMPARE).then(|| Comparison::of(&told));
    let arms = journal.arms.iter().zip(told).map(|(spec, (name, trials))| {
        let summaries: Vec<&Summary> = trials.iter().map(|told| &told.summary).collect();
        Arm { spec: spec.clone(), row: arm_row(&name, &summaries), trials }
    });
    Ok(report::Campaign {
        dir: campaign.dir.clone(),
        purpose: journal.purpose.clone(),
        command: journal.command.clone(),
        rounds: journal.rounds,
        planned: journal.planned(),
        seed: journal.seed,
        arms: arms.collect(),
        comparison,
        case,
        manifest: manifest(campaign),
    })
}

/// Writes the comparison, if it is one, into the campaign's directory.
pub(super) fn write_comparison(campaign: &report::Campaign) -> anyhow::Result<()> {
    let Some(comparison) = &campaign.comparison else { return Ok(()) };
    let path = campaign.dir.join(COMPARISON);
    run_dir::write_json(&path, comparison).context("failed to file the comparison")
}

/// Writes the page into the campaign's directory; returns its path.
pub(super) fn write_page(campaign: &report::Campaign) -> anyhow::Result<PathBuf> {
    let path = campaign.dir.join(REPORT);
    fs::write(&path, report::campaign_html(campaign))
        .with_context(|| format!("failed to write {}", path.display()))?;
    Ok(path)
}

/// All that the trials tell, by arm.
fn told(campaign: &Campaign) -> anyhow::Result<Vec<(String, Vec<Ran>)>> {
    let mut arms: Vec<(String, Vec<Ran>)> =
        campaign.journal.arms.iter().map(|arm| (arm.name.clone(), Vec::new())).collect();
    for done in &campaign.journal.done {
        let records = RunRecords::load(&campaign.dir.join(&done.dir))?;
        if let Some((_, told)) = arms.get_mut(done.slot.arm) {
            let summary = campaign.summary(done)?;
            told.push(Ran::of(done.dir.clone(), done.slot.round, summary, records));
        }
    }
    arms.iter_mut().for_each(|(_, told)| told.sort_by_key(|told| told.round));
    Ok(arms)
}

/// Of the first trial: the machine is the same for all. One that
/// cannot be read is none.
fn manifest(campaign: &Campaign) -> Option<Manifest> {
    let first = campaign.journal.done.first()?;
    let text = fs::read(campaign.dir.join(&first.dir).join(MANIFEST)).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests;
