//! Everything but runs: help, what is refused before a run, roles, completions, the manual.

use std::fs;

use crate::support::{Running, installed, say, turnstile};

#[test]
fn help_is_complete() {
    for (name, words) in
        [("help", "--help"), ("explain_help", "explain --help"), ("demo_help", "demo --help")]
    {
        let help = say(turnstile().args(words.split(' '))).ended_well();
        assert!(help.stdout.lines().all(|line| line.chars().count() <= 100), "{}", help.stdout);
        insta::assert_snapshot!(name, help.stdout);
    }
    let run = say(turnstile().args(["run", "--help"]));
    assert!(run.stdout.ends_with("2 usage.\n"), "{}", run.stdout);
}

/// What to test comes first, then the load; the rest is behind `--help`.
#[test]
fn the_short_help_fits_a_screen() {
    let help = say(turnstile().arg("-h").env("COLUMNS", "80"));
    let lines: Vec<&str> = help.stdout.lines().collect();
    assert!(lines.len() <= 50, "{} lines", lines.len());
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", help.stdout);
    insta::assert_snapshot!("short_help", help.stdout);
}

#[test]
fn every_command_has_examples() {
    let commands = "report demo who init origin proxy slow fast completions man compare check case";
    for command in commands.split(' ') {
        let help = say(turnstile().args([command, "--help"])).ended_well();
        let begin = format!("Examples:\n  turnstile {command}");
        assert!(help.stdout.contains(&begin), "{}", help.stdout);
    }
}

/// Command lines, and what the message says that refuses each: exit code 2, before any directory is made. Of
/// values that are read in one way everywhere, the tests of `records`, `trial`, `servers` and `analysis` have
/// the others.
const REFUSED: &[(&str, &str)] = &[
    ("nonsense", "unrecognized subcommand"),
    ("--frobnicate", "unexpected argument"),
    ("--reuseport report x", "cannot be used with"),
    // A trial: lengths, numbers, sizes.
    ("--duration 1ms", "a phase has 100ms to 1h"),
    ("--idle 2h", "a phase has 100ms to 1h"),
    ("--duration ten", "not a duration"),
    ("--hold 0s", "a hold has 100us to 10s"),
    ("--workers 257", "1..=256"),
    ("--slow -1", "unexpected argument"),
    ("run --slow-size 2XB", "write it as 40960, 64KiB, 3MiB or 2GiB"),
    ("--place left", "spread, one-worker, hash"),
    ("--label a/b", "a label has 1 to 64 letters"),
    ("--delay 2m", "a delay has 1m at most"),
    ("--think hard", "not a duration"),
    ("--origin-workers 0", "1..=65535"),
    ("--recording none", "full, minimal"),
    // Its arrivals and CPUs.
    ("--arrivals 0/s", "not an arrival process"),
    ("--arrivals 100000/s --cap 1s", "10000 is the most"),
    ("--arrivals 10/s --burst 1001 --cap 1s", "--arrivals 10/s of --burst 1001 with --cap"),
    ("--arrivals 0.1/s --burst 10001", "1..=10000"),
    ("--arrivals closed --burst 2", "--burst 2 needs --arrivals with a rate"),
    ("--burst 0", "1..=10000"),
    ("--pin x", "not a CPU plan"),
    ("--cpus slow=1023", "--cpus: CPU 1023 cannot be used here"),
    // Its server.
    ("--proxy squid", "mirror, nginx, haproxy, caddy, apache, h2o or url:"),
    ("--proxy squid", "--server"),
    ("--proxy url:localhost", "url:IP:PORT"),
    ("--proxy url:192.0.2.1:80", "run turnstile on the proxy's own host"),
    ("--server-dir /nowhere", "mirror"),
    ("--server-dir /nowhere", "--server-dir"),
    ("--server true --proxy nginx", "--proxy"),
    ("--slow-path /x --slow-body /nowhere", "--slow-body"),
    ("--reuseport --accept herd", "leave one"),
    ("--directive gzip=on", "mirror"),
    ("--sysctl net.ipv4.tcp_rmem=40960,40960,40960", "--netns"),
    // Hosts of their own do not reach this one.
    ("--netns --proxy url:127.0.0.1:80", "url:"),
    ("--netns --origin-listen 127.0.0.1:4567", "--origin-listen"),
    // The roles.
    ("proxy", "--upstream"),
    ("fast 192.0.2.1:80", "fast: 192.0.2.1:80 is not on this host: add --allow-remote"),
    ("fast 127.0.0.1:80 --cap 999us", "a cap is 1 ms to 1 minute"),
    ("fast 127.0.0.1:80 --cap 61s", "a cap is 1 ms to 1 minute"),
    ("fast 127.0.0.1:80 --burst 0", "1..=10000"),
    ("fast 127.0.0.1:80 --burst 10001", "1..=10000"),
    ("fast 127.0.0.1:80 --phase load", "idle"),
    // What is told of a run.
    ("report x --runs-dir y", "cannot be used with"),
    ("explain --phase idle", "--fetch <N>"),
    ("explain --fetch first", "invalid value"),
    ("explain --fetch 1 --phase drain", "[possible values: idle, measure]"),
    // A comparison.
    ("compare", "--arm 'name: options'"),
    ("compare --arm 'b: --slow 3'", "here is one given"),
    ("compare --arm 'b: --slow 2' --arm 'b: --slow 3'", "two arms are named \"b\""),
    ("compare --arm 'a: --slwo 2' --arm b:", "'--slow'"),
    ("compare --arm 'a: --parent-pid 1' --arm b:", "--parent-pid"),
    ("compare --arm 'a: --reuseport --accept herd' --arm b:", "a: --accept herd"),
    ("compare --arm a: --arm b: --rounds 0", "--rounds"),
    ("compare --arm a: --arm b: --markdown nowhere/x.md", "--markdown nowhere/x.md: "),
    ("compare --arm a: --arm b: --slow 2 --rounds 3", "all others before them"),
    ("compare --config nowhere.toml", "--config nowhere.toml: No such file"),
    ("compare --arm a: --arm b: --slow 2 --config x", "--config x: No such file"),
    // A case.
    ("case starvation", "no case \"starvation\"; `turnstile case list`"),
    ("case herd --markdown nowhere/x.md", "--markdown nowhere/x.md: "),
    ("case herd --proxy-bin /bin/true", "no proxy but the mirror"),
    ("case nginx-eras --proxy-bin /bin/true", "is it nginx?"),
    // A show.
    ("demo --cure prayer", "rcvbuf, fionread, quota"),
    ("demo -- --json", "arm starved: unexpected argument '--json'"),
    // A check.
    ("check", "nothing to check"),
    ("check --threshold 'p98<100ms'", "there is no figure \"p98\"; these are: failed_share"),
    ("check --fail-on healthy", "[possible values: starved, degraded]"),
    ("check --threshold 'p99<1s' --rounds 0", "1..=1000"),
    ("check --threshold 'p99<1s' --attempts 0", "1..=100"),
    ("check --save-baseline base.json --rounds 2", "3 rounds or more"),
    ("check --threshold 'p99<1s' --cross-host", "--baseline"),
    ("check --threshold 'p99<1s' --junit nowhere/check.xml", "--junit nowhere/check.xml"),
    ("check --save-baseline /dev/null", "--save-baseline /dev/null: it is no regular file"),
    ("check --save-baseline here", "--save-baseline here: it is no regular file"),
    ("check --save-baseline nowhere/x", "--save-baseline nowhere/x"),
    ("check --threshold 'p99<1s' -- --rcvbuf much", "--rcvbuf"),
    ("check --threshold 'p99<1s' --json --reuseport --json", "unexpected argument '--json'"),
    ("check --threshold 'p99<1s' -- --proxy nginx --proxy-bin ./none", "./none"),
];

