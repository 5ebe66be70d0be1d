use std::collections::BTreeSet;

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
use records::{ArmSpec, Verdict};
use tempfile::TempDir;

use super::arm::parse;
use super::{Campaign, Journal, Slot};

fn journal(arms: usize, rounds: u32, seed: u64) -> Journal {
    let arm = |number| parse(&format!("b/{number}: --slow 0")).expect("an arm");
    Journal::new("case herd", rounds, seed, (0..arms).map(arm).collect())
}

#[test]
fn an_arm_is_a_name_and_options_that_name_themselves() {
    for (text, name, args) in [
        ("rcvbuf: --reuseport --rcvbuf 40960", "rcvbuf", &["--reuseport", "--rcvbuf", "40960"][..]),
        ("--read-policy time:2ms", "--read-policy time:2ms", &["--read-policy", "time:2ms"]),
        ("", "default", &[]),
        ("own: --proxy 'exec:./p {listen}'", "own", &["--proxy", "exec:./p {listen}"]),
    ] {
        let arm = parse(text).expect(text);
        let words: Vec<&str> = arm.args.iter().map(String::as_str).collect();
        assert_eq!((arm.name.as_str(), words.as_slice()), (name, args), "{text}");
        let json = serde_json::to_string(&arm).expect("JSON");
        assert_eq!(serde_json::from_str::<ArmSpec>(&json).expect("the same"), arm);
    }
    let arm = parse("rcvbuf: --reuseport").expect("an arm");
    assert_eq!(parse(&arm.to_string()), Ok(arm));
}

#[test]
fn what_is_wrong_with_an_arm_is_said_without_the_whole_usage() {
    for (text, says) in [
        ("a: --rcvbuff 40960", "arm a: unexpected argument '--rcvbuff'"),
        ("a: --label x", "arm a: unexpected argument '--label'"),
        ("a: --quiet", "all others before them"),
        ("a: 'open", "the quotes in \" 'open\" do not close"),
        (" : --reuseport", "is no name of an arm"),
    ] {
        let said = parse(text).expect_err(text);
        assert!(said.contains(says) && !said.contains("Usage"), "{text}: {said}");
    }
}

#[test]
fn what_is_done_is_not_to_do_again() {
    let place = TempDir::new().expect("a directory");
    let mut campaign = Campaign::create(place.path(), journal(2, 3, 5)).expect("a campaign");
    let name = campaign.dir.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(name.ends_with("-case-herd"), "{name}");
    let all = campaign.journal.to_do();
    assert_eq!(all.len(), 6);
    campaign.note(all[0], &campaign.dir.join("trials/x/y"), Verdict::Starved).expect("noted");

    let again = Campaign::open(&campaign.dir).expect("a campaign");
    assert_eq!(again.journal, campaign.journal);
    assert_eq!(again.journal.done[0].dir.to_str(), Some("trials/x/y"));
    assert_eq!(again.journal.to_do(), all[1..]);

    // An attempt that was cut short keeps its place.
    for name in ["trials/02-2-b-1", "trials/02-2-b-1-2"] {
        let place = again.place_for(Slot { round: 1, arm: 1 }).expect("a place");
        assert!(place.ends_with(name), "{}", place.display());
    }
}

#[test]
fn a_directory_without_a_journal_of_ours_is_named() {
    let place = TempDir::new().expect("a directory");
    let file = place.path().join("campaign.json");
    let older = Journal { schema_version: 0, ..journal(1, 1, 1) };
    let older = serde_json::to_string(&older).expect("JSON");
    for (text, says) in [
        (None, "is not the directory of a campaign"),
        (Some("{}"), "campaign.json is not ours, or torn"),
        (Some(&older), "has schema 0; this turnstile reads"),
    ] {
        text.into_iter().for_each(|text| std::fs::write(&file, text).expect("written"));
        let error = Campaign::open(place.path()).expect_err("none of ours").to_string();
        assert!(error.contains(says), "{error}");
    }
}

proptest! {
    #[test]
    fn every_round_has_every_arm_once(arms in 1_usize..6, rounds in 0_u32..20, seed: u64) {
        let order = journal(arms, rounds, seed).order();
        prop_assert_eq!(&order, &journal(arms, rounds, seed).order(), "the same again");
        prop_assert_eq!(order.len(), arms * rounds as usize);
        for (round, block) in (0..).zip(order.chunks(arms)) {
            prop_assert!(block.iter().all(|slot| slot.round == round));
            let all: BTreeSet<usize> = block.iter().map(|slot| slot.arm).collect();
            prop_assert_eq!(all.len(), arms);
        }
    }
}

#[test]
fn no_arm_always_comes_first() {
    let order = journal(2, 40, 1).order();
    let firsts: BTreeSet<usize> = order.chunks(2).map(|block| block[0].arm).collect();
    assert_eq!(firsts.len(), 2);
}
