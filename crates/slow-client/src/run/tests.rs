//! Who is paced, and what is asked for.

use clap::{Args, Command, FromArgMatches};
use net::role::RoleError;
use records::{Bytes, BytesPerSec};

use super::{REMOTE_RATE, mark, rate, read_back};
use crate::SlowOptions;
use crate::conn::Shared;

fn options(line: &str) -> SlowOptions {
    let command = SlowOptions::augment_args(Command::new("slow").no_binary_name(true));
    let matches = command.try_get_matches_from(line.split(' ')).expect("valid options");
    SlowOptions::from_arg_matches(&matches).expect("valid options")
}

#[test]
fn this_host_is_paced_when_asked_and_another_needs_consent_and_always_is() {
    // 192.0.2.0/24 is for documentation (RFC 5737); nothing is sent there.
    for (line, paced) in [
        ("127.0.0.1:1", None),
        ("[::1]:1 --read-rate 1GB", Some(BytesPerSec(1_000_000_000))),
        ("192.0.2.1:1 --allow-remote", Some(REMOTE_RATE)),
        ("192.0.2.1:1 --allow-remote --read-rate 1GB", Some(REMOTE_RATE)),
        ("192.0.2.1:1 --allow-remote --read-rate 1000", Some(BytesPerSec(1000))),
    ] {
        assert_eq!(rate(&options(line)).expect("consent"), paced, "{line}");
    }
    assert!(matches!(rate(&options("192.0.2.1:1")), Err(RoleError::Usage(_))));
}

/// What connections by these options share.
pub(crate) fn shared(line: &str) -> Shared {
    let registry = mio::Poll::new().and_then(|poll| poll.registry().try_clone());
    super::shared(&options(line), None, registry.expect("a poll")).expect("no body")
}

#[test]
fn the_mark_is_lower_for_many_and_is_read_back() {
    assert_eq!([0, 4, 16].map(mark), [Bytes::mib(4); 3]);
    assert_eq!(mark(64), Bytes::mib(1));
    assert_eq!(mark(100_000), Bytes::kib(64));
    let settings = read_back(&options("127.0.0.1:1 --slow 1000"));
    let names: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
    assert_eq!(names, ["download SO_RCVBUF", "download SO_SNDBUF", "download SO_RCVLOWAT"]);
    assert_eq!(settings[2].requested, Some(settings[2].effective));
}
