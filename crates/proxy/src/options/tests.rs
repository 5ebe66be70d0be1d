//! What is handed to a child reads back as itself.

use clap::{Args, Command, FromArgMatches};
use proptest::prelude::*;
use records::{AcceptMode, BufferingMode, Bytes, LogMode, Micros, Rcvbuf, ReadPolicy, Spool};

use super::{ProxyToggles, ToggleError};

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
        ("--accept", "herds", "herd, exclusive or mutex"),
        ("--buffering", "yes", "on, off or default"),
        ("--spool-max", "lots", "is not a size"),
        ("--gzip", "0", "1..=9"),
        ("--gzip", "10", "1..=9"),
    ] {
        let error = parse(&[flag.to_owned(), value.to_owned()]).expect_err(flag).to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn a_way_to_share_needs_something_to_share() {
    for (reuseport, accept, fits) in [
        (false, AcceptMode::Herd, true),
        (false, AcceptMode::Mutex, true),
        (true, AcceptMode::Exclusive, true),
        (true, AcceptMode::Herd, false),
        (true, AcceptMode::Mutex, false),
    ] {
        let toggles = ProxyToggles { reuseport, accept, ..ProxyToggles::default() };
        let expected = if fits { Ok(()) } else { Err(ToggleError::NothingShared(accept)) };
        assert_eq!(toggles.check(), expected);
    }
}

#[test]
fn only_who_buffers_spools() {
    let dir = Spool::Dir("/spool".into());
    for buffering in BufferingMode::ALL {
        for (spool, spool_max, spools) in [
            (Spool::Default, None, false),
            (Spool::Off, None, false),
            (dir.clone(), None, true),
            (Spool::Default, Some(Bytes(1)), true),
        ] {
            let toggles = ProxyToggles { buffering, spool, spool_max, ..ProxyToggles::default() };
            let refused = spools && buffering != BufferingMode::On;
            let expected = if refused { Err(ToggleError::NothingSpooled) } else { Ok(()) };
            assert_eq!(toggles.check(), expected, "{toggles:?}");
        }
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
        accept in prop::sample::select(&AcceptMode::ALL),
        buffering in prop::sample::select(&BufferingMode::ALL),
        spool in prop_oneof![
            Just(Spool::Default),
            Just(Spool::Off),
            "/[a-z]{1,20}".prop_map(|dir| Spool::Dir(dir.into())),
        ],
        gzip in prop::option::of(1..=9u32),
    ) {
        let toggles = ProxyToggles {
            workers,
            reuseport,
            multi_accept,
            rcvbuf: rcvbuf.map_or(Rcvbuf::Auto, |size| Rcvbuf::Size(Bytes(size))),
            sndbuf: sndbuf.map(Bytes),
            listen_rcvbuf: sndbuf.map(Bytes),
            listen_sndbuf: rcvbuf.map(Bytes),
            buffer: Bytes(buffer),
            read_policy: ReadPolicy::Bytes(Bytes(quota)),
            header_timeout: Micros(header_us),
            log_mode: if inline { LogMode::Inline } else { LogMode::Writer },
            accept,
            buffering,
            spool,
            spool_max: rcvbuf.map(Bytes),
            gzip,
            ..ProxyToggles::default()
        };
        prop_assert_eq!(parse(&toggles.to_args()).expect("our own arguments"), toggles);
    }
}
