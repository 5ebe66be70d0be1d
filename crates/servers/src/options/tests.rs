use clap::Parser;

use super::*;
use crate::fixture;

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
    let arm = fixture::arm("exec:p '{listen}' \"x\"");
    let text = serde_json::to_string(&arm).expect("finite numbers");
    assert_eq!(read(&["--arm", &text]).expect("an arm").arm, arm);
    let refused = read(&["--arm", "{}"]).expect_err("no arm");
    assert!(refused.contains("it is not an arm: missing field"), "{refused}");
}

#[test]
fn what_is_given_of_the_program_reads_back() {
    let arm = serde_json::to_string(&fixture::arm("envoy")).expect("finite numbers");
    let given = Given {
        server_file: Some("/etc/servers/envoy.toml".into()),
        proxy_bin: Some("/opt/envoy".into()),
    };
    let file = ["--server-file", "/etc/servers/envoy.toml", "--proxy-bin", "/opt/envoy"];
    let args: Vec<&str> = ["--arm", &arm].into_iter().chain(file).collect();
    assert_eq!(read(&args).expect("they are valid").given, given);
    assert_eq!(given.kind(), Some(ProxyKind::Server("envoy".to_owned())));
    assert_eq!(Given::default().kind(), None);
}

#[test]
fn a_file_must_have_a_name_of_its_own() {
    let arm = serde_json::to_string(&fixture::arm("envoy")).expect("finite numbers");
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
