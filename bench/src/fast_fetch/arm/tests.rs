use std::collections::BTreeSet;

use super::*;

fn names() -> Vec<String> {
    all().iter().map(|arm| format!("{}/{}", arm.name(), arm.listener_name())).collect()
}

#[test]
fn every_setting_comes_with_both_listeners() {
    assert_eq!(
        names(),
        [
            "idle/shared",
            "idle/reuseport",
            "drain/shared",
            "drain/reuseport",
            "drain+rcvbuf/shared",
            "drain+rcvbuf/reuseport",
            "fionread/shared",
            "fionread/reuseport",
            "bytes:64KiB/shared",
            "bytes:64KiB/reuseport",
        ]
    );
}

#[test]
fn arms_that_differ_in_name_differ_in_what_is_started() {
    let started: BTreeSet<String> =
        all().iter().map(|arm| format!("{:?} {:?}", arm.load(), arm.toggles())).collect();
    assert_eq!(started.len(), all().len());
}

#[test]
fn the_proxy_accepts_every_setting() {
    for arm in all() {
        assert!(arm.toggles().check().is_ok(), "{arm:?}");
        assert_eq!(arm.toggles().workers, WORKERS);
    }
}

#[test]
fn only_the_idle_arm_has_no_downloads() {
    for arm in all() {
        assert_eq!(arm.load() == Load::Idle, arm.name() == "idle", "{arm:?}");
    }
}
