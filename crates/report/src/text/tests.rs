//! Reports as they are printed, and that they stay within a terminal.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use flate2::read::GzDecoder;
use proptest::prelude::*;
use rand::{SeedableRng as _, rngs::ChaCha8Rng};
use records::{
    Blocked, Bytes, Cause, Outcome, Packet, Peer, Phase, ReadPolicy, Recording, RunRecords, Side,
    Sleep, Summary,
};
use serde_json::{Value, json};

use super::{MAX_LINES, Style, details, layout, story, text, timeline};
use analysis::report::{Explanation, FetchReport};
use analysis::{Analysis, summarise};
use testkit::fixture::Run;

const RUN_DIR: &str = "runs/20260921T100000Z-reuseport";

fn report(records: &RunRecords) -> String {
    let summary = summarise(records);
    details(&records.manifest, &summary, Path::new(RUN_DIR), Style::Plain)
}

fn explained(run: &Run) -> String {
    let told = Explanation::of(&Analysis::of(&run.records));
    story(&told, Path::new(RUN_DIR), Style::Plain)
}

fn told(run: &Run, phase: Phase, fetch: u64) -> String {
    let told = FetchReport::of(&Analysis::of(&run.records), phase, fetch).expect("the fetch");
    timeline(&told, Path::new(RUN_DIR), Style::Plain)
}

/// Nobody told of steps: not even that they were short.
#[test]
fn a_minimal_recording_claims_nothing_of_what_it_left_out() {
    let mut run = Run::loaded(&[(60, Outcome::Ok, 6_000), (20, Outcome::TimeoutNoByte, 1_001_000)]);
    run.records.manifest.recording = Recording::Minimal;
    run.records.totals.clear();
    let report = report(&run.records);
    assert!(!report.contains("<10.0 ms"), "{report}");
    let row = report.lines().find(|line| line.starts_with("     0 ")).expect("worker 0");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[3..7], ["-"; 4], "{row}");
    let told: String = explained(&run).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("backlog_overflow: --recording minimal leaves it out"), "{told}");
    assert!(!told.contains("the kernel shows no"), "{told}");
}

#[test]
fn explained_at_length() {
    let mut run = Run::held();
    // Under which the law says something.
    run.arm().proxy.read_policy = ReadPolicy::Fionread;
    insta::assert_snapshot!(explained(&run));
}

#[test]
fn a_fetch_from_start_to_end() {
    insta::assert_snapshot!(told(&Run::held(), Phase::Measure, 43));
}

#[test]
fn a_fetch_with_its_packets() {
    let run = Run::held();
    let mut told =
        FetchReport::of(&Analysis::of(&run.records), Phase::Measure, 43).expect("the fetch");
    let at = |us: u64, from, flags, bytes| Packet {
        at_ns: told.fetch.intended_ns + Duration::from_micros(us),
        from,
        flags,
        bytes: Bytes(bytes),
    };
    let packets = [
        at(80, Peer::Client, Packet::SYN, 0),
        at(90, Peer::Proxy, Packet::SYN | Packet::ACK, 0),
        at(160, Peer::Client, Packet::ACK, 61),
        at(1_000_080, Peer::Client, Packet::FIN | Packet::ACK, 0),
        at(1_262_570, Peer::Proxy, Packet::ACK, 65_483),
        at(1_262_580, Peer::Proxy, Packet::ACK, 2_048),
        at(1_262_590, Peer::Client, Packet::RST, 0),
    ];
    let end = told.fetch.intended_ns + Duration::from_secs(5);
    told.lay_packets(&packets, end);
    insta::assert_snapshot!(timeline(&told, Path::new(RUN_DIR), Style::Plain));
}

#[test]
fn a_fetch_that_was_served() {
    insta::assert_snapshot!(told(&Run::held(), Phase::Idle, 3));
}

