//! A campaign: what it says in a terminal and as a document, its title and its sentence. Its page is [`crate::campaign_html`], its figures [`crate::campaign_svg`].
//!
//! Not for: comparing arms or judging pairs; medians of arms, effects and their intervals are in what it
//! is made from.
//!
//! Invariant: what is missing (a trial that was not run, a figure that is not known) is left out of
//! a figure and named as missing in its table; it is never a zero.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, Gate, PairOf};
use records::{ArmRow, ArmSpec, Caveat, CaveatCode, Manifest, Micros, Verdict, count};

use crate::text::{self, Style};
use crate::words::lead;

/// A campaign, as its journal and its trials tell of it.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Where it is kept.
    pub dir: PathBuf,
    /// What it is for: `compare`, `check`, or `case` with its name.
    pub purpose: String,
    /// The command, as it was typed.
    pub command: Vec<String>,
    /// Rounds that were wanted.
    pub rounds: u32,
    /// Trials that were wanted; more than are done: it was cut short, or is still under way.
    pub planned: usize,
    /// What the order of trials was drawn from.
    pub seed: u64,
    /// The arms; the first is what the others are held against.
    pub arms: Vec<Arm>,
    /// Every other arm against the first, if they were compared.
    pub comparison: Option<Comparison>,
    /// The published situation, if it is of one.
    pub case: Option<Case>,
    /// Of the first trial, if there is one: the machine is the same for all.
    pub manifest: Option<Manifest>,
}

/// One arm over its trials.
#[derive(Clone, Debug)]
pub struct Arm {
    /// What was asked for.
    pub spec: ArmSpec,
    /// What it came to.
    pub row: ArmRow,
    /// Its trials, in the order of rounds.
    pub trials: Vec<Ran>,
}

/// A published situation, with its figures as they were published and as they are here.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What happens, in one line.
    pub title: String,
    /// Who told of it.
    pub source: String,
    /// The words that explain it: paragraphs.
    pub story: Vec<String>,
    /// What to look at.
    pub look: String,
    /// Its arms as they are here.
    pub arms: Vec<CaseArm>,
}

/// One arm of a published situation: its typical trial.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseArm {
    /// What it is called.
    pub name: String,
    /// How the trial was judged.
    pub verdict: Verdict,
    /// Its run directory, within the campaign's.
    pub dir: PathBuf,
    /// The figures, the same ones in the same order in every arm.
    pub figures: Vec<CaseFigure>,
}

/// A figure of a published situation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseFigure {
    /// What it is of.
    pub label: &'static str,
    /// As measured here; absent: unknown.
    pub here: Option<String>,
    /// As published; absent: it was not.
    pub published: Option<String>,
}

/// So many pairs fit above the fold.
const MOST: usize = 3;

impl Campaign {
    /// As people read it in a terminal.
    pub fn text(&self, style: Style) -> String {
        let (rows, dir) = (self.rows(), &self.dir);
        match (&self.case, &self.comparison) {
            (Some(case), _) => text::case(case, &rows, dir, style),
            (None, Some(comparison)) => text::comparison(comparison, &rows, dir, style),
            (None, None) => {
                format!("{}\nrecords     {}\n", text::arms(&rows, style), dir.display())
            }
        }
    }

    /// The comparison as a document; of others, the table.
    pub fn json(&self) -> String {
        match &self.comparison {
            Some(comparison) => text::json(comparison),
            None => text::json(&self.rows()),
        }
    }

    /// The comparison as Markdown; of others, the table.
    pub fn markdown(&self) -> String {
        match &self.comparison {
            Some(comparison) => text::comparison_markdown(comparison, &self.rows()),
            None => text::arms_markdown(&self.rows()),
        }
    }

    /// What the comparison says as a gate; absent: there is none.
    pub fn gate(&self) -> Option<Gate> {
        self.comparison.as_ref().map(Comparison::gate)
    }

    /// The same for people, with the exit code that follows from it.
    pub fn gate_text(&self, exit_code: u8, style: Style) -> String {
        let said = |comparison| text::comparison_gate(comparison, exit_code, style);
        self.comparison.as_ref().map_or_else(String::new, said)
    }

    /// A row for each arm.
    pub(crate) fn rows(&self) -> Vec<ArmRow> {
        self.arms.iter().map(|arm| arm.row.clone()).collect()
    }

    /// Trials that are done.
    pub fn done(&self) -> usize {
        self.arms.iter().map(|arm| arm.trials.len()).sum()
    }

