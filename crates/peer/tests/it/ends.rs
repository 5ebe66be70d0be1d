//! However a peer ends, nothing of its program is left.

use std::io::Read;
use std::process::Stdio;

use records::Record;
use rustix::process::Signal;
use serde_json::json;

use crate::support::{Peer, arm, await_gone, command, installed, origin, request, signal, until};

fn leaves_nothing(proxy: &str, with: Signal) {
    let mut peer = Peer::start(&arm(proxy, json!({})), &[]);
    // Sessions that are open do not hold it up.
    let mut stream = peer.connect();
    request(&mut stream, "900000000");
    stream.read_exact(&mut [0; 1000]).expect("it begins");
    let family = peer.family();
    assert!(!family.is_empty());
    peer.end(with);
    await_gone(&family);
}

#[test]
fn nginx_ends_with_its_peer() {
    if installed("nginx") {
        for with in [Signal::TERM, Signal::INT, Signal::KILL] {
            leaves_nothing("nginx", with);
        }
    }
}

#[test]
fn the_others_end_with_their_peer() {
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
        let mut peer = Peer::start(&arm("nginx", json!({})), &[]);
        let family = peer.family();
        // A stopped process hears no SIGTERM, as one in a step without an end.
        for tid in &peer.ready.worker_tids {
            signal(u32::try_from(*tid).expect("a pid"), Signal::STOP);
        }
        let (status, _) = peer.end(Signal::TERM);
        assert!(status.success(), "{status}");
        await_gone(&family);
    }
}

#[test]
fn a_program_that_ends_unasked_ends_its_peer() {
    if installed("nginx") {
        let dir = tempfile::TempDir::new().expect("a directory");
        let mut child = command(&arm("nginx", json!({})), dir.path(), origin(), &[])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a peer");
        let mut out = std::io::BufReader::new(child.stdout.take().expect("its output"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).expect("a line");
        let Ok(Record::Ready(ready)) = Record::from_line(&line) else { panic!("{line}") };
        let worker = u32::try_from(ready.worker_tids[0]).expect("a pid");
        signal(worker, Signal::KILL);
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("a worker of it ended unasked"), "{said}");
    }
}

#[test]
fn a_worker_that_dies_without_a_word_is_quoted_with_none() {
    if installed("nginx") {
        let (mut peer, mut said) = Peer::heard(&arm("nginx", json!({})), &[]);
        let family = peer.family();
        signal(u32::try_from(peer.ready.worker_tids[0]).expect("a pid"), Signal::KILL);
        let (status, _) = peer.wait();
        assert_eq!(status.code(), Some(1));
        let mut text = String::new();
        said.read_to_string(&mut text).expect("text");
        let last = text.lines().last().unwrap_or_default();
        assert!(last.ends_with("a worker of it ended unasked"), "{text}");
        await_gone(&family);
    }
}

#[test]
fn a_program_does_not_outlive_its_keeper() {
    for proxy in ["nginx", "haproxy", "apache"] {
        if !installed(if proxy == "apache" { "apache2" } else { proxy }) {
            continue;
        }
        let (mut peer, mut said) = Peer::heard(&arm(proxy, json!({})), &[]);
        let family = peer.family();
        // Its one child is the keeper, whose one child is the program.
        let keeper = family[0];
        signal(u32::try_from(keeper).expect("a pid"), Signal::KILL);
        let (status, _) = peer.wait();
        assert_eq!(status.code(), Some(1));
        await_gone(&family);
        let mut text = String::new();
        said.read_to_string(&mut text).expect("text");
        assert!(text.contains("ended unasked"), "{text}");
    }
}

#[test]
fn a_stopped_worker_does_not_outlive_a_killed_peer() {
    if installed("nginx") {
        let mut peer = Peer::start(&arm("nginx", json!({})), &[]);
        let family = peer.family();
        for tid in &peer.ready.worker_tids {
            signal(u32::try_from(*tid).expect("a pid"), Signal::STOP);
        }
        // The master first: nobody else would tell its workers.
        let master = peer.family()[1];
        signal(u32::try_from(master).expect("a pid"), Signal::STOP);
        peer.end(Signal::KILL);
        await_gone(&family);
    }
}

#[test]
fn files_do_not_outlive_a_killed_peer() {
    if installed("nginx") {
        let asked = json!({"content": "file", "slow_size": 2 << 20, "fetch_size": 70_000});
        let mut peer = Peer::start(&arm("nginx", asked), &[]);
        let www = peer.dir.path().join("www");
        assert!(www.exists());
        peer.end(Signal::KILL);
        until("the end of its files", || !www.exists());
    }
}
