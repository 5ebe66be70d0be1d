//! The process: its first line, its end, and what it says to wrong options.

use std::io::{Read, Write};

use records::{Bytes, Role, SCHEMA_VERSION};
use testkit::{Signal, say};

use crate::support::{Origin, command};

#[test]
fn the_first_line_tells_where_it_listens_and_what_the_kernel_made_of_it() {
    let origin = Origin::with(&["--sndbuf", "100KiB"]);
    let ready = &origin.ready;
    assert_eq!((ready.role, ready.schema_version), (Role::Origin, SCHEMA_VERSION));
    assert_eq!(ready.pid, origin.id());
    assert!(origin.addr().ip().is_loopback(), "loopback unless told otherwise");
    assert!(!ready.effective.cpus.is_empty());
    let sndbuf = ready.effective.sockets.iter().find(|s| s.name == "accepted SO_SNDBUF");
    let sndbuf = sndbuf.expect("read back");
    assert_eq!(sndbuf.requested, Some(Bytes::kib(100)));
    assert_eq!(sndbuf.effective, Bytes::kib(200), "socket(7): the kernel doubles it");
}

#[test]
fn a_signal_ends_it_well_also_inside_a_download() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut origin = Origin::start();
        let mut stream = origin.connect();
        stream.write_all(b"GET /bytes/1TiB HTTP/1.0\r\n\r\n").expect("it reads");
        stream.read_exact(&mut [0; 4096]).expect("the body has begun");
        let said = origin.0.end(signal).ended_well().stdout;
        assert_eq!(said.lines().count(), 1, "of one request: {said}");
    }
}

#[test]
fn a_busy_port_is_told_with_what_to_do() {
    let origin = Origin::start();
    let addr = origin.addr().to_string();
    let said = say(command().args(["--listen", &addr])).refused(1);
    assert!(said.contains(&addr) && said.contains("another port"), "{said}");
}

#[test]
fn wrong_options_are_usage_errors() {
    for (option, value) in [
        ("--listen", "nowhere"),
        ("--sndbuf", "0"),
        ("--sndbuf", "2GiB"),
        ("--sndbuf", "lots"),
        ("--backlog", "0"),
        ("--cpus", "a"),
        ("--delay", "61s"),
        ("--delay", "long"),
        ("--delay-after", "2h"),
        ("--workers", "0"),
        ("--workers", "some"),
    ] {
        let said = say(command().args([option, value])).refused(2);
        assert!(said.contains(value) && said.contains(option), "{said}");
    }
}

#[test]
fn the_help_shows_defaults_and_examples() {
    let help = say(command().arg("--help")).ended_well().stdout;
    assert!(help.starts_with("An upstream"), "the role's own words, not those of an option group");
    for part in [
        "--listen",
        "127.0.0.1:0",
        "--sndbuf",
        "--backlog",
        "4096",
        "--delay",
        "0s",
        "--workers",
        "Examples:",
    ] {
        assert!(help.contains(part), "{part} in\n{help}");
    }
}
