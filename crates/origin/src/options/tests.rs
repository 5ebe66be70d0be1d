//! What is written as arguments reads back as the same options.

use clap::Parser;
use net::cpu::CpuList;
use proptest::prelude::*;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    options: OriginOptions,
}

fn parse(args: &[String]) -> Result<OriginOptions, clap::Error> {
    Cli::try_parse_from(std::iter::once("origin").chain(args.iter().map(String::as_str)))
        .map(|cli| cli.options)
}

#[test]
fn the_default_is_what_an_empty_command_line_says() {
    let parsed = parse(&[]).expect("no argument is required");
    assert_eq!(parsed.to_args(), OriginOptions::default().to_args());
}

#[test]
fn wrong_values_are_refused() {
    for (name, value) in [
        ("listen", "8000"),
        ("sndbuf", "0"),
        ("sndbuf", "2GiB"),
        ("sndbuf", "big"),
        ("backlog", "0"),
        ("think", "61s"),
        ("think", "long"),
        ("workers", "0"),
        ("workers", "some"),
    ] {
        let error = parse(&[format!("--{name}"), value.to_owned()]).expect_err(value);
        assert!(error.to_string().contains(name), "{error}");
    }
}

proptest! {
    #[test]
    fn options_read_back_as_themselves(
        port: u16,
        sndbuf in prop::option::of(1..=1u64 << 30),
        backlog in 1..=65535u32,
        think in 0..=60_000_000u64,
        workers in prop::option::of(1..=65535u32),
        cpu in prop::option::of(0..64usize),
    ) {
        let options = OriginOptions {
            congestion: "cubic".parse().expect("a name"),
            listen: SocketAddr::from(([127, 0, 0, 1], port)),
            sndbuf: sndbuf.map(Bytes),
            backlog,
            think: Micros(think),
            think_after: Micros(think / 2),
            workers,
            role: RoleOptions { cpus: cpu.and_then(|cpu| CpuList::new(vec![cpu])), parent_pid: None },
        };
        let parsed = parse(&options.to_args()).expect("its own arguments");
        prop_assert_eq!(parsed.listen, options.listen);
        prop_assert_eq!(parsed.sndbuf, options.sndbuf);
        prop_assert_eq!(parsed.backlog, options.backlog);
        prop_assert_eq!((parsed.think, parsed.workers), (options.think, options.workers));
        prop_assert_eq!(parsed.role.cpus, options.role.cpus);
    }
}
