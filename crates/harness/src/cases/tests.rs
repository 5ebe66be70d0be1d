use analysis::Analysis;
use analysis::guard::rounds::Ran;
use records::Outcome;
use testkit::fixture::Run;

use super::{find, names};
use crate::campaign::arm;

#[test]
fn every_case_reads_and_its_arms_are_arms() {
    for name in names() {
        let case = find(name).expect(name);
        assert!(!case.arms.is_empty() && !case.figures.is_empty(), "{name}");
        for arm in &case.arms {
            assert!(arm.args.is_some() || arm.netns.is_some(), "{name}, {}: no options", arm.name);
            let inside = arm.netns.as_ref().map(|line| format!("{line} --netns"));
            for line in arm.args.iter().chain(&inside) {
                let arm = arm::parse(&format!("{}: {line}", arm.name));
                arm.unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            let is_other = |name: &String| case.arms.iter().any(|other| other.name == *name);
            assert!(arm.against.iter().all(is_other), "{name}, {}: against nobody", arm.name);
            let shown = |figure| case.figures.contains(figure);
            assert!(arm.published.keys().all(shown), "{name}, {}: never shown", arm.name);
        }
    }
}

#[test]
fn a_build_stands_in_the_name_of_its_arm() {
    for name in names() {
        let case = find(name).expect("a case");
        for arm in &case.arms {
            for version in ["", " 1.17.4", " 1.17.4 (2)"] {
                let name = format!("{}{version}", arm.name);
                let of: Vec<_> = case.arms.iter().filter(|other| other.is_named(&name)).collect();
                assert_eq!(of, [arm], "{name}");
            }
        }
    }
}

#[test]
fn a_rate_is_told_beside_those_it_is_held_against() {
    let ran = |good: &[u64]| -> Vec<Ran> {
        let one = |(round, good): (u32, &u64)| {
            let run = Run::loaded(&[(*good, Outcome::Ok, 5_000)]);
            let summary = Analysis::of(&run.records).summary;
            Ran::of("x".into(), round, summary, run.records)
        };
        (0..).zip(good).map(one).collect()
    };
    let trials = [
        ("direct".to_owned(), ran(&[9_000, 8_000, 10_000])),
        ("nginx".to_owned(), ran(&[4_500])),
        ("nothing".to_owned(), Vec::new()),
    ];
    let told = |arm, against: &[&str]| {
        let against: Vec<String> = against.iter().map(ToString::to_string).collect();
        super::throughput(arm, &against, &trials)
    };
    for (arm, against, says) in [
        ("direct", &[][..], Some("1125 good fetches/s")),
        ("nginx", &["direct", "nobody"], Some("562 good fetches/s: 50 % less than direct")),
        ("direct", &["nginx"], Some("1125 good fetches/s: 100 % more than nginx")),
        ("nothing", &["direct"], None),
    ] {
        assert_eq!(told(arm, against).as_deref(), says);
    }
}
