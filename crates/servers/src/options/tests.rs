use clap::Parser;
use records::ProxyKind;

use super::*;
use crate::tests::arm as arm_of;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    options: ServerOptions,
}

fn read(args: &[&str]) -> Result<ServerOptions, String> {
    let all =
        ["server", "--upstream", "127.0.0.1:1", "--dir", "d"].into_iter().chain(args.to_vec());
    Cli::try_parse_from(all).map(|cli| cli.options).map_err(|error| error.to_string())
}

#[test]
fn an_arm_comes_back_and_one_that_is_none_is_named() {
    let arm = arm_of("exec:p '{listen}' \"x\"");
    let text = serde_json::to_string(&arm).expect("finite numbers");
    assert_eq!(read(&["--arm", &text]).expect("an arm").arm, arm);
    let refused = read(&["--arm", "{}"]).expect_err("no arm");
    assert!(refused.contains("it is not an arm: missing field"), "{refused}");
}

#[test]
fn a_file_must_have_a_name_of_its_own() {
    let envoy = Given { server_file: Some("/etc/servers/envoy.toml".into()), ..Given::default() };
    assert_eq!(envoy.kind(), Some(ProxyKind::Server("envoy".to_owned())));
    let command = Given { server: Some("own {port}".into()), ..Given::default() };
    assert_eq!(command.kind(), Some(ProxyKind::Exec("own {port}".to_owned())));
    let arm = serde_json::to_string(&arm_of("envoy")).expect("finite numbers");
    for (file, says) in [
        ("nginx.toml", "nginx is built in"),
        ("mirror.toml", "no name of a server"),
        ("exec.toml", "no name of a server"),
        ("My Server.toml", "no name of a server"),
        (".toml", "no name of a server"),
    ] {
        let refused = read(&["--arm", &arm, "--server-file", file]).expect_err("a refusal");
        assert!(refused.contains(says), "{file}: {refused}");
    }
}
