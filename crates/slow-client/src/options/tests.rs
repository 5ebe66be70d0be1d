//! What is handed to a child reads back as itself.

use clap::{Args, Command, FromArgMatches};
use net::role::RoleOptions;
use net::target::TargetOptions;
use proptest::prelude::*;
use records::{Bytes, BytesPerSec, Coding, Micros, Sink};

use super::{SlowOptions, SlowToggles};

fn parse<T: Args + FromArgMatches>(args: &[String]) -> Result<T, clap::Error> {
    let command = T::augment_args(Command::new("slow").no_binary_name(true));
    T::from_arg_matches(&command.try_get_matches_from(args)?)
}

#[test]
fn the_default_is_what_no_argument_gives() {
    let toggles: SlowToggles = parse(&[]).expect("no argument is needed");
    assert_eq!(toggles, SlowToggles::default());
}

#[test]
fn a_target_is_all_that_is_needed() {
    let options: SlowOptions = parse(&["127.0.0.1:8000".to_owned()]).expect("a target");
    assert!(!options.hold && !options.orders);
    assert_eq!(options.interval, Micros(200_000));
    assert_eq!(options.duration, None);
}

fn toggles() -> impl Strategy<Value = SlowToggles> {
    let sink = prop_oneof![Just(Sink::Trunc), Just(Sink::Copy)];
    let rate = prop::option::of((1u64..1 << 50).prop_map(BytesPerSec));
    (0u32..=100_000, 1u64..1 << 60, sink, rate).prop_map(|(slow, size, sink, read_rate)| {
        let coding = [Coding::Identity, Coding::Gzip][(size % 2) as usize];
        SlowToggles { slow, slow_size: Bytes(size), sink, read_rate, slow_coding: coding }
    })
}

proptest! {
    #[test]
    fn toggles_read_back_as_themselves(toggles in toggles()) {
        prop_assert_eq!(parse::<SlowToggles>(&toggles.to_args()).expect("our own"), toggles);
    }

    #[test]
    fn options_read_back_as_themselves(
        toggles in toggles(),
        port in 1u16..,
        allow_remote: bool,
        hold: bool,
        interval_us in 1_000u64..1 << 40,
        duration_us in prop::option::of(0u64..1 << 40),
        gather_us in 0u64..=20_000,
        cpu in prop::option::of(0usize..8),
    ) {
        let options = SlowOptions {
            target: TargetOptions {
                target: ([127, 0, 0, 1], port).into(),
                allow_remote,
                own_network: false,
            },
            toggles,
            hold,
            orders: hold,
            interval: Micros(interval_us),
            duration: duration_us.map(Micros),
            gather: Micros(gather_us),
            role: RoleOptions {
                cpus: cpu.map(|cpu| cpu.to_string().parse().expect("one CPU")),
                parent_pid: None,
            },
        };
        let again: SlowOptions = parse(&options.to_args()).expect("our own");
        prop_assert_eq!(format!("{again:?}"), format!("{options:?}"));
    }
}
