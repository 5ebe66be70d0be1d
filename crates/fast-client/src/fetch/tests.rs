//! System errors by number, as the kernel gives them.

use rustix::io::Errno;

use super::*;

fn outcome(errno: Errno, seen: &Seen) -> Outcome {
    seen.outcome_of(io::Error::from(errno).kind())
}

#[test]
fn errors_of_the_peer_and_of_this_host_are_told_apart() {
    for (errno, expected) in [
        (Errno::CONNREFUSED, Outcome::Refused),
        (Errno::CONNRESET, Outcome::Reset),
        (Errno::PIPE, Outcome::Reset),
        (Errno::MFILE, Outcome::LocalError),
        (Errno::NFILE, Outcome::LocalError),
        (Errno::NOBUFS, Outcome::LocalError),
        (Errno::NOMEM, Outcome::LocalError),
        (Errno::ADDRNOTAVAIL, Outcome::LocalError),
        (Errno::ACCESS, Outcome::LocalError),
        (Errno::NETUNREACH, Outcome::LocalError),
        (Errno::INVAL, Outcome::LocalError),
    ] {
        assert_eq!(outcome(errno, &Seen::new(MonoNs(0))), expected, "{errno}");
    }
}

#[test]
fn a_timeout_is_named_after_what_was_reached() {
    let mut seen = Seen::new(MonoNs(0));
    assert_eq!(outcome(Errno::TIMEDOUT, &seen), Outcome::TimeoutConnect);
    seen.connect = Some(Micros(1));
    assert_eq!(outcome(Errno::TIMEDOUT, &seen), Outcome::TimeoutNoByte);
    seen.first_byte = Some(Micros(2));
    assert_eq!(outcome(Errno::TIMEDOUT, &seen), Outcome::TimeoutPartial);
}
