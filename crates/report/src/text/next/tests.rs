//! The command to try next, for every verdict and arm.

use records::{Bytes, Rcvbuf, ReadPolicy, Summary, Verdict};

use super::next;
use analysis::summarise;
use testkit::fixture::Run;

/// What follows `words` when the run had that arm and verdict.
fn after(words: &str, verdict: Verdict, arm: impl FnOnce(&mut Summary)) -> String {
    let mut summary = summarise(&Run::starved().records);
    summary.verdict = verdict;
    arm(&mut summary);
    let command: Vec<String> = words.split(' ').map(str::to_owned).collect();
    next(&command, &summary).command.join(" ")
}

fn rcvbuf(summary: &mut Summary) {
    summary.arm.proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960));
}

fn policy(policy: ReadPolicy) -> impl FnOnce(&mut Summary) {
    move |summary| summary.arm.proxy.read_policy = policy
}

#[test]
fn starvation_leads_from_cure_to_cure() {
    let starved = Verdict::Starved;
    let usual = |summary: &mut Summary| summary.arm.proxy.rcvbuf = Rcvbuf::Size(Rcvbuf::ROOMY);
    for (words, then) in [
        ("turnstile --reuseport", "turnstile --reuseport --rcvbuf 40960"),
        ("turnstile run", "turnstile run --rcvbuf 40960"),
    ] {
        assert_eq!(after(words, starved, usual), then);
        assert_eq!(after(words, starved, |_| {}), then, "tuned by the kernel");
    }
    assert_eq!(
        after("turnstile --rcvbuf 40960 --slow 8", starved, rcvbuf),
        "turnstile --rcvbuf 40960 --slow 8 --read-policy fionread"
    );
    assert_eq!(
        after("turnstile --read-policy=fionread", starved, policy(ReadPolicy::Fionread)),
        "turnstile --read-policy bytes:64KiB"
    );
    let quota = policy(ReadPolicy::Bytes(Bytes::kib(64)));
    assert_eq!(
        after("target/debug/turnstile --read-policy bytes:64KiB", starved, quota),
        "target/debug/turnstile doctor"
    );
}

#[test]
fn a_cure_leads_to_another_or_to_its_proof() {
    let healthy = Verdict::Healthy;
    assert_eq!(
        after("turnstile --reuseport --rcvbuf=40960 --sndbuf 1MiB", healthy, rcvbuf),
        "turnstile --reuseport --sndbuf 1MiB --read-policy fionread"
    );
    assert_eq!(
        after("turnstile --read-policy fionread --slow 8", healthy, policy(ReadPolicy::Fionread)),
        "turnstile --slow 8"
    );
    assert_eq!(
        after("turnstile --slow 0 --slow-size 4GiB", healthy, |summary| summary.arm.load.slow = 0),
        "turnstile --slow-size 4GiB"
    );
    assert_eq!(
        after("turnstile", healthy, |summary| summary.arm.proxy.reuseport = false),
        "turnstile --reuseport"
    );
    assert_eq!(after("turnstile --reuseport", healthy, |_| {}), "turnstile doctor");
}

#[test]
fn degradation_leads_to_shorter_steps() {
    assert_eq!(
        after("turnstile --rcvbuf 40960", Verdict::Degraded, rcvbuf),
        "turnstile --rcvbuf 40960 --read-policy bytes:64KiB"
    );
}

#[test]
fn a_run_that_proves_nothing_leads_to_the_doctor_or_to_itself() {
    let inconclusive = Verdict::Inconclusive;
    assert_eq!(after("turnstile --reuseport", inconclusive, |_| {}), "turnstile doctor");
    let cut = |summary: &mut Summary| summary.interrupted = Some("SIGINT".to_owned());
    assert_eq!(after("turnstile --reuseport", inconclusive, cut), "turnstile --reuseport");
    let nothing = next(&[], &summarise(&Run::new().records));
    assert_eq!(nothing.command, ["turnstile", "doctor"]);
}
