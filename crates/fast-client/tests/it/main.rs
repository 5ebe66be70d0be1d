//! The fast client as its users meet it: the real binary against servers that misbehave on purpose.

mod arrivals;
mod outcomes;
mod support;

use std::net::SocketAddr;

use records::{Role, SCHEMA_VERSION};
use testkit::{Running, say};

use crate::support::{Run, command, ok, saying};

const NOWHERE: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), 80);

#[test]
fn the_first_line_says_who_it_is() {
    let run = Run::of(saying(ok(1)), &["--duration", "1ms", "--fetch-size", "1"]);
    assert_eq!((run.ready.role, run.ready.schema_version), (Role::Fast, SCHEMA_VERSION));
    assert_eq!(run.ready.listen, None);
    assert!(!run.ready.effective.cpus.is_empty() && run.ready.effective.max_open_files > 0);
}

#[test]
fn a_burst_is_for_an_open_loop_on_this_host() {
    let here = SocketAddr::from(([127, 0, 0, 1], 1));
    for (target, args, says) in [
        (here, ["--burst", "2", "--arrivals", "closed"].as_slice(), "--arrivals with a rate"),
        (NOWHERE, &["--burst", "2", "--allow-remote"], "needs a target on this host"),
    ] {
        let said = say(&mut command(target, args)).refused(2);
        assert!(said.contains("--burst 2") && said.contains(says), "{said}");
    }
}

#[test]
fn a_reader_that_went_away_ends_it() {
    let args = ["--arrivals", "100/s", "--duration", "1h", "--fetch-size", "1"];
    let mut client = Running::unheard(&mut command(saying(ok(1)), &args));
    assert_eq!(client.finish().code(), Some(1));
}
