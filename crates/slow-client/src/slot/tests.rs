//! What follows the end of a download.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use records::{DownloadEnd, MonoNs};

use super::{BACKOFF, PORT_RETRIES, Slot, end_of};
use crate::run::tests::shared;

const NOW: MonoNs = MonoNs(1_000_000_000);

#[test]
fn refusals_make_it_wait_longer_and_longer() {
    let mut slot = Slot::new(3);
    let mut waits = Vec::new();
    for ordinal in 0..8 {
        let download = slot.download(DownloadEnd::Refused, NOW);
        assert_eq!((download.slot, download.ordinal), (3, ordinal));
        assert_eq!(download.end, DownloadEnd::Refused);
        slot.tell(DownloadEnd::Refused, NOW).expect("somebody reads");
        waits.push(slot.due.since(NOW));
    }
    assert_eq!(waits[0], BACKOFF.0);
    assert!(waits.windows(2).all(|pair| pair[1] == (pair[0] * 2).min(BACKOFF.1)), "{waits:?}");
    assert_eq!(waits[7], Duration::from_secs(1));
}

#[test]
fn a_shortage_of_this_host_is_told_from_a_refusal() {
    use rustix::io::Errno;
    for (errno, end) in [
        (Errno::MFILE, DownloadEnd::LocalError),
        (Errno::ADDRNOTAVAIL, DownloadEnd::LocalError),
        (Errno::CONNREFUSED, DownloadEnd::Refused),
    ] {
        assert_eq!(end_of(&io::Error::from(errno)), end, "{errno}");
    }
}

#[test]
fn a_taken_port_is_given_up() {
    let listener = || TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (target, other) = (listener(), listener());
    let shared = shared(&target.local_addr().expect("bound").to_string());
    // A port on which somebody listens can be bound by nobody else.
    let taken = other.local_addr().expect("bound");
    let mut slot = Slot::new(0);
    slot.from = Some(taken);
    for _ in 0..PORT_RETRIES.0 {
        slot.dial(&shared, NOW).expect("a poll");
        assert!(slot.at_work().is_none(), "it asks for patience");
    }
    slot.dial(&shared, NOW).expect("a poll");
    let local = slot.at_work().expect("from another one").local.expect("an address");
    assert_ne!(local.port(), taken.port());
}
