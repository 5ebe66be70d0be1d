//! `turnstile explain`: of a real run, of no run, and of what is none; which run it and `turnstile
//! report` take when none is named.

use std::fs;
use std::path::Path;
use std::process::Command;

use records::{Cause, Caveat, CaveatCode, Outcome};
use serde_json::Value;

use crate::support::{self, Runs, Said, in_turn, installed, is_root, say, share, turnstile};

/// What `turnstile explain` says of `dir`.
fn explain(dir: &Path, more: &[&str]) -> Said {
    say(turnstile().arg("explain").arg(dir).args(more))
}

fn json(said: Said) -> Value {
    serde_json::from_str(&said.ended_well().stdout).expect("a JSON document")
}

/// Where the time of a fetch went.
fn stays(fetch: &Value) -> impl Iterator<Item = &Value> {
    let moments = fetch["timeline"].as_array().expect("moments").iter();
    moments.flat_map(|moment| moment["then"].as_array().expect("stays"))
}

fn length(stay: &Value) -> u64 {
    let [start, end] = ["start_ns", "end_ns"].map(|name| stay[name].as_u64().expect("a time"));
    end - start
}

#[test]
fn a_starved_run_is_explained_down_to_one_fetch() {
    let _turn = in_turn();
    let runs = Runs::new();
    // One worker, so that the downloads meet every fetch; small reads and a reserve that is given, so
    // that it serves each of them from start to end; a cap that is shorter than that.
    let starved = ["--workers=1", "--slow=4", "--cap=150ms", "--idle=1s", "--arrivals=20/s"];
    let held = ["--buffer", "1KiB", "--rcvbuf", "1MiB", "--slow-size", "128MiB"];
    let capture = (is_root("--capture") && installed("tcpdump")).then_some("--capture");
    let run = say(runs.trial(&starved).args(held).args(["--duration", "3s"]).args(capture));
    let run = run.ended_well();
    assert!(run.stdout.contains("\ncause "), "{}", run.stdout);
    let dir = runs.dir().expect("a run directory");

    // The last run is the default.
    let last = say(turnstile().args(["explain", "--runs-dir"]).arg(runs.path()));
    let named = explain(&dir, &[]);
    assert_eq!((last.code(), &last.stdout), (Some(0), &named.stdout), "{}", last.stderr);
    let report = |which: &[&str], dir: &Path| say(turnstile().arg("report").args(which).arg(dir));
    let last = report(&["--runs-dir"], runs.path()).ended_well();
    assert_eq!(last.stdout, report(&[], &dir).ended_well().stdout);
    for part in ["\ncause ", "\nworst fetch ", "\nheld by ", "\nlog ", "\nnext "] {
        assert!(named.stdout.contains(part), "{part:?} is missing: {}", named.stdout);
    }

    // Its figures are those of the summary.
    let summary = runs.summary();
    let story = json(explain(&dir, &["--json"]));
    assert!(summary.late.fetches > 0, "nothing was late: {}", run.stdout);
    assert_eq!(story["summary"]["late"]["fetches"], summary.late.fetches);
    let shares = story["causes"].as_array().expect("causes").iter();
    let shares: f64 = shares.filter_map(|cause| cause["share_of_late_time"].as_f64()).sum();
    assert!((shares - 1.0).abs() < 1e-6, "{shares}");
    let holders = story["holders"].as_array().expect("holders");
    assert!(holders[0]["holder"]["download"].is_u64(), "{}", named.stdout);

    // A failed fetch from start to end.
    let is_held = |fetch: &Value| {
        let mut causes = fetch["causes"].as_array().expect("causes").iter();
        causes.any(|part| part["cause"] == Cause::HeldByStep.name())
    };
    let fetch = (0..summary.measure.attempts)
        .map(|number| json(explain(&dir, &["--json", "--fetch", &number.to_string()])))
        .find(|fetch| fetch["outcome"] != "ok" && fetch["worker"].is_u64() && is_held(fetch))
        .expect("a fetch that was held, failed, and was accepted");
    let number = fetch["fetch"].to_string();
    let told = explain(&dir, &["--fetch", &number]).ended_well();
    for part in ["wanted", "accepted by worker 0", "gave up", "hold of ", "in all"] {
        assert!(told.stdout.contains(part), "{part:?} is missing: {}", told.stdout);
    }
    let whole = fetch["response_us"].as_u64().expect("a time") * 1_000;
    let causes = fetch["causes"].as_array().expect("causes").iter();
    let causes = causes.map(|part| part["time_ns"].as_u64().expect("a time"));
    assert_eq!(causes.sum::<u64>(), whole);
    assert_eq!(stays(&fetch).map(length).sum::<u64>(), whole);

    // Its packets, and those of one that was served: as many bytes as its client had, and a head.
    if capture.is_some() {
        for part in ["SYN from the client", "SYN from the proxy", "FIN from the client"] {
            assert!(told.stdout.contains(part), "{part:?} is missing: {}", told.stdout);
        }
        let served = json(explain(&dir, &["--json", "--phase", "idle", "--fetch", "0"]));
        let moments = served["timeline"].as_array().expect("moments").iter();
        let sent = moments.map(|moment| &moment["what"]["wire"]["sent"]);
        let answer = sent.filter(|sent| sent["from"] == "proxy" && sent["what"] == "data");
        let answer: u64 = answer.filter_map(|sent| sent["bytes"].as_u64()).sum();
        let body = served["bytes"].as_u64().expect("bytes");
        assert!((body + 1..body + 1_000).contains(&answer), "{answer} of {body}: {served:#}");
    }

    // An idle one, and one that is not there.
    let idle = explain(&dir, &["--phase", "idle", "--fetch", "0"]);
    assert!(idle.stdout.contains("0 of the idle phase"), "{}{}", idle.stdout, idle.stderr);
    let none = explain(&dir, &["--fetch", "100000"]).refused(2);
    let last = summary.measure.attempts - 1;
    let says = format!("its measure phase has fetches 0 to {last}");
    assert!(none.contains(&says) && none.contains("Usage:"), "{none}");

    // What is not whole is not explained.
    let path = dir.join("steps.ndjson");
    let steps = fs::read(&path).expect("steps");
    fs::write(&path, &steps[..steps.len() - 3]).expect("write");
    let torn = explain(&dir, &[]).refused(1);
    assert!(torn.contains("steps.ndjson:") && torn.contains("torn"), "{torn}");
    runs.assert_nobody_left();
}

