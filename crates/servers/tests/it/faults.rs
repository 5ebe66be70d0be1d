//! A server of one's own that does not do what it should: each fault has its message, with the program's last
//! words, and leaves nothing running. What a server's role says when it cannot do what it should.

use std::fs;
use std::thread;

use serde_json::{Value, json};
use servers::{Given, ServerOptions};
use tempfile::TempDir;
use testkit::{Process, await_gone, family, installed, listen, say, script};

use crate::proxies::each;
use crate::support::{SERVER, asks, command, origin};

/// The program with that fault, asked for `/health` as fetches would be, with `changes`; and its directory.
fn server(fault: &str, changes: Value) -> (TempDir, std::process::Command) {
    let dir = TempDir::new().expect("a directory");
    let program = script(dir.path(), "server.py", SERVER);
    let mut asked = json!({
        "env": [format!("FAULT={fault}")], "fetch_path": "/health", "ready_within_us": 6_000_000,
    });
    if let (Some(asked), Value::Object(changes)) = (asked.as_object_mut(), changes) {
        asked.extend(changes);
    }
    let asked = asks(&format!("exec:{} {{port}}", program.display()), asked);
    let command = command(asked, dir.path());
    (dir, command)
}

#[test]
fn one_that_is_told_no_port_is_found_where_it_listens() {
    if !installed("python3") {
        return;
    }
    let dir = TempDir::new().expect("a directory");
    let program = script(dir.path(), "server.py", SERVER);
    let asked = asks(&format!("exec:{}", program.display()), json!({"fetch_path": "/health"}));
    let mut process = Process::start(&mut command(asked, dir.path()));
    let family = family(process.id());
    process.stop().ended_well();
    await_gone(family);
}

#[test]
fn a_server_that_is_never_ready_is_told_with_what_keeps_it() {
    if !installed("python3") {
        return;
    }
    let none = || json!({});
    let cases: [(_, _, &[&str]); 6] = [
        ("silent", none(), &["ready within 6.000", "refused", "its last words: waiting for a"]),
        ("elsewhere", none(), &["does not answer on", "it listens on 127.0.0.1:", "{port}"]),
        ("", json!({"ready_path": "/nothing"}), &["answered 404 to GET /nothing", "--ready-path"]),
        ("", json!({"fetch_path": null}), &["answered 404 to GET /bytes/1", "--fetch-path"]),
        ("mute", none(), &["server.py ready within", "does not answer on"]),
        ("dies", none(), &["it ended unasked (exit status: 1)", "words: no module named app"]),
    ];
    // All at once: each takes as long as its program may, which is long enough for Python to start.
    let servers = cases.map(|(fault, changes, says)| (fault, server(fault, changes), says));
    thread::scope(|scope| {
        for (fault, (dir, mut command), says) in servers {
            scope.spawn(move || {
                let said = say(&mut command).refused(1);
                let last = said.lines().last().unwrap_or_default();
                for part in says {
                    assert!(last.contains(part), "{fault}: no {part:?} in {said}");
                }
                let pid = fs::read_to_string(dir.path().join("pid")).expect("it began");
                await_gone([pid.parse().expect("a number")]);
            });
        }
    });
}

#[test]
fn one_that_is_deaf_or_loud_is_served_and_ended() {
    if !installed("python3") {
        return;
    }
    for (fault, kept) in [("deaf", 0..=0), ("loud", 16 << 20..=17 << 20)] {
        let (dir, mut command) = server(fault, json!({"ready_within_us": 60_000_000}));
        let mut process = Process::start(&mut command);
        let family = family(process.id());
        assert!(!family.is_empty());
        process.stop().ended_well();
        await_gone(family);
        let output = fs::metadata(dir.path().join("output.log")).expect("it is kept").len();
        assert!(kept.contains(&output), "{fault}: {output} bytes");
    }
}

#[test]
fn what_cannot_be_is_a_matter_of_usage() {
    for (changes, says) in [
        (json!({"fetch_path": "POST /health"}), "--ready-path"),
        (json!({"proxy": "exec:./nowhere {port}"}), "./nowhere"),
        (json!({"server_dir": "/nowhere"}), "/nowhere"),
    ] {
        let (_dir, mut command) = server("", changes);
        let said = say(&mut command).refused(2);
        assert!(said.contains(says), "no {says:?} in {said}");
    }
}

#[test]
fn what_a_proxy_cannot_do_is_refused_by_its_name() {
    let (_taken, taken) = listen();
    let upstream = Some(origin());
    let asks = |proxy, changes| ServerOptions { upstream, ..asks(proxy, changes) };
    let nginx = || asks("nginx", json!({}));
    let given = Given { proxy_bin: Some("/none/nginx".into()), ..Given::default() };
    let nobody = "127.0.0.1:1".parse().ok();
    let bad = |proxy| asks(proxy, json!({"directives": ["no_such_thing on;"]}));
    for (asked, code, says) in [
        // A toggle that means nothing is a usage error.
        (asks("nginx", json!({"rcvbuf": 40_960})), 2, ["--rcvbuf 40960", "--netns"]),
        (ServerOptions { given, ..nginx() }, 2, ["/none/nginx", ""]),
        (ServerOptions { upstream: nobody, ..nginx() }, 1, ["answered 502", "127.0.0.1:1"]),
        (ServerOptions { listen: taken, ..nginx() }, 1, ["", &taken.to_string()]),
        // In the program's own words.
        (bad("nginx"), 1, ["its last words", "no_such_thing"]),
        (bad("haproxy"), 1, ["its last words", "no_such_thing"]),
        (bad("apache"), 1, ["its last words", "no_such_thing"]),
    ] {
        each(&[asked.arm.server.kind.name()], |proxy| {
            let dir = TempDir::new().expect("a directory");
            let said = say(&mut command(asked.clone(), dir.path())).refused(code);
            let last = said.lines().last().unwrap_or_default();
            assert!(says.iter().all(|part| last.contains(part)), "{proxy}: no {says:?} in {said}");
        });
    }
}
