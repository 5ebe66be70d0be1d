//! The command to try next, for every verdict and arm.

use records::Verdict::{self, Degraded, Healthy, Inconclusive, Starved};
use records::{Bytes, Rcvbuf, ReadPolicy, Summary};

use super::line;
use analysis::summarise;
use testkit::fixture::Run;

/// A change to an arm, or to what became of it.
type Change = fn(&mut Summary);

#[test]
fn each_answer_leads_to_the_next_question() {
    let as_it_is: Change = |_| {};
    let roomy: Change = |summary| summary.arm.proxy.rcvbuf = Rcvbuf::Size(Rcvbuf::ROOMY);
    let small: Change = |summary| summary.arm.proxy.rcvbuf = Rcvbuf::Size(Bytes(40_960));
    let shared: Change = |summary| summary.arm.proxy.reuseport = false;
    let fionread: Change = |summary| summary.arm.proxy.read_policy = ReadPolicy::Fionread;
    let quota: Change = |summary| {
        summary.arm.proxy.read_policy = ReadPolicy::Bytes(Bytes::kib(64));
    };
    let alone: Change = |summary| summary.arm.load.slow = 0;
    let cut: Change = |summary| summary.interrupted = Some("SIGINT".to_owned());
    let table: [(&str, Verdict, Change, &str); 16] = [
        // From the starvation from cure to cure.
        ("--reuseport", Starved, roomy, "--reuseport --rcvbuf 40960"),
        ("--reuseport", Starved, as_it_is, "--reuseport --rcvbuf 40960"),
        ("run", Starved, as_it_is, "run --rcvbuf 40960"),
        ("--rcvbuf 40960", Starved, small, "--rcvbuf 40960 --read-policy fionread"),
        ("--read-policy=fionread", Starved, fionread, "--read-policy bytes:64KiB"),
        ("--read-policy bytes:64KiB", Starved, quota, "report -v"),
        ("--label one -o a.txt --slow 2", Starved, as_it_is, "--slow 2 --rcvbuf 40960"),
        // From a cure to another, or to its proof.
        ("--rcvbuf=40960 --buffer 1MiB", Healthy, small, "--buffer 1MiB --read-policy fionread"),
        ("--read-policy fionread --slow 8", Healthy, fionread, "--slow 8"),
        ("--slow 0 --slow-size 4GiB", Healthy, alone, "--slow-size 4GiB"),
        ("--slow 4", Healthy, shared, "--slow 4 --reuseport"),
        ("--reuseport", Healthy, as_it_is, "report -v"),
        ("--rcvbuf 40960", Degraded, small, "--rcvbuf 40960 --read-policy bytes:64KiB"),
        // From what proves nothing to its figures, or to the same again.
        ("--reuseport", Inconclusive, as_it_is, "report -v"),
        ("--reuseport", Inconclusive, cut, "--reuseport"),
        ("--label 'it is'", Inconclusive, cut, "--label 'it is'"),
    ];
    for (words, verdict, change, then) in table {
        let mut summary = summarise(&Run::starved().records);
        summary.verdict = verdict;
        change(&mut summary);
        let words = words.replace("'it is'", "it\u{a0}is");
        let words = words.split(' ').map(|word| word.replace('\u{a0}', " "));
        let command: Vec<String> = ["turnstile".to_owned()].into_iter().chain(words).collect();
        let said = line(&command, &summary);
        assert_eq!(said.split("  # ").next(), Some(&*format!("turnstile {then}")), "{verdict}");
    }
    let nothing = line(&[], &summarise(&Run::new().records));
    assert!(nothing.starts_with("turnstile report -v  # "), "{nothing}");
}