/// On a disk with less room than a capture leaves to what is written beside it.
#[test]
fn a_full_disk_ends_the_capture_and_not_the_run() {
    if !is_root("--capture") || !["tcpdump", "unshare"].into_iter().all(installed) {
        return;
    }
    let _turn = in_turn();
    let runs = Runs::new();
    let trial = runs.trial(&["--capture", "--json"]);
    // A mount that is gone with its namespace, and so with the run.
    let mut apart = Command::new("unshare");
    let mount = "mount -t tmpfs -o size=64m none \"$0\" && exec \"$@\"";
    apart.args(["--mount", "sh", "-c", mount]).arg(runs.path());
    apart.arg(trial.get_program()).args(trial.get_args());
    let said = say(&mut apart);
    let summary = support::summary(&said);
    let missing = |caveat: &&Caveat| caveat.code == CaveatCode::PacketsMissing;
    let caveats: Vec<&Caveat> = summary.caveats.iter().filter(missing).collect();
    let [Caveat { message, .. }] = caveats.as_slice() else { panic!("{caveats:?}") };
    assert!(
        message.ends_with("a part of the run: the disk has less than 256 MiB of room"),
        "{message}"
    );
    assert!(summary.measure.attempts > 0, "{}", said.stderr);
}

/// Beside downloads that end their steps early, so that its worker is busy but lets everybody in.
#[test]
fn an_origin_that_delays_is_told_from_a_worker_that_turns() {
    const THOUGHT_NS: u64 = 200_000_000;
    let _turn = in_turn();
    let runs = Runs::new();
    let delays = ["--workers=1", "--slow=4", "--read-policy=bytes:64KiB", "--delay=200ms"];
    let lengths = ["--idle=1s", "--duration=1s", "--arrivals=24/s", "--cap=10s"];
    say(runs.trial(&delays).args(lengths)).ended_well();
    let dir = runs.dir().expect("a run directory");

    let summary = runs.summary();
    let attempts = summary.measure.attempts;
    assert!(summary.measure.outcomes.count(Outcome::Ok) > 0, "{summary:?}");
    let fetch = |number: u64| json(explain(&dir, &["--json", "--fetch", &number.to_string()]));
    let served = |fetch: &Value| fetch["outcome"] == Outcome::Ok.name();
    for fetch in (0..attempts).map(fetch).filter(served).take(8) {
        let thought = stays(&fetch).filter(|stay| stay["hands"] == "awaiting_origin");
        let thought: Vec<&Value> = thought.collect();
        assert!(thought.iter().copied().map(length).sum::<u64>() >= THOUGHT_NS, "{fetch:#}");
        for stay in thought {
            let causes = stay["causes"].as_array().expect("causes");
            assert!(causes.iter().all(|part| part["cause"] == "upstream"), "{fetch:#}");
        }
        let mut events = fetch["timeline"].as_array().expect("moments").iter();
        assert!(events.any(|event| event["what"] == "origin_answered"), "{fetch:#}");
    }
    let told = explain(&dir, &["--fetch", "0"]).ended_well().stdout;
    assert!(told.contains("the origin had not answered"), "{told}");

    // Who does not know when it answered takes some of that for the worker's fault.
    fs::remove_file(dir.join("origin.ndjson")).expect("a file");
    let untold = support::summary(&say(turnstile().args(["report", "--json"]).arg(&dir)));
    let shares = |cause| (share(&summary, cause), share(&untold, cause));
    let (upstream, convoy) = (shares(Cause::Upstream), shares(Cause::Convoy));
    assert!(upstream.0 > upstream.1 && convoy.0 < convoy.1, "{upstream:?}, {convoy:?}");
    assert_eq!(summary.late.time_us, untold.late.time_us);
}

