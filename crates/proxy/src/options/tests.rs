//! What is handed to a child reads back as itself.

use clap::{Args, Command, FromArgMatches};
use proptest::prelude::*;
use records::{Bytes, LogMode, Micros, ReadPolicy};

use super::ProxyToggles;

fn parse(args: &[String]) -> Result<ProxyToggles, clap::Error> {
    let command = ProxyToggles::augment_args(Command::new("proxy").no_binary_name(true));
    ProxyToggles::from_arg_matches(&command.try_get_matches_from(args)?)
}

#[test]
fn the_default_is_what_no_argument_gives() {
    assert_eq!(parse(&[]).expect("no argument is needed"), ProxyToggles::default());
}

#[test]
fn wrong_values_are_refused_with_what_is_right() {
    for (flag, value, says) in [
        ("--rcvbuf", "lots", "is not a size"),
        ("--read-policy", "drains", "is not a read policy"),
        ("--buffer", "0", "1 byte to 64 MiB"),
        ("--workers", "0", "1..=256"),
        ("--header-timeout", "0s", "longer than nothing"),
        ("--log-mode", "buffered", "writer or inline"),
    ] {
        let error = parse(&[flag.to_owned(), value.to_owned()]).expect_err(flag).to_string();
        assert!(error.contains(says), "{error}");
    }
}

proptest! {
    #[test]
    fn toggles_read_back_as_themselves(
        workers in 1u32..=256,
        reuseport: bool,
        multi_accept: bool,
        rcvbuf in prop::option::of(1u64..1 << 40),
        sndbuf in prop::option::of(1u64..1 << 40),
        buffer in 1u64..=64 << 20,
        quota in 1u64..1 << 40,
        header_us in 1u64..1 << 40,
        inline: bool,
    ) {
        let toggles = ProxyToggles {
            workers,
            reuseport,
            multi_accept,
            rcvbuf: rcvbuf.map(Bytes),
            sndbuf: sndbuf.map(Bytes),
            listen_rcvbuf: sndbuf.map(Bytes),
            listen_sndbuf: rcvbuf.map(Bytes),
            buffer: Bytes(buffer),
            read_policy: ReadPolicy::Bytes(Bytes(quota)),
            header_timeout: Micros(header_us),
            log_mode: if inline { LogMode::Inline } else { LogMode::Writer },
            ..ProxyToggles::default()
        };
        prop_assert_eq!(parse(&toggles.to_args()).expect("our own arguments"), toggles);
    }
}
