//! What a peer says when it cannot do what it should.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{arm, command, installed, origin};

fn said(proxy: &str, changes: Value, args: &[&str]) -> (Option<i32>, String) {
    let dir = tempfile::TempDir::new().expect("a directory");
    let mut command = command(&arm(proxy, changes), dir.path(), origin(), args);
    let output = command.stdout(Stdio::null()).output().expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_toggle_that_means_nothing_is_a_usage_error() {
    if installed("nginx") {
        let (code, said) = said("nginx", json!({"rcvbuf": 40_960}), &[]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("--rcvbuf 40KiB") && said.contains("--netns"), "{said}");
    }
}

#[test]
fn a_missing_program_is_named_with_its_package() {
    let (code, said) = said("nginx", json!({}), &["--proxy-bin", "/nowhere/nginx"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("/nowhere/nginx"), "{said}");
}

#[test]
fn a_bad_directive_is_told_in_the_programs_own_words() {
    for (proxy, program) in [("nginx", "nginx"), ("haproxy", "haproxy"), ("apache", "apache2")] {
        if installed(program) {
            let (code, said) = said(proxy, json!({"directives": ["no_such_thing on;"]}), &[]);
            assert_eq!(code, Some(1), "{said}");
            let last = said.lines().last().unwrap_or_default();
            assert!(last.contains("its last words") && last.contains("no_such_thing"), "{said}");
        }
    }
}

#[test]
fn an_origin_that_is_not_there_is_named() {
    if installed("nginx") {
        let dir = tempfile::TempDir::new().expect("a directory");
        let nobody = "127.0.0.1:1".parse().expect("an address");
        let mut command = command(&arm("nginx", json!({})), dir.path(), nobody, &[]);
        let output = command.stdout(Stdio::null()).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("answered 502") && said.contains("127.0.0.1:1"), "{said}");
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    if installed("nginx") {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let addr = taken.local_addr().expect("bound").to_string();
        let (code, said) = said("nginx", json!({}), &["--listen", &addr]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&addr), "{said}");
    }
}