#[test]
fn without_a_run_it_says_where_it_looked() {
    let empty = tempfile::tempdir().expect("a directory");
    // Neither is a run: a directory of another name, and a file.
    fs::create_dir(empty.path().join("notes")).expect("mkdir");
    fs::write(empty.path().join("20260301T123005Z-file"), "").expect("write");
    for dir in [empty.path().to_owned(), empty.path().join("not-there")] {
        for command in ["explain", "report"] {
            let said = say(turnstile().args([command, "--runs-dir"]).arg(&dir)).refused(1);
            let says = format!("there is no run in {}: make one", dir.display());
            assert!(said.contains(&says), "{said}");
        }
    }
}

#[test]
fn what_is_no_run_directory_is_refused_as_a_report_refuses_it() {
    let dirs = tempfile::tempdir().expect("a directory");
    let make = |name: &str, manifest: Option<&str>| {
        let dir = dirs.path().join(name);
        fs::create_dir(&dir).expect("mkdir");
        if let Some(manifest) = manifest {
            fs::write(dir.join("manifest.json"), manifest).expect("write");
        }
        dir
    };
    for (dir, says) in [
        (dirs.path().join("nowhere"), "is not a directory"),
        (make("empty", None), "has no manifest.json"),
        (make("foreign", Some("{}")), "is not a manifest"),
        (make("torn", Some("{\"schema_version\": 1,")), "is not a manifest"),
        (make("older", Some("{\"schema_version\": 0}")), "an older turnstile"),
        (make("newer", Some("{\"schema_version\": 99}")), "a newer turnstile"),
    ] {
        let said = explain(&dir, &[]).refused(1);
        assert!(said.contains(says), "{said}");
        assert!(said.contains(&dir.display().to_string()), "{said}");
        let report = say(turnstile().arg("report").arg(&dir));
        assert_eq!((report.code(), report.stderr), (Some(1), said));
    }
}

#[test]
fn the_last_run_is_the_one_that_began_last() {
    let runs = tempfile::tempdir().expect("a directory");
    let make = |name: &str, file: &str| {
        fs::create_dir(runs.path().join(name)).expect("mkdir");
        fs::write(runs.path().join(name).join(file), "{}").expect("write");
    };
    for name in ["20260301T123005Z-z", "20260301T123006Z-a", "20250301T123006Z-a", "zzz-a"] {
        make(name, "manifest.json");
    }
    // Later ones, that have their runs further down.
    make("20260301T123007Z-compare", "campaign.json");
    make("20260301T123008Z-demo", "left-starved");
    for command in ["explain", "report"] {
        let said = say(turnstile().args([command, "--runs-dir"]).arg(runs.path())).refused(1);
        // None of them is whole; that it is this one is not hidden.
        assert!(said.contains("20260301T123006Z-a"), "{said}");
        assert!(said.contains("is not a manifest"), "{said}");
    }
}
