use records::{ArmSpec, Verdict};
use tempfile::TempDir;

use super::{Campaign, CampaignError, Done, Journal};
use crate::campaign::arm::parse;
use crate::campaign::plan::{Seed, Slot};

fn journal() -> Journal {
    Journal {
        schema_version: records::SCHEMA_VERSION,
        purpose: "case herd".to_owned(),
        command: vec!["turnstile".to_owned()],
        rounds: 3,
        seed: Seed(5),
        arms: vec![parse("a: --reuseport").unwrap(), parse("b/c: --slow 0").unwrap()],
        done: Vec::new(),
    }
}

#[test]
fn what_is_done_is_not_to_do_again() {
    let place = TempDir::new().unwrap();
    let mut campaign = Campaign::create(place.path(), journal()).unwrap();
    let name = campaign.dir.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.ends_with("-case-herd"), "{name}");
    let all = campaign.to_do();
    assert_eq!(all.len(), 6);
    campaign.note(all[0], &campaign.dir.join("trials/x/y"), Verdict::Starved).unwrap();

    let again = Campaign::open(&campaign.dir).unwrap();
    assert_eq!(again.journal, campaign.journal);
    assert_eq!(again.journal.done[0].dir.to_str(), Some("trials/x/y"));
    assert_eq!(again.to_do(), all[1..]);
}

#[test]
fn an_attempt_that_was_cut_short_keeps_its_place() {
    let runs = TempDir::new().unwrap();
    let campaign = Campaign::create(runs.path(), journal()).unwrap();
    let slot = Slot { round: 1, arm: 1 };
    let first = campaign.place_for(slot).unwrap();
    let second = campaign.place_for(slot).unwrap();
    assert!(first.ends_with("trials/02-2-b-c"), "{}", first.display());
    assert!(second.ends_with("trials/02-2-b-c-2"), "{}", second.display());
}

#[test]
fn a_directory_without_a_journal_is_named() {
    let place = TempDir::new().unwrap();
    assert!(matches!(Campaign::open(place.path()), Err(CampaignError::None { .. })));
    std::fs::write(place.path().join("campaign.json"), "{}").unwrap();
    assert!(matches!(Campaign::open(place.path()), Err(CampaignError::Foreign { .. })));
    let mut older = journal();
    older.schema_version = 0;
    let campaign = Campaign::create(place.path(), older).unwrap();
    let error = Campaign::open(&campaign.dir).unwrap_err();
    assert!(matches!(error, CampaignError::Schema { found: 0, .. }), "{error}");
}

#[test]
fn a_journal_that_nobody_can_have_written_is_refused() {
    let runs = TempDir::new().unwrap();
    let done = |round, arm| {
        let (slot, dir) = (Slot { round, arm }, "trials/x".into());
        Done { slot, dir, verdict: Verdict::Inconclusive }
    };
    for (rounds, done, says) in [
        (0, vec![], "has 0 rounds, where 1 to 1000 may be"),
        (1001, vec![], "has 1001 rounds"),
        (u32::MAX, vec![done(0, 0)], "where 1 to 1001 may be"),
        (3, vec![done(3, 0)], "a trial of arm 0 in round 3"),
        (3, vec![done(0, 0), done(u32::MAX, 1)], "in round 4294967295"),
        (3, vec![done(0, 2)], "a trial of arm 2 in round 0"),
    ] {
        let campaign =
            Campaign::create(runs.path(), Journal { rounds, done, ..journal() }).unwrap();
        let error = Campaign::open(&campaign.dir).unwrap_err();
        assert!(matches!(error, CampaignError::Faulty { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(says) && error.contains("campaign.json"), "{error}");
    }
    // A check goes on until enough rounds are conclusive.
    let more = Journal { rounds: 1001, done: vec![done(1000, 0)], ..journal() };
    let campaign = Campaign::create(runs.path(), more).unwrap();
    assert_eq!(Campaign::open(&campaign.dir).unwrap().journal, campaign.journal);
}

#[test]
fn an_arm_comes_back_as_it_was() {
    let arm = parse("own: --proxy 'exec:./p {listen}'").unwrap();
    let text = serde_json::to_string(&arm).unwrap();
    assert_eq!(serde_json::from_str::<ArmSpec>(&text).unwrap(), arm);
}