    /// Every other arm against the first.
    pub(crate) fn pairs(&self) -> &[PairOf] {
        self.comparison.as_ref().map_or(&[], |comparison| &comparison.pairs)
    }

    fn trials(&self) -> impl Iterator<Item = &Ran> {
        self.arms.iter().flat_map(|arm| &arm.trials)
    }

    /// When a fetch is given up; `None`: the trials differ in it, or there is none.
    pub(crate) fn cap(&self) -> Option<Micros> {
        let mut caps = self.trials().map(|trial| trial.summary.arm.fetch.cap);
        let first = caps.next()?;
        caps.all(|cap| cap == first).then_some(first)
    }

    /// Why it is not whole, if it is not.
    pub(crate) fn cut_short(&self) -> Option<String> {
        let (done, planned) = (self.done(), self.planned);
        (done < planned).then(|| {
            format!(
                "{done} of {planned} trials are done: this campaign was cut short, or is still \
                 under way. What is here is what there was by then."
            )
        })
    }

    /// Caveats of the trials, each with how many have it, the most frequent first.
    pub(crate) fn caveats(&self) -> Vec<String> {
        // By code: the words hold figures, which differ between trials.
        let mut by_code: BTreeMap<CaveatCode, (&str, u64)> = BTreeMap::new();
        for Caveat { code, message } in self.trials().flat_map(|trial| &trial.summary.caveats) {
            by_code.entry(*code).or_insert((message, 0)).1 += 1;
        }
        let mut caveats: Vec<(&str, u64)> = by_code.into_values().collect();
        caveats.sort_by_key(|(_, trials)| std::cmp::Reverse(*trials));
        let said = |(message, trials)| format!("{}: {message}", count(trials, "trial", "trials"));
        caveats.into_iter().map(said).collect()
    }

    /// What it is called.
    pub(crate) fn title(&self) -> String {
        /// Letters of the arms' names that a line has room for.
        const ROOM: usize = 60;
        let names: Vec<&str> = self.arms.iter().map(|arm| arm.spec.name.as_str()).collect();
        let names = match names.join(", ") {
            names if names.len() <= ROOM => names,
            _ => format!("{} arms", names.len()),
        };
        let case = self.case.as_ref().map(|case| format!(": {}", case.title));
        let of = case.unwrap_or_else(|| format!(" of {names}"));
        let rounds = match self.rounds {
            1 => "one round".to_owned(),
            rounds => format!("{rounds} rounds"),
        };
        format!("{}{of}, {rounds}", self.purpose)
    }

    /// What came of it, in one sentence.
    pub(crate) fn sentence(&self) -> String {
        let pairs = self.pairs();
        if self.done() == 0 {
            return "No trial is done: there is nothing to show yet.".to_owned();
        }
        if pairs.is_empty() {
            return self.by_verdict();
        }
        let mut said: Vec<String> =
            pairs.iter().take(MOST).map(|pair| text::answer(pair) + ".").collect();
        if pairs.len() > MOST {
            said.push(format!("And {} more, below.", pairs.len() - MOST));
        }
        said.join(" ")
    }

    /// `Starved: drain, nginx. Healthy: fionread.`
    fn by_verdict(&self) -> String {
        let order = [Verdict::Starved, Verdict::Degraded, Verdict::Healthy, Verdict::Inconclusive];
        let mut said = Vec::new();
        for verdict in order {
            let names = self.arms.iter().filter_map(|arm| {
                let (most, times) = *arm.verdicts().first()?;
                let all = arm.trials.len();
                let of = if times == all { String::new() } else { format!(" ({times} of {all})") };
                (most == verdict).then(|| format!("{}{of}", arm.spec.name))
            });
            let names: Vec<String> = names.collect();
            if !names.is_empty() {
                said.push(format!("{}: {}.", lead(verdict), names.join(", ")));
            }
        }
        said.join(" ")
    }
}

impl Arm {
    /// How its trials were judged, the most frequent first.
    pub(crate) fn verdicts(&self) -> Vec<(Verdict, usize)> {
        let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
        for trial in &self.trials {
            *counts.entry(trial.summary.verdict).or_default() += 1;
        }
        let mut verdicts: Vec<(Verdict, usize)> = counts.into_iter().collect();
        verdicts.sort_by_key(|(_, trials)| std::cmp::Reverse(*trials));
        verdicts
    }
}

/// The page of the trial in `dir`, within its campaign.
pub(crate) fn page_of(dir: &Path) -> String {
    dir.join(records::run_dir::REPORT).display().to_string()
}
