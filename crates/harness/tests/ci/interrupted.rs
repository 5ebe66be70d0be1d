//! SIGTERM in the second round: what was done is told, and the check dies by the signal.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{GATE, Place, Proxy, SHORT, exec, in_turn};

#[test]
fn what_was_done_is_told() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    // Without `timeout` between: the signal must reach the check itself.
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("turnstile"));
    command.current_dir(place.path()).arg("check").args(GATE);
    command.args(["--rounds", "5", "--json", "--"]).args(SHORT).args(["--proxy", &exec()]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary under test");
    let stderr = BufReader::new(child.stderr.take().expect("its stderr"));
    let mut lines = stderr.lines().map(|line| line.expect("UTF-8"));
    assert!(lines.any(|line| line.starts_with("trial 2/5")), "it ended before the second trial");
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::TERM).expect("kill");
    for line in lines {
        println!("{line}");
    }
    let mut stdout = String::new();
    child.stdout.take().expect("its stdout").read_to_string(&mut stdout).expect("UTF-8");
    let status = child.wait().expect("wait");
    assert_eq!(status.signal(), Some(Signal::TERM.as_raw()), "{status}");
    let check: Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(check["interrupted"], "SIGTERM");
    assert_eq!(check["outcome"], "inconclusive");
    assert_eq!(check["trials"].as_array().map(Vec::len), Some(1), "{stdout}");
    assert_eq!(crate::schema::faults(&check), Vec::<String>::new());
}
