//! SIGTERM in the second round: what was done is told, and the check dies by the signal.

use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use serde_json::Value;
use testkit::{Running, Signal};

use crate::ci::support::{GATE, Place, Proxy, SHORT, exec, in_turn};

#[test]
fn what_was_done_is_told() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    // Without `timeout` between: the signal must reach the check itself.
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("turnstile"));
    command.current_dir(place.path()).arg("check").args(GATE);
    command.args(["--rounds", "5", "--json", "--"]).args(SHORT).args(["--proxy", &exec()]);
    let mut check = Running::start(&mut command);
    let mut lines = std::iter::from_fn(|| check.complaint());
    assert!(lines.any(|line| line.starts_with("trial 2/5")), "it ended before the second trial");
    let said = check.stop();
    assert_eq!(said.status.signal(), Some(Signal::TERM.as_raw()), "{}", said.all());
    let check: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(check["interrupted"], "SIGTERM");
    assert_eq!(check["outcome"], "inconclusive");
    assert_eq!(check["trials"].as_array().map(Vec::len), Some(1), "{}", said.stdout);
    assert_eq!(crate::ci::schema::faults(&check), Vec::<String>::new());
}
