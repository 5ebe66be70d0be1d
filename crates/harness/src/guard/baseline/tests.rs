use std::fs;

use clap::Parser;
use records::{Outcome as FetchOutcome, Summary};
use stats::{Change, Trial};

use super::{Baseline, BaselineError, Origin};
use crate::cli::TrialOptions;
use crate::fixture::Run;
use crate::guard::figures;
use crate::guard::threshold::Outcome;
use crate::summarise::summarise;

#[derive(Parser)]
#[command(no_binary_name = true)]
struct Line {
    #[command(flatten)]
    trial: TrialOptions,
}

fn origin(words: &str) -> Origin {
    let line = Line::try_parse_from(words.split_whitespace()).expect("options of a trial");
    Origin::of(&line.trial.plan(Vec::new()).expect("a plan"))
}

fn summary(failed: u64, us: u64) -> Summary {
    let outcomes =
        [(80 - failed, FetchOutcome::Ok, us), (failed, FetchOutcome::TimeoutNoByte, 1_000_500)];
    summarise(&Run::loaded(&outcomes).records)
}

fn trials(count: u64, failed: u64, us: u64) -> Vec<Trial> {
    (0..count).map(|round| figures::trial(&summary(failed, us + 1_111 * (round % 3)))).collect()
}

fn baseline() -> Baseline {
    Baseline::new(origin("--reuseport"), None, trials(5, 0, 80_000))
}

fn against(today: Vec<Trial>) -> (Outcome, Change) {
    let against = baseline().against("base.json".as_ref(), Vec::new(), today);
    (against.outcome, against.judgement.change)
}

#[test]
fn what_is_saved_is_read_back_to_the_bit() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("base.json");
    let baseline = baseline();
    fs::write(&path, serde_json::to_string(&baseline).expect("JSON")).expect("write");
    assert_eq!(Baseline::load(&path).expect("a baseline"), baseline);
}

#[test]
fn what_is_no_baseline_says_so() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("base.json");
    let load = |text: &str| {
        fs::write(&path, text).expect("write");
        Baseline::load(&path).expect_err(text)
    };
    let missing = Baseline::load(&dir.path().join("none.json"));
    assert!(matches!(missing, Err(BaselineError::Missing { .. })));
    assert!(matches!(load(" \n"), BaselineError::Empty { .. }));
    assert!(matches!(load("{\"schema_version\": 1}"), BaselineError::Foreign { .. }));
    assert!(matches!(load("not JSON"), BaselineError::Foreign { .. }));
    let whole = serde_json::to_string(&baseline()).expect("JSON");
    assert!(matches!(load(&whole[..whole.len() / 2]), BaselineError::Foreign { .. }), "torn");
    let summary = serde_json::to_string(&summary(0, 20_000)).expect("JSON");
    assert!(matches!(load(&summary), BaselineError::Foreign { .. }));
    let later = Baseline { schema_version: 99, ..baseline() };
    let later = serde_json::to_string(&later).expect("JSON");
    assert!(matches!(load(&later), BaselineError::Schema { found: 99, .. }));
    let two = Baseline { rounds: trials(2, 0, 1), ..baseline() };
    let two = serde_json::to_string(&two).expect("JSON");
    assert!(matches!(load(&two), BaselineError::TooFewRounds { rounds: 2, .. }));
    assert!(matches!(Baseline::load(dir.path()), Err(BaselineError::Io { .. })), "a directory");
}

#[test]
fn another_host_or_arm_is_named() {
    let then = origin("--reuseport");
    assert_eq!(then.differences(&then), Vec::<String>::new());
    let mut other = origin("--reuseport");
    other.host.kernel = "9.9".to_owned();
    other.host.cpus += 1;
    let said = then.differences(&other);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().any(|said| said.starts_with("host.kernel was ")), "{said:?}");
    let said = then.differences(&origin("--reuseport --rcvbuf 40960 --duration 4s")).join("; ");
    assert!(said.contains("arm.rcvbuf was null, is 40960"), "{said}");
    assert!(said.contains("measure_us was 8000000, is 4000000"), "{said}");
}

#[test]
fn today_is_held_against_then() {
    assert_eq!(against(trials(5, 0, 80_000)), (Outcome::Met, Change::NoChange));
    assert_eq!(against(trials(5, 40, 400_000)), (Outcome::Breached, Change::Regressed));
    assert_eq!(against(trials(5, 0, 20_000)), (Outcome::Met, Change::Improved));
    assert_eq!(against(trials(2, 0, 80_000)).0, Outcome::Unknown, "too few rounds");
    assert_eq!(against(Vec::new()).0, Outcome::Unknown);
}
