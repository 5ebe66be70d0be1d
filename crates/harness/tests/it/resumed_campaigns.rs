//! Campaigns that go on, or may not: with what, and beside whom; and their end when all is done.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use harness::campaign::{Campaign, Journal, Seed};
use records::SCHEMA_VERSION;
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::Signal;
use serde_json::Value;

use crate::campaigns::trials;
use crate::support::{Running, Runs, say, turnstile, until};

/// A signal ends one that has no trial left, and waits in `elsewhere` for somebody to read its table.
pub(crate) fn ends_by_a_signal_after_its_last_trial(dir: &Path, elsewhere: &Path) {
    let fifo = elsewhere.join("fifo");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).expect("a FIFO");
    let comparison = dir.join("comparison.json");
    fs::remove_file(&comparison).expect("removed");
    let mut command = turnstile();
    command.args(["compare", "--resume"]).arg(dir).arg("--markdown").arg(&fifo);
    let mut waiting = Running::start(&mut command);
    until("the comparison", || comparison.is_file().then_some(()));
    assert!(!waiting.has_ended(), "it waits for a reader");
    assert_eq!(waiting.end(Signal::INT).status.signal(), Some(Signal::INT.as_raw()));
}

#[test]
fn a_campaign_goes_on_only_as_it_was_begun() {
    let runs = Runs::new();
    let journal = Journal {
        schema_version: SCHEMA_VERSION,
        purpose: "compare".to_owned(),
        command: Vec::new(),
        rounds: 2,
        seed: Seed(1),
        arms: ["shared: ", "own: --reuseport"].map(|arm| arm.parse().expect("an arm")).into(),
        done: Vec::new(),
    };
    // Begun by this test: it is another program than the one that is to go on with it.
    let begun = Campaign::create(runs.path(), journal).expect("a campaign");
    let dir = begun.dir.clone();
    let resume =
        |more: &[&str]| say(turnstile().args(["compare", "--resume"]).arg(&dir).args(more));
    let held = resume(&[]).refused(1);
    let says = format!("another turnstile runs the campaign in {}", dir.display());
    assert!(held.contains(&says), "no {says:?} in {held}");
    drop(begun);
    let anew = format!("begin anew without --resume; turnstile report {}", dir.display());
    for more in [[].as_slice(), &["--dry-run"]] {
        let other = resume(more).refused(2);
        for part in ["turnstile's executable was ", " bytes of 2", &anew] {
            assert!(other.contains(part), "no {part:?} in {other}");
        }
    }

    // One of a turnstile that did not note it, and one that nobody can have begun.
    let path = dir.join("campaign.json");
    let text = fs::read_to_string(&path).expect("the journal");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    document.as_object_mut().and_then(|all| all.remove("conditions")).expect("its conditions");
    fs::write(&path, document.to_string()).expect("write");
    let older = resume(&[]).refused(2);
    assert!(older.contains("an older turnstile began it") && older.contains(&anew), "{older}");
    document["rounds"] = 4_000_000_000_u64.into();
    fs::write(&path, document.to_string()).expect("write");
    let report = say(turnstile().arg("report").arg(&dir).arg("--html")).refused(1);
    for said in [report, resume(&[]).refused(1)] {
        assert!(said.contains("it has 4000000000 rounds, where 1 to 1000 may be"), "{said}");
    }
    assert!(trials(&dir).is_empty(), "nothing was run");
}
