//! System errors by number, as the kernel gives them.

use rustix::io::Errno;

use super::*;

/// A fetch that ended so.
pub(crate) fn fetch(outcome: Outcome, total_us: u64) -> Fetch {
    Fetch { total_us: Micros(total_us), outcome, ..Fetch::default() }
}

#[test]
fn errors_are_told_apart_by_whose_they_are_and_a_timeout_by_what_was_reached() {
    for (errno, reached, expected) in [
        (Errno::CONNREFUSED, 0, Outcome::Refused),
        (Errno::CONNRESET, 0, Outcome::Reset),
        (Errno::PIPE, 0, Outcome::Reset),
        (Errno::MFILE, 0, Outcome::LocalError),
        (Errno::NFILE, 0, Outcome::LocalError),
        (Errno::NOBUFS, 0, Outcome::LocalError),
        (Errno::NOMEM, 0, Outcome::LocalError),
        (Errno::ADDRNOTAVAIL, 0, Outcome::LocalError),
        (Errno::ACCESS, 0, Outcome::LocalError),
        (Errno::NETUNREACH, 0, Outcome::LocalError),
        (Errno::INVAL, 0, Outcome::LocalError),
        (Errno::TIMEDOUT, 0, Outcome::TimeoutConnect),
        (Errno::TIMEDOUT, 1, Outcome::TimeoutNoByte),
        (Errno::TIMEDOUT, 2, Outcome::TimeoutPartial),
    ] {
        let mut fetch = fetch(Outcome::Ok, 0);
        fetch.connect_us = (reached > 0).then_some(Micros(1));
        fetch.first_byte_us = (reached > 1).then_some(Micros(2));
        assert_eq!(outcome_of(io::Error::from(errno).kind(), &fetch), expected, "{errno}");
    }
}
