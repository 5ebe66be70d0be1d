//! Campaigns that never were: trials of the fixture, and a comparison that agrees with them.

use records::{ArmRow, BytesPerSec, Micros, Outcome, Summary, Verdict};
use report::{
    ArmInput, CampaignData, CampaignInput, CaseArmInput, CaseFigure, CaseInput, Counts,
    MetricInput, PairInput, TrialInput,
};
use stats::{Change, Curve, Ending, Interval, Observation, Scale};

use crate::fixture::{Run, Shape};

/// An arm with the trials that are done.
struct Arm {
    name: String,
    words: Vec<String>,
    runs: Vec<Run>,
    row: ArmRow,
}

impl Arm {
    fn new(name: &str, line: &str, runs: Vec<Run>) -> Self {
        let row = row(name, &runs);
        Self { name: name.to_owned(), words: words(line), runs, row }
    }

    fn input(&self, place: usize) -> ArmInput<'_> {
        let runs = (0..).zip(&self.runs);
        let trials = runs.map(|(round, run)| TrialInput {
            round,
            page: format!("trials/{round:02}-{place} \"a\"/report.html"),
            summary: &run.summary,
        });
        ArmInput {
            name: &self.name,
            args: &self.words,
            row: &self.row,
            trials: trials.collect(),
            survival: survival(&self.runs),
        }
    }
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// A campaign.
pub(crate) struct Trials {
    arms: Vec<Arm>,
    rounds: u32,
    pairs: Vec<PairInput>,
    case: Option<CaseInput>,
    command: Vec<String>,
}

impl Trials {
    /// The starvation and its cure, over so many rounds.
    pub(crate) fn two_arms(rounds: u32) -> Self {
        let of = |seed: u32| Run::of(Shape { seed: u64::from(seed), ..Shape::STARVED });
        let starved: Vec<Run> = (0..rounds).map(|round| of(round + 1).with_downloads()).collect();
        let cured = |round: u32| of(round + 100).all_end(Outcome::Ok, "healthy").with_downloads();
        let cured = (0..rounds).map(cured).collect();
        let arms = vec![
            Arm::new("drain", "--reuseport", starved),
            Arm::new("rcvbuf 40 KiB", "--reuseport --rcvbuf 40960", cured),
        ];
        let pairs = vec![pair("drain", "rcvbuf 40 KiB")];
        let command = words("turnstile compare --arms arms.toml --rounds 10");
        Self { arms, rounds, pairs, case: None, command }
    }

    /// Many arms without a comparison, as a zoo has them.
    pub(crate) fn zoo(arms: usize, rounds: u32) -> Self {
        let mut trials = Self::two_arms(rounds);
        trials.pairs.clear();
        while trials.arms.len() < arms {
            let place = trials.arms.len();
            let Self { arms: of, .. } = Self::two_arms(rounds);
            let mut arm = of.into_iter().nth(place % 2).expect("two arms");
            arm.name = format!("{} with a long name, the number {place} of them", arm.name);
            trials.arms.push(arm);
        }
        trials
    }

    /// A published situation.
    pub(crate) fn case() -> Self {
        let mut trials = Self::two_arms(1);
        trials.pairs.clear();
        let arm = |name: &str, verdict| CaseArmInput {
            name: name.to_owned(),
            verdict,
            dir: format!("trials/01-{name}").into(),
            figures: vec![CaseFigure {
                label: "fetches".to_owned(),
                here: Some("53 of 80 failed".to_owned()),
                published: Some("37 of 50 <b>".to_owned()),
            }],
        };
        trials.case = Some(CaseInput {
            title: "The starvation of 2023".to_owned(),
            source: "a talk".to_owned(),
            story: vec!["Once.".to_owned(), "Then.".to_owned()],
            look: "the longest step".to_owned(),
            arms: vec![arm("drain", Verdict::Starved), arm("rcvbuf", Verdict::Healthy)],
        });
        trials
    }

    /// What is left when all but so many trials were not run.
    pub(crate) fn cut_to(mut self, trials: usize) -> Self {
        let mut left = trials;
        for arm in &mut self.arms {
            arm.runs.truncate(left.min(1));
            left -= arm.runs.len();
            arm.row = row(&arm.name, &arm.runs);
        }
        self
    }

