//! What is written as arguments reads back as the same options.

use std::net::SocketAddr;

use clap::Parser;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    options: FastOptions,
}

fn parse(args: &[String]) -> Result<FastOptions, clap::Error> {
    Cli::try_parse_from(std::iter::once("fast").chain(args.iter().map(String::as_str)))
        .map(|cli| cli.options)
}

#[test]
fn the_default_is_what_a_bare_command_line_says() {
    let parsed = parse(&["127.0.0.1:8000".to_owned()]).expect("only the target is required");
    assert_eq!(parsed.toggles, FetchToggles::default());
    assert_eq!((parsed.duration, parsed.phase), (Micros(8_000_000), Phase::Measure));
    assert_eq!(parsed.burst, 1);
}

#[test]
fn wrong_values_are_refused() {
    for (name, value) in [
        ("arrivals", "10"),
        ("arrivals", "0/s"),
        ("fetch-size", "small"),
        ("cap", "999us"),
        ("cap", "61s"),
        ("duration", "0s"),
        ("burst", "0"),
        ("burst", "10001"),
        ("phase", "load"),
    ] {
        let args = ["127.0.0.1:8000".to_owned(), format!("--{name}"), value.to_owned()];
        let error = parse(&args).expect_err(value).to_string();
        assert!(error.contains(name) && error.contains(value), "{error}");
    }
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        Just(Arrivals::Closed),
        (0.01..=Arrivals::MAX_PER_SECOND).prop_map(Arrivals::PerSecond)
    ]
}

proptest! {
    #[test]
    fn options_read_back_as_themselves(
        arrivals in arrivals(),
        size in 0..1u64 << 40,
        cap in 1_000..=60_000_000u64,
        duration in 1..u64::MAX >> 20,
        burst in 1..=10_000u32,
        idle: bool,
        allow_remote: bool,
    ) {
        let target = SocketAddr::from(([192, 0, 2, 1], 80));
        let options = FastOptions {
            target: TargetOptions { target, allow_remote, own_network: false },
            toggles: FetchToggles {
                arrivals,
                fetch_size: Bytes(size),
                cap: Micros(cap),
                fetch_coding: if idle { Coding::Gzip } else { Coding::Identity },
            },
            burst,
            duration: Micros(duration),
            phase: if idle { Phase::Idle } else { Phase::Measure },
            role: RoleOptions::default(),
        };
        let parsed = parse(&options.to_args()).expect("its own arguments");
        prop_assert_eq!(parsed.toggles, options.toggles);
        prop_assert_eq!((parsed.duration, parsed.phase), (options.duration, options.phase));
        prop_assert_eq!(parsed.burst, options.burst);
        prop_assert_eq!(parsed.target.target, target);
        prop_assert_eq!(parsed.target.allow_remote, allow_remote);
    }
}
