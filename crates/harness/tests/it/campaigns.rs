//! Many trials: comparisons, cases and their pages; cut short, and told again.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::campaign::{Journal, Slot};
use records::{Manifest, Phase, RunRecords};
use rustix::process::Signal;
use serde_json::Value;
use testkit::{schema, script};

use crate::support::{
    Running, Runs, Said, document, family, in_turn, is_gone, only, say, turnstile, until,
};

/// A trial that is over soon: no downloads, and fetches enough for a verdict.
const TINY: &str = "--slow 0 --idle 500ms --duration 500ms --arrivals 48/s --fetch-size 1KiB";
/// Two such arms.
const ARMS: [&str; 4] = ["--arm", "shared: ", "--arm", "own: --reuseport"];

fn compare(runs: &Runs, more: &[&str]) -> Command {
    let mut command = turnstile();
    command.arg("compare").args(more).arg("--runs-dir").arg(runs.path()).arg("--");
    command.args(TINY.split(' '));
    command
}

fn journal(dir: &Path) -> Journal {
    document(&dir.join("campaign.json")).expect("the journal")
}

/// The run directories of all trials, also of those that were cut short.
fn trials(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir.join("trials")) else { return Vec::new() };
    entries.map(|entry| entry.expect("entry").path()).collect()
}

