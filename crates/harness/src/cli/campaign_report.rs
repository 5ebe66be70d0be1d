//! What a campaign says: the text, the document, the page. The same at its end, when it was cut
//! short, and later from its directory.
//!
//! Invariant: everything is made from the journal and the trials' own records; `comparison.json` is
//! written for others and never read.

use std::fs;
use std::path::PathBuf;

use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, Gate, arm_row};
use anyhow::Context;
use records::{ArmRow, Manifest, Summary};
use report::{CampaignData, Figure, Style};
use stats::Settings;
use trial::run_dir;

use super::show::{self, Extra};
use crate::campaign::Campaign;
use crate::cases;
use crate::run_dir::{MANIFEST, REPORT, RunRecords};

/// A campaign whose trials were read.
pub(super) struct CampaignReport {
    campaign: Campaign,
    told: Vec<(String, Vec<Ran>)>,
    rows: Vec<ArmRow>,
    extra: Extra,
    manifest: Option<Manifest>,
}

/// What a journal says that its campaign is for: a comparison, or a case by the name that follows.
pub(super) const COMPARE: &str = "compare";
pub(super) const CASE: &str = "case ";
/// Where a comparison is kept, beside the journal.
const COMPARISON: &str = "comparison.json";

impl CampaignReport {
    /// Reads the trials that are done, as many as there are.
    pub(super) fn of(campaign: &Campaign) -> anyhow::Result<Self> {
        let told = told(campaign).context("failed to read the trials")?;
        let rows = told.iter().map(|(name, told)| {
            let trials: Vec<&Summary> = told.iter().map(|told| &told.summary).collect();
            arm_row(name, &trials)
        });
        let purpose = campaign.journal.purpose.as_str();
        let case = purpose.strip_prefix(CASE).and_then(|name| cases::find(name).ok());
        let extra = match case {
            Some(case) => {
                let shown = cases::shown(&case, campaign).context("failed to read the trials")?;
                Extra::Case(Box::new(show::case(&case, &shown)))
            }
            None if purpose == COMPARE => {
                let comparison = Comparison::of(&told, &Settings::default());
                Extra::Comparison(Box::new(comparison))
            }
            None => Extra::None,
        };
        Ok(Self {
            campaign: campaign.clone(),
            rows: rows.collect(),
            extra,
            manifest: manifest(campaign),
            told,
        })
    }

    /// As people read it in a terminal.
    pub(super) fn text(&self, style: Style) -> String {
        let (rows, dir) = (&self.rows, &self.campaign.dir);
        match &self.extra {
            Extra::None => {
                format!("{}\nrecords     {}\n", report::arms(rows, style), dir.display())
            }
            Extra::Comparison(comparison) => report::comparison(comparison, rows, dir, style),
            Extra::Case(case) => report::case(case, rows, dir, style),
        }
    }

    /// The comparison as a document; of others, the table.
    pub(super) fn json(&self) -> String {
        match &self.extra {
            Extra::Comparison(comparison) => report::json(comparison),
            Extra::None | Extra::Case(..) => report::json(&self.rows),
        }
    }

    /// The comparison as Markdown; of others, the table.
    pub(super) fn markdown(&self) -> String {
        match &self.extra {
            Extra::Comparison(comparison) => report::comparison_markdown(comparison, &self.rows),
            Extra::None | Extra::Case(..) => report::arms_markdown(&self.rows),
        }
    }

    /// What the comparison says as a gate; absent: there is none.
    pub(super) fn gate(&self) -> Option<Gate> {
        match &self.extra {
            Extra::Comparison(comparison) => Some(comparison.gate()),
            Extra::None | Extra::Case(..) => None,
        }
    }

    /// The same for people, with the exit code that follows from it.
    pub(super) fn gate_text(&self, exit_code: u8, style: Style) -> String {
        match &self.extra {
            Extra::Comparison(comparison) => report::comparison_gate(comparison, exit_code, style),
            Extra::None | Extra::Case(..) => String::new(),
        }
    }

    /// Writes the comparison, if it is one, into the campaign's directory.
    pub(super) fn write_comparison(&self) -> anyhow::Result<()> {
        let Extra::Comparison(comparison) = &self.extra else { return Ok(()) };
        let path = self.campaign.dir.join(COMPARISON);
        run_dir::write_json(&path, comparison).context("failed to file the comparison")
    }

    /// Writes the page into the campaign's directory; returns its path.
    pub(super) fn write_page(&self) -> anyhow::Result<PathBuf> {
        let text = report::campaign_html(&self.data());
        let path = self.campaign.dir.join(REPORT);
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        Ok(path)
    }

    /// One figure.
    pub(super) fn svg(&self, figure: Figure) -> anyhow::Result<String> {
        report::campaign_svg(&self.data(), figure).context("failed to draw the figure")
    }

    fn data(&self) -> CampaignData {
        let Self { campaign, told, rows, extra, manifest } = self;
        show::campaign(campaign, told, rows, extra, manifest.as_ref())
    }
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