/// Sixty-four workers, so many downloads and kinds of failure that nothing is short.
fn crowded() -> Run {
    let mut run = Run::good();
    run.arm().proxy.workers = 64;
    run.command(
        "turnstile --workers 64 --slow 128 --slow-size 4GiB --cap 1s --duration 10s --pin off",
    );
    for worker in 2..64 {
        run.worker(worker);
        run.hold(worker, 6_000, u64::from(worker) * 7, Bytes::mib(u64::from(worker)));
    }
    for slot in 0..128 {
        run.download(slot, slot % 63, 9_000_000 + u64::from(slot));
    }
    run.fetches(Phase::Measure, 300, Outcome::Ok, 9_000);
    for (outcome, us) in [
        (Outcome::TimeoutConnect, 1_000_400),
        (Outcome::TimeoutNoByte, 1_000_900),
        (Outcome::Refused, 70),
        (Outcome::Reset, 800_000),
        (Outcome::BadStatus, 4_000),
    ] {
        run.fetches(Phase::Measure, 5, outcome, us);
    }
    run
}

/// Whatever a run was like, its report is as short and as narrow as promised, and does not contradict
/// itself. (The tenth of these reports, a gate's, stands with the tests of `check`.)
#[test]
fn reports_are_brief() {
    let told = |records: &RunRecords, style| {
        let summary = summarise(records);
        text(&records.manifest, &summary, Path::new(RUN_DIR), style)
    };
    let plain = |name| (name, told(&kept(name), Style::Plain));
    let kept_runs = [
        "starved",
        "degraded",
        "small-buffer",
        "healthy",
        "inconclusive",
        "interrupted",
        "nginx-traced",
        "nginx-sampled",
    ];
    let made = [
        ("in-colour", told(&kept("starved"), Style::Colour).replace('\u{1b}', "ESC")),
        ("crowded", told(&crowded().records, Style::Plain)),
        ("starved-and-interrupted", {
            let mut run = Run::starved();
            run.interrupt(9_000);
            told(&run.records, Style::Plain)
        }),
        ("without-load", {
            let mut run = Run::good();
            run.command("turnstile --reuseport --slow 0");
            run.fetches(Phase::Measure, 80, Outcome::Ok, 5_300);
            told(&run.records, Style::Plain)
        }),
    ];
    for (name, text) in kept_runs.map(plain).into_iter().chain(made) {
        assert!(text.lines().count() <= MAX_LINES, "{text}");
        for line in text.lines().filter(|_| name != "in-colour") {
            let may_be_long = line.starts_with("next ") || line.starts_with("run ");
            assert!(may_be_long || layout::columns(line) <= layout::NARROW, "{line:?}");
        }
        let is_healthy = text.starts_with("HEALTHY");
        assert!(!(is_healthy && text.contains("\nworst ")), "a healthy run has no worst: {text}");
        insta::assert_snapshot!(format!("brief-{name}"), text);
    }
}

/// A run that was kept with the tests of `analysis`.
fn kept(name: &str) -> RunRecords {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis/tests/kept");
    let file = File::open(kept.join(format!("{name}.gz"))).expect("a kept run");
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).expect("a file that was packed by gzip");
    let dir = tempfile::tempdir().expect("a directory");
    let parts = text.split("=== ").skip(1).map(|part| part.split_once('\n').expect("a name"));
    for (name, text) in parts.filter(|(name, _)| !name.starts_with("answer")) {
        fs::write(dir.path().join(name), text).expect("a writable directory");
    }
    RunRecords::load(dir.path()).expect("a whole run")
}

