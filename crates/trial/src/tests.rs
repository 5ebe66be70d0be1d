use records::Arrivals;

use super::*;

fn arm(slow: u32, arrivals: Arrivals) -> Arm {
    let mut arm = Arm::default();
    (arm.load.slow, arm.fetch.arrivals) = (slow, arrivals);
    arm
}

#[test]
fn every_session_needs_two_descriptors() {
    let none = needed_files(&arm(0, Arrivals::Closed));
    assert_eq!(needed_files(&arm(1_000, Arrivals::Closed)), none + 2_000);
    // At 50/s with a cap of 1 s, 50 fetches can be open; a closed loop has one.
    assert_eq!(needed_files(&arm(0, Arrivals::PerSecond(50.0))), none + 2 * 49);
    assert_eq!(needed_files(&arm(0, Arrivals::PerSecond(0.1))), none);
}

#[test]
fn only_what_fits_is_started() {
    check_files(&arm(4, Arrivals::default())).expect("the usual trial");
    let error = check_files(&arm(u32::MAX, Arrivals::Closed));
    // Where nothing is limited, nothing is refused.
    if rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum.is_some() {
        let text = error.expect_err("billions of descriptors").to_string();
        assert!(text.contains("lower --slow"), "{text}");
    }
}
