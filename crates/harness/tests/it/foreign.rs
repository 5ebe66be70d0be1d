//! The effect in nature, in nginx of two releases, where `scripts/build-nginx.sh` has built them; and a server
//! that stands still by itself, downloads or not.

use std::path::{Path, PathBuf};

use records::{Cause, Phase, Summary, Verdict, Visibility};
use testkit::skip;

use crate::support::{Runs, in_turn, say, turnstile};

/// The last release that reads for as long as there is something, and the first that does not.
const RELEASES: [&str; 2] = ["1.17.4", "1.17.5"];

#[test]
fn nginx_starved_until_1_17_5() {
    let _turn = in_turn();
    let Some(builds) = builds() else {
        return skip(format_args!("first: scripts/build-nginx.sh {}", RELEASES.join(" ")));
    };
    // What else runs on this host decides nothing here: it may take three trials.
    for _ in 0..3 {
        let [before, since] = builds.each_ref().map(|build| trial(build));
        if [&before, &since].iter().any(|of| of.verdict == Verdict::Inconclusive) {
            continue;
        }
        assert_eq!(before.verdict, Verdict::Starved, "{:?}", before.verdict_reasons);
        assert_ne!(since.verdict, Verdict::Starved, "{:?}", since.verdict_reasons);
        let [before, since] = [before, since].map(|of| of.measure.outcomes.failed());
        assert!(before >= 5 && since == 0, "failed: {before} and {since}");
        return;
    }
    skip("others keep this host's CPUs busy");
}

fn builds() -> Option<[PathBuf; 2]> {
    let turnstile = assert_cmd::cargo::cargo_bin!("turnstile");
    let target = turnstile.ancestors().nth(2).expect("the directory of builds");
    let builds = RELEASES.map(|release| target.join("nginx").join(release).join("nginx"));
    builds.iter().all(|build| build.is_file()).then_some(builds)
}

fn trial(build: &Path) -> Summary {
    let (runs, build) = (Runs::new(), build.display().to_string());
    let words = ["--proxy", "nginx", "--proxy-bin", &build, "--reuseport", "--slow=4", "--json"];
    let run = say(runs.trial(&words).arg("--duration=4s")).ended_well();
    serde_json::from_str(&run.stdout).expect("a summary")
}

#[test]
fn a_server_that_stalls_by_itself_proves_nothing_and_is_explained() {
    let _turn = in_turn();
    let runs = Runs::new();
    let bin = assert_cmd::cargo::cargo_bin!("turnstile");
    let proxy = bin.with_file_name("examples").join("fair_proxy");
    assert!(proxy.is_file(), "first: cargo build -p harness --examples");
    let proxy = format!(
        "exec:'{}' --stall-ms 800 --listen {{listen}} --upstream {{origin}}",
        proxy.display()
    );
    // A stall and a half in each phase.
    let lengths = ["--idle", "3s", "--duration", "3s", "--proxy", &proxy, "--json"];
    let run = say(&mut runs.trial(&lengths));
    assert_eq!(run.code(), Some(0), "{}", run.stderr);
    let summary: Summary = serde_json::from_str(&run.stdout).expect("a summary");

    assert_eq!(summary.verdict, Verdict::Inconclusive, "{:?}", summary.verdict_reasons);
    let says = "a server that stalls by itself is no baseline";
    let reasons = &summary.verdict_reasons;
    assert!(reasons.iter().any(|reason| reason.ends_with(says)), "{reasons:?}");

    let late = &summary.late;
    assert_eq!(late.phase, Phase::Idle);
    // Those of the first 0.6 s of 0.8, at 20 a second.
    assert!((8..=40).contains(&late.fetches), "{late:?}");
    let first = summary.causes.first().expect("what the time went to").cause;
    let explained = match summary.visibility {
        Visibility::Traced => Cause::OffCpuBlocked,
        _ => Cause::Unexplained,
    };
    assert_eq!(first, explained, "{:?}: {:?}", summary.visibility, summary.causes);

    let dir = runs.dir().expect("a run");
    let told = say(turnstile().arg("explain").arg(&dir));
    assert_eq!(told.code(), Some(0), "{}", told.stderr);
    let says = format!("{} fetches without any load, which is no baseline", late.fetches);
    let text = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&says), "{}", told.stdout);
}
