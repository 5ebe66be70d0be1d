//! What can be typed.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    options: TraceOptions,
}

fn parse(args: &[&str]) -> Result<TraceOptions, String> {
    let typed = ["trace"].iter().chain(args);
    Cli::try_parse_from(typed).map(|cli| cli.options).map_err(|error| error.to_string())
}

#[test]
fn defaults() {
    let options = parse(&["--pid", "1", "--pid", "2"]).expect("enough");
    assert_eq!(options.pid, [1, 2]);
    assert_eq!((options.trace, options.hold), (TraceMode::Auto, Micros(10_000)));
    assert_eq!(options.duration, None);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for args in [
        &[][..],
        &["--pid", "1", "--trace", "off"],
        &["--pid", "1", "--hold", "0s"],
        &["--pid", "nginx"],
    ] {
        assert!(parse(args).is_err(), "{args:?}");
    }
}
