//! System errors by number, as the kernel gives them.

use rustix::io::Errno;

use super::*;

fn outcome(errno: Errno, reached: Reached) -> Outcome {
    Failure::Socket(io::Error::from(errno)).outcome(reached)
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
        assert_eq!(outcome(errno, Reached::Connecting), expected, "{errno}");
    }
}

#[test]
fn a_timeout_is_named_after_what_was_reached() {
    for (reached, expected) in [
        (Reached::Connecting, Outcome::TimeoutConnect),
        (Reached::Waiting, Outcome::TimeoutNoByte),
        (Reached::Answer, Outcome::TimeoutPartial),
    ] {
        assert_eq!(reached.timeout(), expected);
        assert_eq!(outcome(Errno::TIMEDOUT, reached), expected);
    }
}

#[test]
fn a_kind_is_found_behind_wrappers() {
    let wrapped = Wrapped(io::Error::from(Errno::CONNRESET));
    assert_eq!(of_chain(&wrapped, Reached::Answer), Outcome::Reset);
}

#[derive(Debug, thiserror::Error)]
#[error("wrapped")]
struct Wrapped(#[source] io::Error);
