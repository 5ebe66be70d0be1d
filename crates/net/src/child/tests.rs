use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use testkit::{is_gone, kill, until};

use super::*;

const SOON: Duration = Duration::from_secs(20);

fn shell(script: &str) -> (Child, Receiver<Event>) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (sender, events) = mpsc::channel();
    let take = move |event| drop(sender.send(event));
    let child = Child::start(&mut command, "child".into(), Dropped::Killed, take);
    (child.expect("a shell"), events)
}

/// Everything that happens until the end, in words.
fn told(events: &Receiver<Event>) -> Vec<String> {
    let words = events.iter().map(|event| match event {
        Event::Line(line) => line,
        Event::Said(line) => format!("said {line}"),
        Event::Ended => "ended".to_owned(),
    });
    words.collect()
}

/// The tail of the standard error of a shell that ran `script`.
fn tail_of(script: &str) -> String {
    let (mut child, _events) = shell(script);
    child.reap().expect("our child");
    child.stderr_tail()
}

#[test]
fn everything_said_is_told_before_the_end() {
    let (mut child, events) = shell("echo one; echo two >&2; printf torn; printf half >&2; exit 3");
    let mut told = told(&events);
    assert_eq!(told.pop().as_deref(), Some("ended"));
    told.sort();
    // Half a line is nothing that a program has printed, but something that it has said.
    assert_eq!(told, ["one", "said half", "said two"]);
    assert_eq!(child.reap().expect("reaped").code(), Some(3));
}

#[test]
fn what_is_written_reaches_it_and_one_that_is_gone_is_an_error() {
    let (mut child, events) = shell("read line; echo \"got $line\"");
    child.write("this\n").expect("written");
    assert_eq!(told(&events), ["got this", "ended"]);
    child.reap().expect("reaped");
    child.write("that\n").expect_err("nobody there");
}

#[test]
fn it_is_stopped_politely_or_not_within_a_bound() {
    let (mut polite, _events) = shell("exec sleep 1000");
    let status = polite.stop(Signal::TERM, SOON).expect("stopped");
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()));
    let (mut stubborn, events) = shell("trap '' TERM; echo up; exec sleep 1000");
    assert_eq!(events.recv(), Ok(Event::Line("up".to_owned())), "its trap is set");
    assert!(!stubborn.ends_within(Duration::ZERO));
    let status = stubborn.stop(Signal::TERM, Duration::from_millis(50)).expect("stopped");
    assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
    assert!(stubborn.ends_within(Duration::ZERO));
    // Nobody is meant any more.
    stubborn.signal(Signal::TERM);
}

#[test]
fn nobody_outlives_their_handle() {
    let script = "trap 'echo put back; exit' TERM; echo up; while :; do sleep 0.01; done";
    for (dropped, puts_back) in [
        (Dropped::Killed, Some(false)),
        (Dropped::Asked(SOON), Some(true)),
        // Whether it gets to that within no time, nobody knows.
        (Dropped::Asked(Duration::ZERO), None),
    ] {
        let (mut child, events) = shell(script);
        child.dropped = dropped;
        assert_eq!(events.recv(), Ok(Event::Line("up".to_owned())));
        let pid = child.id();
        drop(child);
        assert!(is_gone(pid), "dead and reaped");
        let told = told(&events).len() == 2;
        assert!(puts_back.is_none_or(|puts_back| puts_back == told), "{dropped:?}");
    }
}

#[test]
fn the_last_line_that_says_something_can_be_quoted() {
    assert_eq!(tail_of("echo one >&2; echo two >&2; echo >&2; printf ' \\n' >&2"), "two");
    assert_eq!(tail_of("echo one >&2; printf 'half a line' >&2"), "half a line");
    assert_eq!(tail_of("exit 1"), "");
    assert_eq!(tail_of("exec 2>&-; exit 1"), "");
    // Of a panic its message, and not its backtrace.
    let panic = "printf '%s\n' \"thread 'main' (7) panicked at src/x.rs:1:2:\" 'no luck' \
                 'stack backtrace:' '   0: rust_begin_unwind' 'note: Some details' >&2";
    assert_eq!(tail_of(panic), "thread 'main' (7) panicked at src/x.rs:1:2: no luck");
    // Bytes that are no text are read over.
    assert_eq!(tail_of("printf '\\377\\376\\n' >&2; echo after it >&2"), "after it");
    assert_eq!(tail_of("printf 'not \\377 text' >&2"), "not \u{fffd} text");
    assert_eq!(tail_of("printf '\\033[2Jclear\\n' >&2"), "[2Jclear");
}

#[test]
fn more_than_a_pipe_holds_is_read_to_its_end() {
    let much = "i=0; while [ $i -lt 4000 ]; do echo a line of some forty letters in all >&2; \
                i=$((i+1)); done; echo the last >&2";
    assert_eq!(tail_of(much), "the last");
    assert_eq!(tail_of("printf '%0100000d' 7 >&2").len(), 16 * 1024);
    let (_child, events) = shell("printf '%03000000d\\n' 7");
    let lengths: Vec<usize> = told(&events).iter().map(String::len).collect();
    assert_eq!(lengths.iter().rev().skip(1).sum::<usize>(), 3_000_000);
    assert!(lengths.iter().all(|length| *length <= LINE_MAX + 64 * 1024), "{lengths:?}");
}

#[test]
fn whoever_holds_the_pipe_or_goes_on_writing_is_not_waited_for() {
    for stray in ["sleep 1000", "yes"] {
        let (mut child, _events) = shell(&format!("{stray} & echo $! >&2; exit 1"));
        let began = Instant::now();
        assert!(!child.reap().expect("our child").success());
        assert!(began.elapsed() < SOON, "{stray}");
        // It is there still.
        kill(child.stderr_tail().parse().expect("the id of who was left behind"), Signal::KILL);
    }
}

#[test]
fn the_end_is_waited_for_also_when_its_streams_are_closed() {
    let (child, events) = shell("exec >&- 2>&-; read nothing </dev/null; exec sleep 1000");
    // It has nothing more to say, and runs: whoever looked at its pipes alone would be done.
    until("a child that sleeps", || {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", child.id())).ok()?;
        (name.trim() == "sleep").then_some(())
    });
    assert_eq!(events.try_recv(), Err(mpsc::TryRecvError::Empty));
    child.signal(Signal::KILL);
    assert_eq!(told(&events), ["ended"]);
}
