use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;
use records::{Bytes, Micros, Pin, Placement, ReadPolicy, Role};

use trial::TrialPlan;
use trial::cpu_plan::CpuPlan;

use super::*;

mod documents;

fn typed(words: &str) -> Result<Cli, String> {
    let words = std::iter::once("turnstile").chain(words.split_whitespace());
    Cli::try_parse_from(words).map_err(|error| error.to_string())
}

fn run(words: &str) -> RunOptions {
    let cli = typed(words).expect("good options");
    match cli.command {
        None => cli.run,
        Some(Command::Run(options)) => *options,
        Some(other) => panic!("another command: {other:?}"),
    }
}

fn planned(words: &str) -> TrialPlan {
    let RunOptions { trial, trials, files, .. } = run(words);
    trial.plan(&trials.runs_dir, files).expect("a plan")
}

/// The message when the options are bad, by clap's parsing or by our own plan.
fn refusal(words: &str) -> String {
    match typed(words) {
        Err(message) => message,
        Ok(Cli { run, .. }) => {
            let refused = run.trial.plan(&run.trials.runs_dir, run.files);
            refused.expect_err("bad options").to_string()
        }
    }
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn run_may_be_left_out() {
    for words in ["--reuseport --rcvbuf 40960", "run --reuseport --rcvbuf 40960"] {
        let plan = planned(words);
        assert!(plan.arm.proxy.reuseport, "{words}");
        assert_eq!(plan.arm.rcvbuf(), Some(Bytes(40_960)), "{words}");
        assert_eq!(plan.label, "reuseport-rcvbuf40KiB", "{words}");
    }
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let plan = planned("");
    assert_eq!((plan.idle.as_secs(), plan.measure.as_secs()), (3, 8));
    assert_eq!(plan.hold, Micros(10_000));
    assert_eq!(plan.runs_dir.to_str(), Some("runs"));
    assert_eq!((plan.arm.load.slow, plan.arm.load.slow_size), (4, Bytes::gib(2)));
    assert_eq!((plan.arm.fetch.fetch_size, plan.arm.fetch.cap), (Bytes::mib(3), Micros(1_000_000)));
    assert_eq!((plan.arm.proxy.workers, plan.arm.proxy.read_policy), (2, ReadPolicy::Drain));
    assert_eq!((plan.arm.place, plan.arm.pin), (Placement::Spread, Pin::Auto));
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
    assert_eq!(plan.arm.cpus.keys().copied().collect::<Vec<_>>(), [Role::Origin, Role::Fast]);
    assert_eq!(CpuPlan::numbers(plan.cpus.of(Role::Fast)), [cpu]);
    assert_eq!(plan.access_log.as_deref(), Some(Path::new("/tmp/log")));
    for (words, label) in [
        (
            "--workers 3 --read-policy bytes:64KiB --slow 8 --arrivals closed --place hash",
            "shared-bytes64KiB-workers3-slow8-hash-closed".to_owned(),
        ),
        ("--recording minimal", "shared-minimal".to_owned()),
        (
            &faults,
            format!(
                "shared-backlog1-log-inline-burst100-delay1.500s-origin-workers5-origin-on{cpu}"
            )[..64]
                .to_owned(),
        ),
    ] {
        assert_eq!(planned(words).label, label, "{words}");
    }
}

#[test]
fn bad_options_are_refused_with_what_would_do() {
    for (words, says) in [
        ("--duration 99ms", "a phase has 100ms to 1h"),
        ("--idle 2h", "a phase has 100ms to 1h"),
        ("--duration ten", "not a duration"),
        ("--hold 0s", "a hold has 100us to 10s"),
        ("--workers 0", "1..=256"),
        ("--workers 257", "1..=256"),
        ("--slow -1", "unexpected argument"),
        ("--slow-size huge", "not a size"),
        ("--read-policy fast", "not a read policy"),
        ("--arrivals 0/s", "not an arrival process"),
        ("--place left", "spread, one-worker, hash"),
        ("--pin x", "not a CPU plan"),
        ("--pin 1023", "CPU 1023 cannot be used here"),
        ("--label a/b", "a label has 1 to 64 letters"),
        ("--arrivals 100000/s --cap 1s", "10000 is the most"),
        ("--arrivals 10/s --burst 1001 --cap 1s", "--arrivals 10/s of --burst 1001 with --cap"),
        ("--arrivals 0.1/s --burst 10001", "1..=10000"),
        ("--arrivals closed --burst 2", "--burst 2 needs --arrivals with a rate"),
        ("--burst 0", "1..=10000"),
        ("--delay 2m", "a delay has 1m at most"),
        ("--think hard", "not a duration"),
        ("--origin-workers 0", "1..=65535"),
        ("--log-mode off", "writer, inline"),
        ("--recording none", "full, minimal"),
        ("--cpus origin", "write it as origin=0"),
        ("--cpus nginx=0", "write it as origin=0"),
        ("--cpus origin=", "write it as origin=0"),
        ("--cpus proxy=0", "--pin 0,1"),
        ("--cpus slow=1023", "--cpus: CPU 1023 cannot be used here"),
        ("report x --runs-dir y", "cannot be used with"),
        ("--proxy url:192.0.2.1:80", "run turnstile on the proxy's own host"),
        ("--reuseport report x", "cannot be used with"),
        ("--frobnicate", "unexpected argument"),
        ("fast 127.0.0.1:80 --arrivals 10", "not an arrival process"),
        ("fast 127.0.0.1:80 --arrivals 0/s", "not an arrival process"),
        ("fast 127.0.0.1:80 --cap 999us", "a cap is 1 ms to 1 minute"),
        ("fast 127.0.0.1:80 --cap 61s", "a cap is 1 ms to 1 minute"),
        ("fast 127.0.0.1:80 --burst 0", "1..=10000"),
        ("fast 127.0.0.1:80 --burst 10001", "1..=10000"),
        ("fast 127.0.0.1:80 --phase load", "idle"),
    ] {
        let message = refusal(words);
        assert!(message.contains(says), "{words}: {message}");
    }
}

#[test]
fn a_file_of_options_stands_before_those_that_are_typed() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("t.toml");
    let text = "trial = \"--slow 2 --label 'a'\"\ncheck = \"--rounds 3\"\ncompare = \"--rounds 4\"\n\
                [[arm]]\nname = \"one\"\noptions = \"--reuseport\"\n";
    std::fs::write(&file, text).expect("write");
    let file = file.display();
    for (typed, read) in [
        (
            format!("--config {file} --slow 3"),
            format!("--slow 2 --label a --config {file} --slow 3"),
        ),
        (format!("run --config={file}"), format!("run --slow 2 --label a --config={file}")),
        (
            format!("check --rounds 5 --config {file}"),
            format!("check --rounds 3 --slow 2 --label a --rounds 5 --config {file}"),
        ),
        (
            format!("compare --config {file}"),
            format!("compare --rounds 4 --arm=one: --reuseport --slow 2 --label a --config {file}"),
        ),
        // Of others it is no option, and behind -- it is none of ours.
        (format!("report --config {file}"), format!("report --config {file}")),
        (format!("check -- --config {file}"), format!("check -- --config {file}")),
    ] {
        let words = format!("turnstile {typed}");
        let words = config::with_config(words.split(' ').map(OsString::from).collect());
        let words = words.expect(&typed);
        let words: Vec<_> = words.iter().skip(1).map(|word| word.to_string_lossy()).collect();
        assert_eq!(words.join(" "), read, "{typed}");
        if typed.starts_with("--config") {
            assert_eq!(run(&words.join(" ")).trial.arm.load.slow, 3, "what is typed wins");
        }
    }
}

