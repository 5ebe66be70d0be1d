use super::{CaseError, find, names};
use crate::campaign::ArmSpec;

#[test]
fn every_case_reads_and_its_arms_are_arms() {
    for name in names() {
        let case = find(name).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert!(!case.arms.is_empty() && !case.figures.is_empty(), "{name}");
        for arm in &case.arms {
            assert!(arm.args.is_some() || arm.netns.is_some(), "{name}, {}: no options", arm.name);
            let inside = arm.netns.as_ref().map(|line| format!("{line} --netns"));
            for line in arm.args.iter().chain(&inside) {
                let line = line.replace("{tmp}", "/tmp");
                ArmSpec::new(&arm.name, &line).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            let shown = |figure| case.figures.contains(figure);
            assert!(arm.published.keys().all(shown), "{name}, {}: never shown", arm.name);
        }
    }
}

#[test]
fn an_unknown_case_is_named() {
    assert!(matches!(find("nginx"), Err(CaseError::Unknown(name)) if name == "nginx"));
}
