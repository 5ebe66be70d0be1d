//! What can be typed, and what cannot be meant.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    options: OriginOptions,
}

fn parse(args: &[&str]) -> Result<OriginOptions, clap::Error> {
    Cli::try_parse_from(["origin"].iter().chain(args)).map(|cli| cli.options)
}

#[test]
fn the_default_is_loopback_without_delay_or_limit() {
    let options = OriginOptions::default();
    assert_eq!(options.listen, SocketAddr::from(([127, 0, 0, 1], 0)));
    assert_eq!((options.sndbuf, options.backlog, options.workers), (None, 4096, None));
    assert_eq!((options.delay, options.delay_after), (Micros(0), Micros(0)));
}

#[test]
fn a_delay_may_be_called_by_its_old_name() {
    let options = parse(&["--think", "20ms", "--think-after", "1s"]).expect("aliases");
    assert_eq!((options.delay, options.delay_after), (Micros(20_000), Micros(1_000_000)));
}

#[test]
fn wrong_values_are_refused() {
    for (name, value) in [
        ("listen", "8000"),
        ("sndbuf", "0"),
        ("sndbuf", "2GiB"),
        ("sndbuf", "big"),
        ("backlog", "0"),
        ("delay", "61s"),
        ("delay", "long"),
        ("delay-after", "2h"),
        ("workers", "0"),
        ("workers", "some"),
    ] {
        let error = parse(&[&format!("--{name}"), value]).expect_err(value);
        assert!(error.to_string().contains(name), "{error}");
    }
}
