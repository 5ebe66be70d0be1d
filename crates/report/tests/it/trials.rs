//! Campaigns that never were: trials of the fixture, with what is made of them.

use analysis::guard::rounds::Ran;
use analysis::guard::{Comparison, arm_row};
use records::{ArmSpec, Outcome, Summary, Verdict};
use report::{Arm, Campaign, Case, CaseArm, CaseFigure};

use crate::fixture::{Run, Shape};

/// The starvation and its cure, over so many rounds.
pub(crate) fn two_arms(rounds: u32) -> Campaign {
    let of = |seed: u32| Run::of(Shape { seed: u64::from(seed), ..Shape::STARVED });
    let starved = (0..rounds).map(|round| of(round + 1)).collect();
    let cured = (0..rounds).map(|round| of(round + 100).all_end(Outcome::Ok)).collect();
    let mut campaign = Campaign {
        dir: "runs/x-compare".into(),
        purpose: "compare".to_owned(),
        command: words("turnstile compare --arms arms.toml --rounds 10"),
        rounds,
        planned: 2 * rounds as usize,
        seed: 7,
        arms: vec![
            arm(0, "drain", "--reuseport", starved),
            arm(1, "rcvbuf 40 KiB", "--reuseport --rcvbuf 40960", cured),
        ],
        comparison: None,
        case: None,
        manifest: Some(of(1).records().manifest.clone()),
    };
    campaign.comparison = Some(compared(&campaign));
    campaign
}

/// Many arms without a comparison, as a zoo has them.
pub(crate) fn zoo(arms: usize, rounds: u32) -> Campaign {
    let two = two_arms(rounds);
    let mut all = two.arms.clone();
    for place in all.len()..arms {
        let mut arm = two.arms[place % 2].clone();
        arm.spec.name = format!("{} with a long name, the number {place} of them", arm.spec.name);
        all.push(arm);
    }
    let planned = arms * rounds as usize;
    Campaign { purpose: "zoo".to_owned(), arms: all, planned, comparison: None, ..two }
}

/// A published situation.
pub(crate) fn case() -> Campaign {
    let arm = |name: &str, verdict| CaseArm {
        name: name.to_owned(),
        verdict,
        dir: format!("trials/01-{name}").into(),
        figures: vec![CaseFigure {
            label: "fetches",
            here: Some("53 of 80 failed".to_owned()),
            published: Some("37 of 50 <b>".to_owned()),
        }],
    };
    let case = Case {
        title: "The starvation of 2023".to_owned(),
        source: "a talk".to_owned(),
        story: vec!["Once.".to_owned(), "Then.".to_owned()],
        look: "the longest step".to_owned(),
        arms: vec![arm("drain", Verdict::Starved), arm("rcvbuf", Verdict::Healthy)],
    };
    let purpose = "case starvation-2023".to_owned();
    Campaign { purpose, case: Some(case), comparison: None, ..two_arms(1) }
}

/// What is left of the two arms when all but so many trials were not run.
pub(crate) fn cut_to(trials: usize) -> Campaign {
    let mut campaign = two_arms(3);
    let mut left = trials;
    for arm in &mut campaign.arms {
        arm.trials.truncate(left.min(1));
        left -= arm.trials.len();
        arm.row = row(&arm.spec.name, &arm.trials);
    }
    campaign.comparison = Some(compared(&campaign));
    campaign
}

fn arm(place: usize, name: &str, line: &str, runs: Vec<Run>) -> Arm {
    let ran = |(round, run): (u32, Run)| {
        let dir = format!("trials/{round:02}-{place} \"a\"").into();
        Ran::of(dir, round, run.analysis().summary, run.records().clone())
    };
    let trials: Vec<Ran> = (0..).zip(runs).map(ran).collect();
    let spec = ArmSpec { name: name.to_owned(), args: words(line) };
    Arm { spec, row: row(name, &trials), trials }
}

fn row(name: &str, trials: &[Ran]) -> records::ArmRow {
    let summaries: Vec<&Summary> = trials.iter().map(|told| &told.summary).collect();
    arm_row(name, &summaries)
}

fn compared(campaign: &Campaign) -> Comparison {
    let arms = campaign.arms.iter().map(|arm| (arm.spec.name.clone(), arm.trials.clone()));
    Comparison::of(&arms.collect::<Vec<_>>())
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}