/// The same of programs that need not be there.
const REFUSED_OF: &[(&str, &str, &str)] = &[
    ("nginx", "--proxy nginx --rcvbuf 40960", "--netns"),
    ("nginx", "--proxy nginx --read-policy bytes:64KiB", "--proxy mirror"),
    ("haproxy", "--proxy nginx --proxy-bin /usr/sbin/haproxy", "is it nginx?"),
];

#[test]
fn what_does_not_fit_is_refused_before_anything_begins() {
    let place = tempfile::tempdir().expect("a directory");
    fs::create_dir(place.path().join("here")).expect("a directory");
    let here = REFUSED_OF.iter().filter(|(program, ..)| installed(program));
    let rows = here.map(|(_, words, says)| (*words, *says)).chain(REFUSED.iter().copied());
    for (words, says) in rows {
        let words = shlex::split(words).expect("quotes that close");
        let said = say(turnstile().args(&words).current_dir(place.path())).refused(2);
        assert!(said.contains(says), "{words:?}: {said}");
        assert!(!place.path().join("runs").exists(), "{words:?}: a directory was made");
    }
}

#[test]
fn no_message_orders_a_terminal_about() {
    for (words, code) in [(["report", "no\u{1b}[2Jrun"], 1), (["case", "no\u{1b}[2Jcase"], 2)] {
        let said = say(turnstile().args(words)).refused(code);
        assert!(said.contains("[2J") && !said.contains('\u{1b}'), "{said:?}");
    }
}

#[test]
fn completions_and_the_manual_know_the_toggles() {
    for words in [["completions", "bash"].as_slice(), &["completions", "zsh"], &["man"]] {
        let said = say(turnstile().args(words)).ended_well();
        let text = said.stdout.replace("\\-", "-");
        for option in ["--reuseport", "--read-policy", "--slow-size", "--cap"] {
            assert!(text.contains(option), "{words:?} lacks {option}");
        }
    }
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let said = Running::unheard(turnstile().args(["completions", "bash"])).finish();
    assert_eq!((said.code(), said.stderr.as_str()), (Some(0), ""));
}
