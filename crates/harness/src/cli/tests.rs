use std::path::Path;

use clap::CommandFactory;
use records::{Bytes, Role};

use trial::TrialPlan;
use trial::cpu_plan::CpuPlan;

use super::*;

mod documents;

fn typed(words: &str) -> Result<Cli, String> {
    let words = shlex::split(&format!("turnstile {words}")).expect("quotes that close");
    Cli::try_parse_from(words).map_err(|error| error.to_string())
}

fn run(words: &str) -> run::RunOptions {
    let cli = typed(words).expect("good options");
    match cli.command {
        None => cli.run,
        Some(Command::Run(options)) => *options,
        Some(other) => panic!("another command: {other:?}"),
    }
}

/// The options of a trial that stand behind all others.
fn behind(command: Option<Command>) -> Vec<String> {
    match command {
        Some(Command::Check(options)) => options.trial,
        Some(Command::Compare(options)) => options.campaign.trial,
        Some(Command::Case(options)) => options.campaign.trial,
        _ => Vec::new(),
    }
}

fn planned(words: &str) -> TrialPlan {
    let run::RunOptions { trial, trials, files, .. } = run(words);
    trial.plan(&trials.runs_dir, files).expect("a plan")
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn run_may_be_left_out() {
    // Of an option given twice the later counts.
    for words in ["--reuseport --rcvbuf 1 --rcvbuf 40960", "run --reuseport --rcvbuf 40960"] {
        let plan = planned(words);
        assert!(plan.trial.arm.proxy.reuseport, "{words}");
        assert_eq!(plan.trial.arm.rcvbuf(), Some(Bytes(40_960)), "{words}");
        assert_eq!(plan.files.label.as_deref(), Some("reuseport-rcvbuf40960"), "{words}");
    }
}

#[test]
fn options_of_every_role_reach_the_plan_and_its_label() {
    // This test may run on any CPU of this host, so the first of them is there.
    let cpu = net::cpu::allowed().expect("some CPU")[0];
    let faults = format!(
        "--delay 1.5s --origin-workers 5 --burst 100 --log-mode inline --backlog 1 \
         --access-log /tmp/log --cpus origin={cpu} --cpus fast={cpu}"
    );
    let plan = planned(&faults);
    assert_eq!(plan.trial.arm.cpus.keys().copied().collect::<Vec<_>>(), [Role::Origin, Role::Fast]);
    assert_eq!(CpuPlan::numbers(plan.cpus.of(Role::Fast)), [cpu]);
    assert_eq!(plan.files.access_log.as_deref(), Some(Path::new("/tmp/log")));
    for (words, label) in [
        (
            "--workers 3 --read-policy bytes:64KiB --slow 8 --arrivals closed",
            "shared-closed-bytes64KiB",
        ),
        ("--arrivals 20/s --fetch-path /x --slow-path /y --server '/bin/sh x'", "sh"),
        ("--reuseport --proxy nginx --buffering off --slow 2", "nginx-buffering-off"),
        ("--recording minimal --cap 150ms", "shared-cap150ms-minimal"),
        (&faults, "shared-backlog1-burst100"),
    ] {
        assert_eq!(planned(words).files.label.as_deref(), Some(label), "{words}");
    }
}

#[test]
fn options_of_a_trial_stand_behind_all_others() {
    for (words, read) in [
        ("check --fail-on starved --rounds 3 --slow 2 --reuseport", "--slow 2 --reuseport"),
        ("check --fail-on starved -- --cap=2s --reuseport", "--cap=2s --reuseport"),
        ("compare --rounds 3 --timeout 2s", "--timeout 2s"),
        ("case herd --slow 2", "--slow 2"),
        ("compare --rounds 3", ""),
    ] {
        assert_eq!(behind(typed(words).expect(words).command).join(" "), read, "{words}");
    }
}

#[test]
fn options_of_a_file_stand_before_those_that_are_typed() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("t.toml");
    let read = |text: &str, words: &str| {
        std::fs::write(&file, text).expect("write");
        let words = words.replace("FILE", &file.display().to_string());
        let words = format!("turnstile {words}");
        config::parse(words.split(' ').map(Into::into).collect()).map_err(|error| error.to_string())
    };
    let text = "trial = \"--slow 2 --label 'a.b'\"\ncheck = \"--rounds 3 --fail-on starved\"\n\
                compare = \"--rounds 4\"\n[[arm]]\nname = \"one\"\noptions = \"--reuseport\"\n";
    for words in ["--config FILE --slow 3", "run --slow 3 --config=FILE"] {
        let cli = read(text, words).expect(words);
        let run = match cli.command {
            Some(Command::Run(run)) => *run,
            _ => cli.run,
        };
        assert_eq!(run.trial.arm.load.slow, 3, "{words}: what is typed wins");
        assert_eq!(run.files.label.map(|label| label.to_string()), Some("a.b".to_owned()));
    }
    // The later wins; of others it is no option, and behind -- it is none of ours.
    for (words, own, trial) in [
        ("check --config FILE", "rounds: Some(3)", "--slow 2 --label a.b"),
        (
            "check --rounds 5 --config FILE --slow 3",
            "rounds: Some(5)",
            "--slow 2 --label a.b --slow 3",
        ),
        (
            "check --config FILE -- --slow 3",
            "fail_on: Some(Starved)",
            "--slow 2 --label a.b --slow 3",
        ),
        ("compare --config FILE --slow 3", "rounds: 4", "--slow 2 --label a.b --slow 3"),
        ("compare --config FILE", r#"name: "one", args: ["--reuseport"]"#, "--slow 2 --label a.b"),
        ("compare --arm b: --config FILE", r#"name: "b", args: []"#, "--slow 2 --label a.b"),
        ("check -- --config FILE", "rounds: None", "--config FILE"),
    ] {
        let command = read(text, words).expect(words).command;
        let said = format!("{command:?}");
        assert!(said.contains(own), "{words}: no {own} in {said}");
        let trial = trial.replace("FILE", &file.display().to_string());
        assert_eq!(behind(command).join(" "), trial, "{words}");
    }
    for (text, words, says) in [
        (text, "report --config FILE", "unexpected argument '--config'"),
        ("speed = 3", "check --config FILE", "unknown field `speed`"),
        ("check = \"--label 'a\"", "check --config FILE", "do not close"),
        ("check = \"--round 3\"\ntrial = \"--fast\"", "run --config FILE", "'--fast'"),
    ] {
        let error = read(text, words).expect_err(words);
        assert!(error.contains(says), "{words}: {error}");
    }
}
