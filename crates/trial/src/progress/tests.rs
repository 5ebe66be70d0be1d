use records::{Bytes, Micros, MonoNs};

use super::*;

fn fetch(outcome: Outcome) -> Fetch {
    Fetch {
        fetch: 0,
        phase: Phase::Measure,
        intended_ns: MonoNs(0),
        start_ns: MonoNs(0),
        client_port: None,
        connect_us: None,
        first_byte_us: None,
        total_us: Micros(0),
        response_us: Micros(0),
        bytes: Bytes(0),
        status: None,
        outcome,
    }
}

#[test]
fn the_line_counts_what_ended_in_this_phase() {
    let mut progress = Progress::new(Show::Nothing);
    progress.fetch(&fetch(Outcome::Ok));
    progress.phase(Phase::Measure, Some(Duration::from_secs(8)));
    let start = progress.until.expect("it has a length") - Duration::from_secs(8);
    assert_eq!(progress.line(start), "measure  fetches beside downloads, 8 s left");
    progress.fetch(&fetch(Outcome::Ok));
    progress.fetch(&fetch(Outcome::TimeoutNoByte));
    progress.fetch(&fetch(Outcome::Reset));
    assert_eq!(
        progress.line(start + Duration::from_secs(5)),
        "measure  fetches beside downloads, 3 s left | fetches: 1 good, 2 failed"
    );
}

#[test]
fn a_line_is_overwritten_and_never_wrapped() {
    assert_eq!(instead_of_the_last("idle, 3 s left", 80), "\ridle, 3 s left\x1b[K");
    assert_eq!(instead_of_the_last("idle, 3 s left", 5), "\ridle\x1b[K");
    assert_eq!(instead_of_the_last(&"x".repeat(200), 0), format!("\r{}\x1b[K", "x".repeat(79)));
    assert_eq!(instead_of_the_last("", 80), "\r\x1b[K");
}
