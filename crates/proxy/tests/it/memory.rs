//! What a session costs the proxy in memory while nothing is asked of it.

use crate::support::{Proxy, bytes_origin};

/// Connections that are accepted and then say nothing.
const IDLE: usize = 2_000;

pub(crate) fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("ours");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a resident size");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("KiB")
}

#[test]
fn an_idle_session_costs_less_than_two_kib_of_our_memory() {
    net::limit::raise_open_files();
    let proxy = Proxy::start(bytes_origin(), &["--workers", "1"]);
    let open = |count: usize| {
        let open: Vec<_> = (0..count).map(|_| proxy.connect()).collect();
        for _ in 0..count {
            proxy.await_accept();
        }
        open
    };
    // What is made once (rings, the slab's first room) is made by now.
    let first = open(100);
    let before = resident_kib(proxy.id());
    let idle = open(IDLE);
    let cost = (resident_kib(proxy.id()).saturating_sub(before)) * 1024 / IDLE as u64;
    println!("an idle session costs {cost} bytes of resident memory");
    assert!(cost < 2048, "{cost} bytes a session");
    drop((first, idle));
}