#[test]
fn details_have_every_figure_behind_it() {
    let mut broken = Run::starved();
    broken.fault(Side::Proxy, "the proxy ended with signal 9 while it was needed");
    broken.fetches(Phase::Measure, 12, Outcome::Refused, 90);
    let mut traced = kept("nginx-traced");
    let start_ns = traced.manifest.phases[3].start_ns;
    let (end_ns, call) = (start_ns + Duration::from_millis(80), "close".to_owned());
    let (client_port, sleep) = (None, Sleep::Interruptible);
    traced.blocked.push(Blocked { worker: 0, start_ns, end_ns, call, client_port, sleep });
    let runs = [
        ("held", Run::held().records),
        ("nginx-sampled", kept("nginx-sampled")),
        ("nginx-traced", traced),
        ("broken", broken.records),
    ];
    for (name, records) in runs {
        insta::assert_snapshot!(format!("details-{name}"), report(&records));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_report_fits_a_terminal(seed in any::<u64>(), words in prop::collection::vec("[a-z-]{1,20}", 0..14)) {
        let (summary, mut run) = (summary(seed), Run::good());
        run.records.manifest.command = words;
        let report = text(&run.records.manifest, &summary, Path::new(RUN_DIR), Style::Plain);
        let lines: Vec<&str> = report.lines().collect();
        prop_assert!(lines.len() <= MAX_LINES, "{} lines:\n{report}", lines.len());
        for line in lines.iter().filter(|line| !line.starts_with("next ")) {
            prop_assert!(layout::columns(line) <= layout::NARROW, "{line:?}");
        }
        let details = details(&run.records.manifest, &summary, Path::new(RUN_DIR), Style::Plain);
        for line in details.lines().filter(|line| !line.starts_with("next ")) {
            prop_assert!(layout::columns(line) <= layout::WIDTH, "{line:?}");
        }
    }
}

/// A summary with figures as large as the largest machine may make them in a day's run, and lists as
/// long.
fn summary(seed: u64) -> Summary {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut run = Run::held();
    // Under which the law says something.
    run.arm().proxy.read_policy = ReadPolicy::Fionread;
    let mut document = serde_json::to_value(summarise(&run.records)).expect("a document");
    let hidden = |cause: Cause| json!({"cause": cause, "reason": "the kernel shows no schedstat"});
    document["late"]["hidden"] = Cause::ALL.map(hidden).into_iter().collect();
    document["caveats"] = json!([{"code": "uneven_placement", "message": ""}]);
    document["slow"]["completed_us"] = json!([1]);
    for of in ["status_counts", "status_outcomes"] {
        let one = document["proxy"][of]["499"].clone();
        let more = (500..500 + rng.random_range(0..12)).map(|status| status.to_string());
        let statuses = document["proxy"][of].as_object_mut().expect("statuses");
        statuses.extend(more.map(|status| (status, one.clone())));
    }
    let mut document = grown(&document, "", &mut rng);
    for (name, part) in [("late", "worst"), ("law", ""), ("log_gap", "")] {
        let of = if part.is_empty() { &mut document } else { &mut document[name] };
        if rng.random_ratio(1, 4) {
            let name = if part.is_empty() { name } else { part };
            of.as_object_mut().expect("an object").remove(name);
        }
    }
    if rng.random() {
        document["interrupted"] = json!("SIGTERM");
    }
    serde_json::from_value(document).expect("a summary")
}

fn grown(document: &Value, key: &str, rng: &mut ChaCha8Rng) -> Value {
    match document {
        _ if ["arm", "schema_version"].contains(&key) => document.clone(),
        Value::Number(number) if number.is_f64() => {
            let most = if key == "turns" || key.ends_with("_per_sec") { 1e9 } else { 1.0 };
            json!(rng.random_range(0.0..most))
        }
        Value::Number(_) => {
            let most = match key {
                "worker" | "download" | "workers_holding" => 1_023,
                "status" => 599,
                time if time.ends_with("_us") => 90_000_000_000,
                bytes if bytes.contains("bytes") || bytes.ends_with("_slot") => 1_000_000_000_000,
                _ if rng.random_ratio(1, 8) => 0,
                _ => 10_000_000_u64,
            };
            json!(rng.random_range(0..=most))
        }
        Value::Array(items) => {
            let most = match key {
                "workers" => 200,
                "causes" | "hidden" => 10,
                _ => 20,
            };
            let count = rng.random_range(0..=most);
            items.iter().cycle().take(count).map(|item| grown(item, key, rng)).collect()
        }
        Value::Object(fields) => {
            fields.iter().map(|(key, of)| (key.clone(), grown(of, key, rng))).collect()
        }
        Value::String(_) => match key {
            "message" | "verdict_reasons" => {
                let word = |length| "abcdefghijkl"[..length].to_owned();
                let words = 1..=rng.random_range(1..40);
                let words: Vec<_> = words.map(|_| word(rng.random_range(1..=12))).collect();
                json!(words.join(" "))
            }
            "verdict" => json!(["starved", "degraded", "healthy"][rng.random_range(0..3)]),
            "scheduler" => json!(["all", "no_wait", "none"][rng.random_range(0..3)]),
            _ => document.clone(),
        },
        Value::Null | Value::Bool(_) => document.clone(),
    }
}
