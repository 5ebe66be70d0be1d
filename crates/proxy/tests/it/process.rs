//! The process: what it says when it is ready, how it ends, what it refuses.

use std::net::TcpListener;
use std::process::Stdio;

use records::{Bytes, Record, Role};

use crate::support::{Proxy, bytes_origin, command, get};

#[test]
fn ready_tells_listener_workers_and_buffers() {
    let proxy = Proxy::start(
        bytes_origin(),
        &["--workers", "3", "--reuseport", "--rcvbuf", "40960", "--pin", "0"],
    );
    assert_eq!(proxy.ready.role, Role::Proxy);
    assert_eq!(proxy.ready.worker_tids.len(), 3);
    for tid in &proxy.ready.worker_tids {
        let task = format!("/proc/{}/task/{tid}/comm", proxy.pid());
        let name = std::fs::read_to_string(task).expect("a worker is a thread");
        assert!(name.starts_with("proxy-worker"), "{name}");
    }
    assert_eq!(proxy.ready.effective.cpus, [0]);
    let rcvbuf = proxy.ready.effective.sockets.iter().find(|s| s.name == "upstream SO_RCVBUF");
    let rcvbuf = rcvbuf.expect("it is read back");
    assert_eq!((rcvbuf.requested, rcvbuf.effective), (Some(Bytes(40960)), Bytes(81920)));
}

#[test]
fn sigterm_ends_it_cleanly_with_its_totals() {
    let proxy = Proxy::start(bytes_origin(), &["--workers", "2"]);
    proxy.ask(&get("/bytes/100000"));
    proxy.await_session();
    let open = proxy.connect();
    proxy.await_record(|record| matches!(record, Record::Accepted(_)).then_some(()));
    let (status, rest) = proxy.stop();
    assert!(status.success());
    let totals: Vec<_> = rest
        .iter()
        .filter_map(|record| match record {
            Record::WorkerTotals(totals) => Some(totals),
            _ => None,
        })
        .collect();
    assert_eq!(totals.len(), 2, "each worker tells its totals");
    assert_eq!(totals.iter().map(|totals| totals.sessions).sum::<u64>(), 2);
    let bytes: u64 = totals.iter().map(|totals| totals.bytes.0).sum();
    assert!((100_000..101_000).contains(&bytes), "{bytes} bytes: body and head");
    let counted: u64 = totals.iter().flat_map(|totals| &totals.step_lengths.0).sum();
    assert_eq!(counted, totals.iter().map(|totals| totals.steps).sum::<u64>());
    assert!(rest.iter().any(|record| matches!(record, Record::Session(s) if s.status == 0)));
    drop(open);
}

fn refusal(args: &[&str]) -> (Option<i32>, String) {
    let upstream = "127.0.0.1:1".parse().expect("an address");
    let output = command(upstream, args).stdin(Stdio::null()).output().expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn ready_names_the_listeners_by_their_inodes() {
    for (mode, listeners) in [(&["--reuseport"][..], 3), (&[], 1)] {
        let proxy =
            Proxy::start(bytes_origin(), &[&["--workers", "3", "--pin", "0"], mode].concat());
        let told = &proxy.ready.listeners;
        assert_eq!(told.len(), listeners);
        let fds = std::fs::read_dir(format!("/proc/{}/fd", proxy.pid())).expect("ours");
        let sockets: Vec<String> = fds
            .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
            .map(|target| target.to_string_lossy().into_owned())
            .collect();
        for inode in told {
            let socket = format!("socket:[{inode}]");
            assert_eq!(sockets.iter().filter(|fd| **fd == socket).count(), 1, "{socket}");
        }
    }
}

#[test]
fn wrong_options_are_a_usage_error() {
    for args in [
        ["--read-policy", "fast"],
        ["--workers", "0"],
        ["--pin", "x"],
        ["--recording", "some"],
        ["--log-mode", "inline"],
        ["--accept", "queue"],
        ["--gzip", "10"],
    ] {
        let (code, message) = refusal(&args);
        assert_eq!(code, Some(2), "{args:?}: {message}");
    }
}

#[test]
fn sharing_what_is_not_shared_is_a_usage_error() {
    for mode in ["herd", "mutex"] {
        let (code, message) = refusal(&["--reuseport", "--accept", mode]);
        assert_eq!(code, Some(2), "{message}");
        assert!(message.contains(&format!("--accept {mode}")), "{message}");
        assert!(message.contains("leave one of the two out"), "{message}");
    }
    let proxy = Proxy::start(bytes_origin(), &["--reuseport", "--accept", "exclusive"]);
    assert_eq!(proxy.ask(&get("/bytes/5")).last(), Some(&4));
}

#[test]
fn a_busy_port_is_named_in_both_modes() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = taken.local_addr().expect("bound").to_string();
    for mode in [&["--reuseport"][..], &[]] {
        let (code, message) = refusal(&[&["--listen", &addr], mode].concat());
        assert_eq!(code, Some(1));
        assert!(message.contains(&addr) && message.contains("choose another port"), "{message}");
    }
}

#[test]
fn a_port_of_another_reuseport_proxy_is_not_shared_by_mistake() {
    let first = Proxy::start(bytes_origin(), &["--reuseport"]);
    let addr = first.addr().to_string();
    let (code, message) = refusal(&["--listen", &addr, "--reuseport"]);
    assert_eq!(code, Some(1), "{message}");
}

#[test]
fn an_access_log_that_cannot_be_opened_is_named() {
    for mode in ["writer", "inline"] {
        let (code, message) = refusal(&["--access-log", "/nowhere/access.log", "--log-mode", mode]);
        assert_eq!(code, Some(1));
        assert!(message.contains("/nowhere/access.log"), "{message}");
    }
}

#[test]
fn a_directory_that_takes_no_temporary_files_is_named() {
    for dir in ["/nowhere/spool", "/proc", "/dev/null"] {
        let (code, message) = refusal(&["--spool", dir]);
        assert_eq!(code, Some(1));
        assert!(message.contains(dir) && message.contains("--spool"), "{message}");
    }
}

#[test]
fn too_few_descriptors_are_told_before_any_session() {
    let (code, message) = refusal(&["--worker-connections", "1000000", "--workers", "256"]);
    assert_eq!(code, Some(1));
    assert!(message.contains("ulimit -n"), "{message}");
}
