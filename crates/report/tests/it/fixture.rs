//! Runs that never were, and campaigns of them.

use analysis::guard::Comparison;
use analysis::guard::rounds::Ran;
use analysis::summarise;
use records::{ArmSpec, Bytes, Micros, Outcome, Phase, RunRecords, Side, Visibility};
use report::{Arm, Campaign};
use testkit::fixture::{Run, at_ms};

/// What would make a page load something.
pub(crate) const LOADS: [&str; 6] = ["src=", "@import", "http://", "https://", "fetch(", "url("];

/// A starved run of which everything is told: 80 fetches under load, whose workers' accept queues were
/// looked at.
pub(crate) fn starved() -> Run {
    let mut run = Run::held();
    run.records.manifest.listeners = vec![1];
    (4_000..13_000)
        .step_by(200)
        .for_each(|ms| run.listener(ms, u32::try_from(ms / 200 % 12).expect("few")));
    run
}

/// About 100,000 steps of eight downloads on four workers, and 5,000 fetches.
pub(crate) fn large() -> Run {
    let mut run = Run::good();
    run.arm().proxy.workers = 4;
    run.arm().load.slow = 8;
    for span in &mut run.records.manifest.phases {
        let later =
            |at| if at >= at_ms(13_000) { at + std::time::Duration::from_secs(470) } else { at };
        (span.start_ns, span.end_ns) = (later(span.start_ns), span.end_ns.map(later));
    }
    for slot in 0..8 {
        run.download(slot, slot % 4, 100_000_000);
    }
    run.fetches(Phase::Measure, 4_900, Outcome::Ok, 9_000);
    for worker in 0..4 {
        let mut now = 5_000;
        for step in 0..25_000 {
            // Few are long, most are short.
            let length = if step % 3_000 == 1_500 { 1_500 } else { 2 + step * 7 % 19 };
            let slot = worker + 4 * u32::from(step % 2 == 0);
            run.hold_of(slot, now, length, Bytes(length * 700_000));
            now += length + 1 + step % 7;
        }
    }
    run
}

/// Every fetch under load ends so, and soon.
fn all_end(mut run: Run, outcome: Outcome) -> Run {
    let fetches = run.records.fetches.iter_mut();
    for fetch in fetches.filter(|fetch| fetch.phase == Phase::Measure) {
        fetch.outcome = outcome;
        fetch.total_us = fetch.total_us.min(Micros(9_000));
        fetch.response_us = fetch.total_us;
    }
    run
}

/// What is left of a run whose workers nobody saw.
fn unseen(mut run: Run) -> Run {
    run.records.manifest.visibility = Visibility::ClientsOnly;
    let RunRecords { manifest, fetches, intervals, dialed, downloads, .. } = run.records;
    run.records = RunRecords { fetches, intervals, dialed, downloads, ..RunRecords::new(manifest) };
    run
}

/// A run whose proxy died.
fn broken(mut run: Run) -> Run {
    run.fault(Side::Proxy, "the proxy ended with signal 9 while it was needed");
    run
}

/// A run that was cut short while it was idle.
pub(crate) fn interrupted(mut run: Run) -> Run {
    run.interrupt(3_000);
    let RunRecords { manifest, fetches, accepted, .. } = run.records;
    run.records = RunRecords { fetches, accepted, ..RunRecords::new(manifest) };
    run
}

/// Runs of every kind: a name, the run, its verdict, a word of its title and one of its page.
pub(crate) fn kinds() -> [(&'static str, Run, &'static str, [&'static str; 2]); 6] {
    let held = "a worker stuck serving one download";
    let nobody = "workers of this proxy were not seen";
    let died = "the proxy ended with signal 9";
    [
        ("failing", starved(), "starved", ["failed", held]),
        ("no-failure", all_end(starved(), Outcome::Ok), "healthy", ["none of 80"; 2]),
        ("all-refused", all_end(starved(), Outcome::Refused), "starved", ["80 of 80"; 2]),
        ("interrupted", interrupted(starved()), "inconclusive", ["fetches", "SIGINT cut the run"]),
        ("inconclusive", broken(starved()), "inconclusive", [died, "they prove nothing"]),
        ("unseen", unseen(starved()), "starved", ["failed", nobody]),
    ]
}

/// The starvation and its cure, over so many rounds.
pub(crate) fn two_arms(rounds: u32) -> Campaign {
    let of = |failed: u64, us: u64| {
        let run = move |round: u32| {
            let us = us + 700 * u64::from(round);
            let given_up = (failed, Outcome::TimeoutNoByte, 1_000_500);
            Run::loaded(&[(80 - failed, Outcome::Ok, us), given_up])
        };
        (0..rounds).map(run).collect()
    };
    let mut campaign = Campaign {
        dir: "runs/x-compare".into(),
        purpose: "compare".to_owned(),
        command: words("turnstile compare --rounds 10 --arm drain: --arm nginx:"),
        rounds,
        planned: 2 * rounds as usize,
        arms: vec![
            arm(0, "drain", "--reuseport", of(40, 400_000)),
            arm(1, "rcvbuf 40 KiB", "--reuseport --rcvbuf 40960", of(0, 30_000)),
        ],
        comparison: None,
        case: None,
    };
    campaign.comparison = Some(compared(&campaign));
    campaign
}

/// Many arms without a comparison.
pub(crate) fn arms_alone(arms: usize, rounds: u32) -> Campaign {
    let two = two_arms(rounds);
    let mut all = two.arms.clone();
    for place in all.len()..arms {
        let mut arm = two.arms[place % 2].clone();
        arm.spec.name = format!("{} with a long name, the number {place} of them", arm.spec.name);
        all.push(arm);
    }
    let planned = arms * rounds as usize;
    Campaign { purpose: "check".to_owned(), arms: all, planned, comparison: None, ..two }
}

/// What is left of the two arms when all but so many trials were not run.
pub(crate) fn cut_to(trials: usize) -> Campaign {
    let mut campaign = two_arms(3);
    let mut left = trials;
    for arm in &mut campaign.arms {
        arm.trials.truncate(left.min(1));
        left -= arm.trials.len();
    }
    campaign.comparison = Some(compared(&campaign));
    campaign
}

fn arm(place: usize, name: &str, line: &str, runs: Vec<Run>) -> Arm {
    let ran = |(round, run): (u32, Run)| {
        let dir = format!("trials/{round:02}-{place} \"a\"").into();
        Ran::of(dir, round, summarise(&run.records), run.records)
    };
    let trials: Vec<Ran> = (0..).zip(runs).map(ran).collect();
    Arm { spec: ArmSpec { name: name.to_owned(), args: words(line) }, trials }
}

fn compared(campaign: &Campaign) -> Comparison {
    let arms = campaign.arms.iter().map(|arm| (arm.spec.name.clone(), arm.trials.clone()));
    Comparison::of(&arms.collect::<Vec<_>>())
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}