/// Two arms in two rounds.
fn is_compared(dir: &Path, run: &Said) {
    let journal = journal(dir);
    assert_eq!((journal.purpose.as_str(), journal.rounds, journal.seed), ("compare", 2, 7));
    let mut slots: Vec<Slot> = journal.done.iter().map(|done| done.slot).collect();
    slots.sort();
    assert_eq!(slots, [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(round, arm)| Slot { round, arm }));
    for done in &journal.done {
        let records = RunRecords::load(&dir.join(&done.dir)).expect("a whole run");
        assert_eq!(records.manifest.arm.proxy.reuseport, done.slot.arm == 1, "{done:?}");
        assert_eq!(records.manifest.arm.load.slow, 0, "what follows -- is for all");
    }
    let comparison: Value = document(&dir.join("comparison.json")).expect("comparison.json");
    assert_eq!(schema::faults(schema::COMPARISON, &comparison), Vec::<String>::new());
    let pairs = comparison["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 1);
    assert_eq!((pairs[0]["a"].as_str(), pairs[0]["b"].as_str()), (Some("shared"), Some("own")));
    for part in ["shared", "own", &*dir.display().to_string()] {
        assert!(run.stdout.contains(part), "no {part:?} in {}", run.stdout);
    }
    let page = fs::read_to_string(dir.join("report.html")).expect("the page");
    for done in &journal.done {
        let path = done.dir.join("report.html");
        assert!(dir.join(&path).is_file(), "{} leads nowhere", path.display());
        assert!(page.contains(&*path.display().to_string()), "no link to {}", path.display());
    }
}

#[test]
fn two_arms_are_compared() {
    let _turn = in_turn();
    let (runs, elsewhere) = (Runs::new(), tempfile::tempdir().expect("a directory"));
    let markdown = elsewhere.path().join("table.md");
    let file = markdown.display().to_string();
    let more = [ARMS.as_slice(), &["--rounds", "2", "--seed", "7", "--markdown", &file]].concat();
    let run = say(&mut compare(&runs, &more)).ended_well();
    let dir = runs.dir().expect("a campaign");
    is_compared(&dir, &run);
    assert!(run.stderr.contains("seed 7") && run.stderr.contains("round 2/2"), "{}", run.stderr);
    assert!(fs::read_to_string(markdown).expect("the table").contains('|'));

    // Told again from its records, it is what was filed.
    let again = say(turnstile().arg("report").arg(&dir).arg("--json")).ended_well();
    let told: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(Some(told), document(&dir.join("comparison.json")));
    is_reported_again(&dir, &again.stdout);
}

/// The manifest of the one trial in `place`, once it is there.
fn manifest_in(place: &Path) -> Option<Manifest> {
    document(&only(place)?.join("manifest.json"))
}

fn is_in_measure(place: &&PathBuf) -> bool {
    let last = |manifest: Manifest| manifest.phases.last().map(|span| span.phase);
    manifest_in(place).and_then(last) == Some(Phase::Measure)
}

/// Cuts a campaign short while its second trial runs. The signal goes to the campaign alone, as `kill`
/// sends it: no terminal has told the trial.
fn cut_short(signal: Signal) {
    let _turn = in_turn();
    let runs = Runs::new();
    let more = [ARMS.as_slice(), &["--rounds", "2"]].concat();
    let mut running = Running::start(&mut compare(&runs, &more));
    let id = running.id();
    let (dir, second) = until("a second trial in its measure phase", || {
        assert!(!running.has_ended(), "it ended by itself");
        let dir = runs.dir()?;
        let second = trials(&dir).iter().find(is_in_measure)?.clone();
        (dir.join("campaign.json").exists() && journal(&dir).done.len() == 1)
            .then_some((dir, second))
    });
    let all = family(id);
    assert!(all.len() >= 4, "a trial and its roles: {all:?}");
    running.signal(signal);
    let run = running.finish();
    assert_eq!(run.status.signal(), Some(signal.as_raw()), "{}", run.stderr);
    runs.await_nobody(&all);
    assert!(all.iter().all(|pid| is_gone(*pid)));
    let done = journal(&dir);
    assert_eq!(done.done.len(), 1, "what is done stays done");
    if signal != Signal::KILL {
        let hint =
            format!("cut short after 1 of 4 trials; turnstile report {} tells", dir.display());
        assert!(run.stderr.contains(&hint), "no {hint:?} in {}", run.stderr);
        let cut = manifest_in(&second).expect("the second trial's").interrupted;
        assert_eq!(cut.as_deref(), Some("SIGTERM"), "it ran to its end");
    } else {
        // Who was killed wrote no page; the directory has all that one is made of.
        assert!(!dir.join("report.html").exists());
        say(turnstile().arg("report").arg(&dir).arg("--html")).ended_well();
    }
    let page = fs::read_to_string(dir.join("report.html")).expect("the page");
    assert!(page.contains("1 of 4 trials are done"), "it is not whole");
}

#[test]
fn a_campaign_that_was_cut_short_tells_what_is_done() {
    cut_short(Signal::TERM);
    cut_short(Signal::KILL);
}

#[test]
fn a_plan_begins_nothing() {
    let elsewhere = tempfile::tempdir().expect("a directory");
    let runs = elsewhere.path().join("runs");
    let plan = |words: &[&str]| {
        let mut command = turnstile();
        let said = say(command.args(words).args(["--dry-run", "--runs-dir"]).arg(&runs));
        let said = said.ended_well();
        assert!(!runs.exists(), "{words:?} made a directory");
        said.stdout
    };
    let words = [["compare"].as_slice(), &ARMS, &["--rounds", "3", "--seed", "5"]].concat();
    let text = plan(&words);
    assert_eq!(text, plan(&words), "the same seed, the same order");
    assert!(text.starts_with("6 trials in 3 rounds, seed 5, about "), "{text}");
    for line in
        (1..=3).flat_map(|round| ["own", "shared"].map(|arm| format!("round {round:>3}  {arm}")))
    {
        assert_eq!(text.lines().filter(|told| *told == line).count(), 1, "{line}: {text}");
    }
    assert!(plan(&["case", "herd"]).contains("--accept herd"));

    let file = elsewhere.path().join("turnstile.toml").display().to_string();
    let init = || say(turnstile().args(["init", &file]));
    assert!(init().ended_well().stderr.contains(&format!("turnstile --config {file}")));
    let text = plan(&["compare", "--config", &file, "--rounds", "2"]);
    assert!(text.starts_with("4 trials in 2 rounds"), "{text}");
    assert!(text.contains("small buffer: --rcvbuf 40960 --reuseport"), "{text}");
    fs::write(&file, "compare = '--rounds 7'").expect("write");
    let again = init();
    assert_eq!(again.code(), Some(1), "it would be lost: {}", again.stderr);
    assert!(again.stderr.contains("File exists"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&file).expect("read"), "compare = '--rounds 7'");
}

#[test]
fn cases_are_listed_by_name() {
    let list = say(turnstile().args(["case", "list"])).ended_well();
    let names: Vec<_> =
        list.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for name in harness::cases::names() {
        assert!(names.contains(&name), "{name} is missing: {}", list.stdout);
        let case = harness::cases::find(name).expect("a case");
        assert!(list.stdout.contains(&case.words.title), "{}", list.stdout);
    }
}

#[test]
fn builds_are_arms_named_by_their_version() {
    let dir = tempfile::tempdir().expect("a directory");
    let build = |name: &str, says: &str| {
        let text = format!("#!/bin/sh\necho 'nginx version: {says}' >&2\n");
        script(dir.path(), name, &text).display().to_string()
    };
    let old = build("an old one", "nginx/1.17.4");
    let new = build("new", "nginx/1.31.4");
    let plan = |words: &[&str]| say(turnstile().args(words).arg("--dry-run")).ended_well().stdout;

    let quoted = format!("'{old}'");
    let bins = ["--proxy-bin", &old, "--proxy-bin", &new, "--proxy-bin", &old];
    let eras = plan(&[["case", "nginx-eras"].as_slice(), &bins].concat());
    for (name, bin) in [("1.17.4", &quoted), ("1.31.4", &new), ("1.17.4 (2)", &quoted)] {
        let arm = format!("  nginx {name}: --proxy nginx --reuseport --proxy-bin {bin}\n");
        assert!(eras.contains(&arm), "{arm}: {eras}");
    }
    let published = plan(&[["case", "starvation-2023"].as_slice(), &bins[..4]].concat());
    for name in ["nginx reuseport 1.17.4: ", "nginx reuseport 1.31.4: ", "mirror reuseport: "] {
        assert!(published.contains(name), "{name}: {published}");
    }
    assert!(!published.contains("  nginx reuseport: "), "{published}");
}

#[test]
fn a_case_is_told_beside_what_was_published() {
    let _turn = in_turn();
    let runs = Runs::new();
    let mut command = turnstile();
    command.args(["case", "herd", "--quiet", "--runs-dir"]).arg(runs.path()).arg("--");
    let run = say(command.args(TINY.split(' '))).ended_well();
    let dir = runs.dir().expect("a campaign");
    let journal = journal(&dir);
    assert_eq!((journal.purpose.as_str(), journal.done.len()), ("case herd", journal.arms.len()));
    let case = harness::cases::find("herd").expect("the case");
    for arm in &journal.arms {
        assert!(case.arms.iter().any(|of_case| of_case.name == arm.name), "{arm}");
        assert!(run.stdout.contains(&arm.name), "{}", run.stdout);
    }
    assert!(run.stdout.contains("empty wakeups"), "{}", run.stdout);
}

/// `turnstile report` makes of a campaign's directory what stood there at its end.
fn is_reported_again(dir: &Path, json: &str) {
    let report = |words: &[&str]| say(turnstile().arg("report").arg(dir).args(words));
    let path = dir.join("report.html");
    let page = fs::read(&path).expect("report.html");
    fs::remove_file(&path).expect("removed");
    let made = report(&["--html"]);
    assert_eq!((made.code(), made.stdout), (Some(0), format!("{}\n", path.display())));
    assert_eq!(fs::read(&path).expect("report.html"), page, "the same records, the same bytes");
    assert_eq!(report(&["--json"]).stdout, json);
    let text = report(&[]);
    assert!(text.stdout.contains("own against shared: "), "{}", text.stdout);
    let drawn = report(&["--svg"]).ended_well();
    assert!(drawn.stdout.starts_with("<svg xmlns"));
}
