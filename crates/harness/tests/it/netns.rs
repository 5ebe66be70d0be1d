//! Hosts of their own: what is set inside stays inside, and nothing stays at all.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use netlab::LabReadBack;
use records::run_dir::NETWORK;
use records::{Phase, Verdict};
use testkit::{Signal, pids};

use crate::support::{
    Running, Runs, document, family, in_turn, installed, is_gone, root, summary, until,
};

/// What of this host a run in namespaces must leave as it was.
fn outside() -> [(&'static str, String); 4] {
    let read = |path: &str| fs::read_to_string(path).expect("a setting");
    let links = Command::new("ip").args(["-o", "addr"]).output().expect("ip");
    let links = String::from_utf8_lossy(&links.stdout);
    // Lifetimes of addresses count down.
    let links: Vec<_> = links.lines().map(|line| line.split("valid_lft").next()).collect();
    let named = fs::read_dir("/run/netns").into_iter().flatten();
    let named: BTreeSet<_> = named.map(|entry| entry.expect("entry").file_name()).collect();
    [
        ("rmem", read("/proc/sys/net/ipv4/tcp_rmem")),
        ("congestion", read("/proc/sys/net/ipv4/tcp_congestion_control")),
        ("links", format!("{links:?}")),
        ("named", format!("{named:?}")),
    ]
}

/// The network namespace that a link of `/proc` leads to.
fn namespace(link: impl AsRef<Path>) -> Option<u64> {
    let to = fs::read_link(link).ok()?;
    to.to_str()?.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// Namespaces of processes that are not in ours.
fn namespaces(pids: impl Iterator<Item = u32>) -> BTreeSet<u64> {
    let ours = namespace("/proc/self/ns/net").expect("a namespace");
    let all = pids.filter_map(|pid| namespace(format!("/proc/{pid}/ns/net")));
    all.filter(|net| *net != ours).collect()
}

/// Network namespaces that a process keeps open.
fn kept_by(pid: u32) -> BTreeSet<u64> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    files.filter_map(|file| namespace(file.path())).collect()
}

/// Namespaces in which any process of this host is.
fn inhabited() -> BTreeSet<u64> {
    namespaces(pids().filter(|pid| !is_gone(*pid)))
}

#[test]
fn each_role_has_a_host_of_its_own() {
    let _turn = in_turn();
    if !root() || !installed("ip") {
        return;
    }
    let more = if installed("nginx") { ["--proxy", "nginx"].as_slice() } else { &["--reuseport"] };
    let (before, runs) = (outside(), Runs::new());
    let rmem = ["--sysctl", "net.ipv4.tcp_rmem=40960,40960,40960", "--json"];
    let mut command = runs.trial(&["--netns"]);
    let mut running = Running::start(command.args(rmem).args(more));
    runs.await_phase(&mut running, Phase::Measure);
    let all = family(running.id());
    let nets = kept_by(running.id());
    assert_eq!(nets.len(), 5, "four hosts and a switch");
    assert_eq!(namespaces(all.iter().copied()).len(), 4, "a host for each role");
    assert_eq!(outside(), before, "while it runs");
    let run = running.finish().ended_well();
    let left: Vec<_> = all.iter().filter(|pid| !is_gone(**pid)).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(nets.is_disjoint(&inhabited()));
    assert_eq!(outside(), before);

    let lab: LabReadBack = document(&runs.dir().expect("a run").join(NETWORK)).expect("a lab");
    let rmem = |name: &str| {
        let host = lab.hosts.iter().find(|host| host.name == name).expect("a host");
        let of = |s: &&netlab::SysctlReadBack| s.name == "net.ipv4.tcp_rmem";
        host.sysctls.iter().find(of).expect("tcp_rmem").effective.clone()
    };
    assert_eq!(rmem("proxy"), "40960 40960 40960");
    let usual = before[0].1.split_whitespace().collect::<Vec<_>>().join(" ");
    for host in ["origin", "slow", "fast"] {
        assert_eq!(rmem(host), usual, "{host}");
    }
    let summary = summary(&run);
    let namespaces = summary.arm.netns.as_ref().expect("it is in the arm");
    assert_eq!(namespaces.sysctls["net.ipv4.tcp_rmem"], "40960 40960 40960");
    assert!(summary.slow.bytes.0 > 0);
    let manifest = runs.manifest().expect("a manifest");
    assert_eq!((manifest.faults.len(), summary.idle.outcomes.failed()), (0, 0));
    let reasons = &summary.verdict_reasons;
    let busy = reasons.iter().any(|reason| reason.contains("others than the workers"));
    assert!(summary.verdict != Verdict::Inconclusive || busy, "{reasons:?}");
}

#[test]
fn no_host_outlives_the_harness() {
    let _turn = in_turn();
    if !root() || !installed("ip") {
        return;
    }
    // Under load with nginx, if it is installed, on a host of its own; and while the hosts are made, of which no
    // phase tells: the first namespace that is kept open does.
    for (phase, signal) in [
        (Some(Phase::Measure), Signal::INT),
        (Some(Phase::Measure), Signal::KILL),
        (None, Signal::KILL),
    ] {
        let (before, runs) = (outside(), Runs::new());
        let mut command = runs.trial(&["--netns", "--duration", "50s"]);
        if phase.is_some() && installed("nginx") {
            command.args(["--proxy", "nginx", "--trace=off"]);
        }
        let mut running = Running::start(&mut command);
        let id = running.id();
        if let Some(phase) = phase {
            runs.await_phase(&mut running, phase);
        }
        let nets = until("a namespace", || Some(kept_by(id)).filter(|nets| !nets.is_empty()));
        assert!(phase.is_none() || nets.len() == 5, "four hosts and a switch: {nets:?}");
        let all = family(id);
        running.signal(signal);
        assert_eq!(running.finish().status.signal(), Some(signal.as_raw()));
        runs.await_nobody(&all);
        until("the end of the hosts", || nets.is_disjoint(&inhabited()).then_some(()));
        assert_eq!(outside(), before);
    }
}
