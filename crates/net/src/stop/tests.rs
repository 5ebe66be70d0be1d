//! Signals to a process: this test binary, started again for the one test that is to be signalled.

use std::env;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use testkit::{Running, Signal, until};

use super::{Next, on_signal};

/// A process in which `listen` was called, and that does nothing but wait for signals.
fn apart(test: &str, listen: fn()) -> Running {
    const APART: &str = "TURNSTILE_TEST_APART";
    if env::var_os(APART).is_some() {
        listen();
        tell("listening");
        loop {
            thread::park();
        }
    }
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command.args(["--exact", &format!("stop::tests::{test}"), "--nocapture"]).env(APART, "1");
    let process = Running::start(&mut command);
    await_word(&process, "listening");
    process
}

fn tell(word: &str) {
    writeln!(io::stderr(), "{word}").expect("somebody reads");
}

fn await_word(process: &Running, word: &str) {
    assert!(std::iter::from_fn(|| process.complaint()).any(|said| said == word), "no {word:?}");
}

/// Sends `signal` until it ends the process, as somebody does who has had enough.
fn insist(process: &mut Running, signal: Signal) {
    until("the end of who was signalled", || {
        process.has_ended().then_some(()).or_else(|| {
            process.signal(signal);
            None
        })
    });
    assert_eq!(process.finish().status.signal(), Some(signal.as_raw()));
}

#[test]
fn after_the_last_that_is_heard_a_signal_ends_the_process() {
    let mut process = apart("after_the_last_that_is_heard_a_signal_ends_the_process", || {
        let take = |_| {
            tell("taken");
            Next::Done
        };
        on_signal(take).expect("handlers");
    });
    process.signal(Signal::TERM);
    await_word(&process, "taken");
    // The other one: both have their default back.
    insist(&mut process, Signal::INT);
}

#[test]
fn a_signal_that_nobody_wants_ends_the_process() {
    let mut process = apart("a_signal_that_nobody_wants_ends_the_process", || {
        let (sender, gone) = mpsc::channel();
        drop(gone);
        on_signal(move |signal| match sender.send(signal) {
            Ok(()) => Next::Wait,
            Err(_) => Next::Unheard,
        })
        .expect("handlers");
    });
    assert_eq!(process.end(Signal::INT).status.signal(), Some(Signal::INT.as_raw()));
}

#[test]
fn who_has_gone_takes_no_signal_from_who_listens() {
    let mut process = apart("who_has_gone_takes_no_signal_from_who_listens", || {
        let gone = |_| {
            tell("unheard");
            Next::Unheard
        };
        on_signal(gone).expect("handlers");
        let mut taken = 0;
        let take_two = move |_| {
            taken += 1;
            tell(&format!("taken {taken}"));
            if taken < 2 { Next::Wait } else { Next::Done }
        };
        on_signal(take_two).expect("handlers");
    });
    process.signal(Signal::INT);
    // The words of two threads come in either order.
    let mut words = [process.complaint(), process.complaint()].map(Option::unwrap_or_default);
    words.sort();
    assert_eq!(words, ["taken 1", "unheard"]);
    process.signal(Signal::INT);
    await_word(&process, "taken 2");
    insist(&mut process, Signal::INT);
}
