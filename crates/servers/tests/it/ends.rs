//! However a server's role ends, nothing of its program is left.

use std::io::Read;

use serde_json::json;
use testkit::{Signal, await_gone, installed, kill, until};

use crate::support::{Server, arm, request};

fn leaves_nothing(proxy: &str, with: Signal) {
    let mut server = Server::start(&arm(proxy, json!({})), &[]);
    // Sessions that are open do not hold it up.
    let mut stream = server.connect();
    request(&mut stream, "900000000");
    stream.read_exact(&mut [0; 1000]).expect("it begins");
    let family = server.family();
    assert!(!family.is_empty());
    server.end(with);
    await_gone(family);
}

#[test]
fn nginx_ends_with_its_role() {
    if installed("nginx") {
        for with in [Signal::TERM, Signal::INT, Signal::KILL] {
            leaves_nothing("nginx", with);
        }
    }
}

#[test]
fn the_others_end_with_their_role() {
    for (proxy, program) in
        [("haproxy", "haproxy"), ("caddy", "caddy"), ("apache", "apache2"), ("h2o", "h2o")]
    {
        if installed(program) {
            for with in [Signal::TERM, Signal::KILL] {
                leaves_nothing(proxy, with);
            }
        }
    }
}

#[test]
fn a_worker_that_hears_nothing_ends_as_well() {
    if installed("nginx") {
        let mut server = Server::start(&arm("nginx", json!({})), &[]);
        let family = server.family();
        // A stopped process hears no SIGTERM, as one in a step without an end.
        server.workers().for_each(|worker| kill(worker, Signal::STOP));
        server.stop().ended_well();
        await_gone(family);
    }
}

#[test]
fn a_program_that_ends_unasked_ends_its_role() {
    if installed("nginx") {
        let mut server = Server::start(&arm("nginx", json!({})), &[]);
        kill(server.workers().next().expect("a worker"), Signal::KILL);
        let said = server.finish();
        assert_eq!(said.code(), Some(1), "{}", said.stderr);
        assert!(said.stderr.contains("a worker of it ended unasked"), "{}", said.stderr);
    }
}

#[test]
fn a_worker_that_dies_without_a_word_is_quoted_with_none() {
    if installed("nginx") {
        let mut server = Server::start(&arm("nginx", json!({})), &[]);
        let family = server.family();
        kill(server.workers().next().expect("a worker"), Signal::KILL);
        let said = server.finish();
        assert_eq!(said.code(), Some(1), "{}", said.stderr);
        let last = said.stderr.lines().last().unwrap_or_default();
        assert!(last.ends_with("a worker of it ended unasked"), "{}", said.stderr);
        await_gone(family);
    }
}

#[test]
fn a_program_does_not_outlive_its_subreaper() {
    for proxy in ["nginx", "haproxy", "apache"] {
        if !installed(if proxy == "apache" { "apache2" } else { proxy }) {
            continue;
        }
        let mut server = Server::start(&arm(proxy, json!({})), &[]);
        let family = server.family();
        // Its one child is the subreaper, whose one child is the program.
        kill(family[0], Signal::KILL);
        let said = server.finish();
        assert_eq!(said.code(), Some(1), "{}", said.stderr);
        await_gone(family);
        assert!(said.stderr.contains("ended unasked"), "{}", said.stderr);
    }
}

#[test]
fn a_stopped_worker_does_not_outlive_a_killed_role() {
    if installed("nginx") {
        let mut server = Server::start(&arm("nginx", json!({})), &[]);
        let family = server.family();
        server.workers().for_each(|worker| kill(worker, Signal::STOP));
        // The master first: nobody else would tell its workers.
        kill(family[1], Signal::STOP);
        server.end(Signal::KILL);
        await_gone(family);
    }
}

#[test]
fn files_do_not_outlive_a_killed_role() {
    if installed("nginx") {
        let asked = json!({"content": "file", "slow_size": 2 << 20, "fetch_size": 70_000});
        let mut server = Server::start(&arm("nginx", asked), &[]);
        let www = server.dir.path().join("www");
        assert!(www.exists());
        server.end(Signal::KILL);
        until("the end of its files", || (!www.exists()).then_some(()));
    }
}