#[test]
fn options_of_a_trial_need_no_dashes_before_them() {
    for (typed, read) in [
        ("check --fail-on starved --slow 2 --reuseport --rounds 3", "--slow 2 --reuseport"),
        ("check --cap=2s --fail-on starved -- --reuseport", "--cap=2s --reuseport"),
        ("check --timeout 2s --fail-on starved", "--timeout 2s"),
        ("compare --slow 2 --rounds 3", "--slow 2"),
        ("compare --rounds 3", ""),
    ] {
        let words = format!("turnstile {typed}");
        let words = trial_options_last(words.split(' ').map(OsString::from).collect());
        let trial = match Cli::try_parse_from(words).expect(typed).command {
            Some(Command::Check(options)) => options.trial,
            Some(Command::Compare(options)) => options.campaign.trial,
            other => panic!("{other:?}"),
        };
        assert_eq!(trial.join(" "), read, "{typed}");
    }
    let other = ["turnstile", "case", "--slow", "2"].map(OsString::from).to_vec();
    assert_eq!(trial_options_last(other.clone()), other);
}

#[test]
fn of_an_option_given_twice_the_later_counts() {
    for words in ["--slow 8 --slow 2", "run --slow 8 --slow 2"] {
        assert_eq!(run(words).trial.arm.load.slow, 2, "{words}");
    }
}
