//! What can be typed, and what cannot be meant.

use clap::Parser;
use records::Bytes;

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
    assert_eq!((parsed.toggles.fetch_size, parsed.toggles.cap), (Bytes::mib(3), Micros(1_000_000)));
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
