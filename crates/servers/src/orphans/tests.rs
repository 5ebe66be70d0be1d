use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::*;

/// A shell, and two below it: one in a session of its own, one below another shell.
fn family() -> (Child, Pid) {
    let script = "setsid sleep 600 & sh -c 'sleep 600; :' & echo; wait";
    let mut child = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let out = child.stdout.take().expect("its output");
    BufReader::new(out).read_line(&mut String::new()).expect("it has started both");
    let pid = Pid::from_child(&child);
    (child, pid)
}

#[test]
fn whatever_session_they_are_in_they_are_found_and_end() {
    let (mut child, root) = family();
    let deadline = Instant::now() + Duration::from_secs(20);
    // The sleep of the inner shell may be on its way.
    while living(root).len() < 3 {
        assert!(Instant::now() < deadline, "{:?}", living(root));
    }
    let found = living(root);
    assert!(!found.contains(&root.as_raw_pid()), "{found:?}");
    for pid in &found {
        assert!(descends(*pid, root) && descends(*pid, getpid()), "{pid:?}");
        assert!(!descends(root.as_raw_pid(), Pid::from_raw(*pid).expect("a number")));
    }
    end_all(root, deadline).expect("they can be killed");
    assert!(living(root).is_empty(), "{:?}", living(root));
    assert!(child.wait().expect("our child").success(), "nobody is left to be waited for");
}

#[test]
fn who_has_the_first_process_for_a_parent_descends_from_none_of_ours() {
    assert!(!descends(1, getpid()));
    assert!(descends(getpid().as_raw_pid(), getpid()));
}
