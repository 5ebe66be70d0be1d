//! What a server's role says when it cannot do what it should.

use std::net::SocketAddr;

use serde_json::{Value, json};
use testkit::{Said, installed, listen, say};

use crate::support::{arm, command, origin};

fn said(proxy: &str, changes: Value, args: &[&str]) -> Said {
    said_before(origin(), proxy, changes, args)
}

fn said_before(origin: SocketAddr, proxy: &str, changes: Value, args: &[&str]) -> Said {
    let dir = tempfile::TempDir::new().expect("a directory");
    say(&mut command(&arm(proxy, changes), dir.path(), origin, args))
}

#[test]
fn a_toggle_that_means_nothing_is_a_usage_error() {
    if installed("nginx") {
        let said = said("nginx", json!({"rcvbuf": 40_960}), &[]).refused(2);
        assert!(said.contains("--rcvbuf 40KiB") && said.contains("--netns"), "{said}");
    }
}

#[test]
fn a_missing_program_is_named_with_its_package() {
    let said = said("nginx", json!({}), &["--proxy-bin", "/nowhere/nginx"]).refused(2);
    assert!(said.contains("/nowhere/nginx"), "{said}");
}

#[test]
fn a_bad_directive_is_told_in_the_programs_own_words() {
    for (proxy, program) in [("nginx", "nginx"), ("haproxy", "haproxy"), ("apache", "apache2")] {
        if installed(program) {
            let said = said(proxy, json!({"directives": ["no_such_thing on;"]}), &[]).refused(1);
            let last = said.lines().last().unwrap_or_default();
            assert!(last.contains("its last words") && last.contains("no_such_thing"), "{said}");
        }
    }
}

#[test]
fn an_origin_that_is_not_there_is_named() {
    if installed("nginx") {
        let nobody = "127.0.0.1:1".parse().expect("an address");
        let said = said_before(nobody, "nginx", json!({}), &[]).refused(1);
        assert!(said.contains("answered 502") && said.contains("127.0.0.1:1"), "{said}");
    }
}

#[test]
fn a_port_that_is_taken_is_named() {
    if installed("nginx") {
        let (_taken, addr) = listen();
        let addr = addr.to_string();
        let said = said("nginx", json!({}), &["--listen", &addr]).refused(1);
        assert!(said.contains(&addr), "{said}");
    }
}
