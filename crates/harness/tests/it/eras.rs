//! The effect in nature: nginx of two releases, where `scripts/build-nginx.sh` has built them.

use std::path::{Path, PathBuf};

use records::{Summary, Verdict};
use testkit::skip;

use crate::support::{Runs, in_turn, say};

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
