//! What follows the end of a download.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use records::{DownloadEnd, MonoNs};

use super::{BACKOFF, Dialling, PORT_RETRIES, Slot, end_of};

const NOW: MonoNs = MonoNs(1_000_000_000);

/// The port of a dial that was started, as often as the slot asks for patience.
fn dialled(slot: &mut Slot, listener: &TcpListener) -> u16 {
    let addr = listener.local_addr().expect("bound");
    for _ in 0..=PORT_RETRIES.0 {
        match slot.dial(addr, None, NOW) {
            Dialling::Started(_) => return slot.dialed(NOW).expect("a port").client_port,
            Dialling::Later => std::thread::sleep(PORT_RETRIES.1),
            Dialling::Failed(download, error) => panic!("{download:?}: {error}"),
        }
    }
    panic!("it should have taken another port");
}

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("a free port")
}

#[test]
fn refusals_make_it_wait_longer_and_longer() {
    let mut slot = Slot::new(3);
    let mut waits = Vec::new();
    for ordinal in 0..8 {
        let download = slot.undialled(DownloadEnd::Refused, NOW);
        assert_eq!((download.slot, download.ordinal), (3, ordinal));
        assert_eq!(download.end, DownloadEnd::Refused);
        waits.push(slot.dial_ns.since(NOW));
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
    let (mut slot, target, other) = (Slot::new(0), listener(), listener());
    // A port on which somebody listens can be bound by nobody else.
    let taken = other.local_addr().expect("bound");
    slot.from = Some(taken);
    assert_ne!(dialled(&mut slot, &target), taken.port());
}
