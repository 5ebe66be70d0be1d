use std::process::{Child, Command, Stdio};

use testkit::{Signal, kill};

use super::{LINE_MAX, LastWords};

fn shell(script: &str) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stderr(Stdio::piped());
    command.spawn().expect("a shell")
}

/// The last words of a shell that ran `script`.
fn of(script: &str) -> String {
    let mut child = shell(script);
    let words = LastWords::of(&mut child).expect("a pidfd").wait();
    child.wait().expect("our child");
    words
}

#[test]
fn the_last_line_that_says_something_is_kept() {
    assert_eq!(of("echo one >&2; echo two >&2; echo >&2; printf ' \\n' >&2"), "two");
    assert_eq!(of("echo one >&2; printf 'half a line' >&2"), "half a line");
    assert_eq!(of("exit 1"), "");
    assert_eq!(of("exec 2>&-; exit 1"), "");
}

#[test]
fn bytes_that_are_no_text_are_read_over() {
    assert_eq!(of("printf '\\377\\376\\n' >&2; echo after it >&2"), "after it");
    assert_eq!(of("printf 'not \\377 text' >&2"), "not \u{fffd} text");
    assert_eq!(of("printf '\\033[2Jclear\\n' >&2"), "[2Jclear");
}

#[test]
fn more_than_a_pipe_holds_is_read_to_its_end() {
    let much = "i=0; while [ $i -lt 4000 ]; do echo a line of some forty letters in all >&2; \
                i=$((i+1)); done; echo the last >&2";
    assert_eq!(of(much), "the last");
    let long = of("printf '%0100000d' 7 >&2");
    assert_eq!(long.len(), LINE_MAX);
}

#[test]
fn whoever_holds_the_pipe_is_not_waited_for() {
    let mut child = shell("sleep 1000 & echo $! >&2; exit 1");
    let stray = LastWords::of(&mut child).expect("a pidfd").wait();
    let stray: u32 = stray.parse().expect("the id of who was left behind");
    assert!(!testkit::is_gone(stray), "it holds the pipe still");
    kill(stray, Signal::KILL);
    assert!(!child.wait().expect("our child").success());
}

#[test]
fn the_end_is_waited_for_also_when_its_errors_are_closed() {
    let mut child = shell("exec 2>&-; read nothing </dev/null; exec sleep 1000");
    let words = LastWords::of(&mut child).expect("a pidfd");
    let waiting = std::thread::spawn(move || words.wait());
    // It has nothing more to say, and runs: whoever looked at its pipe alone would be done.
    testkit::until("a child that sleeps", || {
        let name = std::fs::read_to_string(format!("/proc/{}/comm", child.id())).ok()?;
        (name.trim() == "sleep").then_some(())
    });
    assert!(!waiting.is_finished());
    kill(child.id(), Signal::KILL);
    assert_eq!(waiting.join().expect("its end"), "");
    child.wait().expect("our child");
}
