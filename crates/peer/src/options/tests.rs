use clap::Parser;

use super::*;
use crate::fixture;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    options: PeerOptions,
}

#[test]
fn arguments_read_back_as_the_same_options() {
    let arm = fixture::arm("exec:p '{listen}' \"x\"");
    let options = PeerOptions {
        arm,
        proxy_bin: Some("/opt/nginx".into()),
        upstream: "127.0.0.1:9000".parse().expect("an address"),
        listen: "127.0.0.1:0".parse().expect("an address"),
        dir: "/runs/a".into(),
        access_log: Some("/runs/a.log".into()),
        hold: Micros(5_000),
        pin: Some("0,1".parse().expect("CPUs")),
        role: RoleOptions { cpus: None, parent_pid: Some(7) },
    };
    let args = options.to_args().expect("finite numbers");
    let read = Cli::try_parse_from(std::iter::once("peer".to_owned()).chain(args.clone()));
    let read = read.expect("they are valid").options;
    assert_eq!(read.to_args().expect("finite numbers"), args);
    assert_eq!(read.arm, options.arm);
}

#[test]
fn an_arm_that_is_none_is_named() {
    let args = ["peer", "--arm", "{}", "--upstream", "127.0.0.1:1", "--dir", "d"];
    let refused = Cli::try_parse_from(args).expect_err("no arm").to_string();
    assert!(refused.contains("it is not an arm: missing field"), "{refused}");
}