    /// The trials' runs, by arm.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &[Run]> {
        self.arms.iter().map(|arm| arm.runs.as_slice())
    }

    pub(crate) fn data(&self) -> CampaignData {
        CampaignData::of(CampaignInput {
            purpose: match &self.case {
                Some(_) => "case starvation-2023",
                None if self.pairs.is_empty() => "zoo",
                None => "compare",
            },
            command: &self.command,
            rounds: self.rounds,
            planned: self.arms.len() * self.rounds as usize,
            seed: 7,
            arms: self.arms.iter().enumerate().map(|(place, arm)| arm.input(place)).collect(),
            pairs: self.pairs.clone(),
            case: self.case.clone(),
            manifest: self.arms.iter().find_map(|arm| arm.runs.first()).map(|run| &run.manifest),
        })
    }
}

fn row(name: &str, runs: &[Run]) -> ArmRow {
    let middle = |of: fn(&Summary) -> u64| {
        let mut all: Vec<u64> = runs.iter().map(|run| of(&run.summary)).collect();
        all.sort_unstable();
        Micros(all.get(all.len() / 2).copied().unwrap_or(0))
    };
    ArmRow {
        name: name.to_owned(),
        attempts: runs.iter().map(|run| run.summary.measure.attempts).sum(),
        tried: runs.iter().map(|run| run.summary.measure.outcomes.tried()).sum(),
        failed: runs.iter().map(|run| run.summary.measure.outcomes.failed()).sum(),
        idle_p50: middle(|s| s.idle.latency_us.p50),
        p50: middle(|s| s.measure.latency_us.p50),
        p90: middle(|s| s.measure.latency_us.p90),
        p99: middle(|s| s.measure.latency_us.p99),
        max: middle(|s| s.measure.latency_us.max),
        slow_rate: BytesPerSec(middle(|s| s.slow.bytes_per_sec.0).0),
        longest_step: Some(Micros(2_200_000)),
        ..ArmRow::default()
    }
}

fn survival(runs: &[Run]) -> Curve {
    let fetches = runs.iter().flat_map(|run| &run.fetches);
    let measured = fetches.filter(|fetch| fetch.phase == records::Phase::Measure);
    let all: Vec<Observation> = measured
        .map(|fetch| Observation {
            age: fetch.total_us,
            ending: match fetch.outcome {
                Outcome::Ok => Ending::Completed,
                _ => Ending::Censored,
            },
        })
        .collect();
    Curve::new(&all)
}

/// A comparison in words and figures; what they say was made up.
fn pair(a: &str, b: &str) -> PairInput {
    let metric = |name: &str, scale, effect: f64, low: f64, high: f64, counts| {
        let change = |value: f64| match scale {
            Scale::Ratio => format!("x{value:.2}"),
            Scale::Difference => format!("{value:+.3}"),
        };
        MetricInput {
            name: name.to_owned(),
            a: "1.001 s".to_owned(),
            b: "60.9 ms".to_owned(),
            change: change(effect),
            interval: format!("{} to {}", change(low), change(high)),
            votes: "0/10/0".to_owned(),
            p: "<0.001".to_owned(),
            said: match counts {
                Counts::Better => "improved",
                Counts::Worse => "regressed",
                Counts::Not => "too small to count",
            }
            .to_owned(),
            scale,
            effect: Some(effect),
            reach: Some(Interval { low, high }),
            counts,
        }
    };
    let (ratio, better) = (Scale::Ratio, Counts::Better);
    PairInput {
        a: a.to_owned(),
        b: b.to_owned(),
        change: Change::Improved,
        reasons: vec!["failed_share improved".to_owned(), "p50 improved".to_owned()],
        left_out: vec!["round 3 is left out: the host was disturbed".to_owned()],
        metrics: vec![
            metric("failed_share", Scale::Difference, -0.553, -0.64, -0.42, better),
            metric("p50", ratio, 0.061, 0.058, 0.066, better),
            metric("p90", ratio, 0.07, 0.06, 0.09, better),
            metric("p99", ratio, 0.08, 0.07, 0.1, better),
            metric("longest_step", ratio, 0.016, 0.01, 0.03, better),
            metric("slow_bytes_per_sec", ratio, 0.94, 0.89, 0.99, Counts::Not),
        ],
    }
}
