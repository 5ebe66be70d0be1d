//! Labs on this kernel: what it is like inside (addresses, settings), why there may be none, and
//! that nothing is left of one. Without the right to make one, or without a part of the kernel that they
//! need, these tests say so and pass.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use net::role::in_net;
use netlab::{Host, HostPlan, Lab};
use records::Bytes;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use testkit::{Running, installed, skip};

const RMEM: &str = "/proc/sys/net/ipv4/tcp_rmem";

/// Hosts with these names; the second has settings.
fn hosts(names: &[&str], sysctls: &[(&str, &str)]) -> Vec<HostPlan> {
    let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let host = |(index, name): (usize, &&str)| HostPlan {
        name: (*name).to_owned(),
        sysctls: sysctls.iter().filter(|_| index == 1).map(own).collect(),
    };
    names.iter().enumerate().map(host).collect()
}

const FOUR: [&str; 4] = ["origin", "proxy", "slow", "fast"];

/// A lab; `None`, and a word why the test is skipped, where there can be none.
fn up(plan: &[HostPlan]) -> Option<Lab> {
    if !installed("ip") {
        return None;
    }
    match Lab::up(plan) {
        Ok(lab) => Some(lab),
        // This host, and not the lab, is the reason.
        Err(error)
            if error.kind() == ErrorKind::PermissionDenied
                || error.to_string().contains("Unknown device type") =>
        {
            skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn host<'a>(lab: &'a Lab, name: &str) -> &'a Host {
    lab.host(name).expect("it is in the plan")
}

/// Starts a program on a host.
fn start(host: &Host, words: &[&str]) -> Running {
    let net = format!("--net={}", host.net_path().display());
    Running::start(Command::new("nsenter").arg(net).args(words))
}

fn text(host: &Host, words: &[&str]) -> String {
    start(host, words).finish().ended_well().stdout.trim().to_owned()
}

/// The links that the namespace of the test has, as everybody sees them.
fn own_links() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/class/net").expect("sysfs").map_while(Result::ok);
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// A server on a host that sends `size` bytes to whoever connects, on a thread of this process.
fn server(host: &Host, size: Bytes) -> SocketAddr {
    let bind = || TcpListener::bind((host.addr(), 0));
    let listener = in_net(&host.net_path(), bind).expect("inside").expect("its address");
    let addr = listener.local_addr().expect("bound");
    // A socket stays in the namespace it was made in: the thread need not enter.
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok).take(8) {
            let _ = stream.write_all(&vec![b'x'; size.as_usize()]);
        }
    });
    addr
}

#[test]
fn hosts_reach_each_other_have_settings_of_their_own_and_tell_what_they_are() {
    let plan = hosts(
        &FOUR,
        &[("net.ipv4.tcp_rmem", "40960 40960 40960"), ("net.ipv4.tcp_congestion_control", "reno")],
    );
    let before = fs::read_to_string(RMEM).expect("procfs");
    let Some(lab) = up(&plan) else { return };
    let addr = server(host(&lab, "origin"), Bytes(300_000));
    let fetch = format!("exec 3<>/dev/tcp/{}/{} && wc -c <&3", addr.ip(), addr.port());
    for name in FOUR {
        assert_eq!(text(host(&lab, name), &["bash", "-c", &fetch]), "300000", "from {name}");
        let rmem = if name == "proxy" { "40960\t40960\t40960" } else { before.trim() };
        assert_eq!(text(host(&lab, name), &["cat", RMEM]), rmem, "on {name}");
    }
    // The address exists inside only, and so do the settings.
    TcpStream::connect_timeout(&addr, Duration::from_millis(300)).expect_err("outside");
    assert_eq!(fs::read_to_string(RMEM).expect("procfs"), before);
    // A socket that was made there has it.
    let socket = in_net(&host(&lab, "proxy").net_path(), || TcpListener::bind("127.0.0.1:0"));
    let socket = socket.expect("inside").expect("loopback is up");
    assert_eq!(rustix::net::sockopt::socket_recv_buffer_size(&socket), Ok(40_960));

    let back = lab.read_back().expect("it is up");
    let of = |host: usize, name: &str| {
        let sysctls = &back.hosts[host].sysctls;
        let found = sysctls.iter().find(|sysctl| sysctl.name == name).expect("it was read");
        (found.requested.clone(), found.effective.clone())
    };
    let asked = |value: &str| (Some(value.to_owned()), value.to_owned());
    assert_eq!(of(1, "net.ipv4.tcp_rmem"), asked("40960 40960 40960"));
    assert_eq!(of(1, "net.ipv4.tcp_congestion_control"), asked("reno"));
    let as_outside = before.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(of(0, "net.ipv4.tcp_rmem"), (None, as_outside));
    let mut nets = BTreeSet::from([fs::metadata("/proc/self/ns/net").expect("procfs").ino()]);
    for (index, host) in back.hosts.iter().enumerate() {
        assert_eq!((&host.name, back.hosts.len()), (&plan[index].name, 4));
        assert_eq!(host.addr.to_string(), format!("10.77.0.{}", index + 1));
        assert!(nets.insert(host.net), "a namespace of its own");
        let path = lab.host(&host.name).expect("it is up").net_path();
        assert_eq!(fs::metadata(path).expect("a file").ino(), host.net);
    }
}

/// How a harness that is killed or signalled takes its hosts along is tested there.
#[test]
fn a_lab_that_is_dropped_ends_with_all_that_is_inside() {
    let before = own_links();
    let Some(lab) = up(&hosts(&["a", "b"], &[])) else { return };
    let path = host(&lab, "b").net_path();
    let mut orphan = start(host(&lab, "b"), &["sh", "-c", "echo up; exec sleep 60"]);
    assert_eq!(orphan.line().as_deref(), Some("up"));
    assert_eq!(own_links(), before, "a lab is not to be seen outside");
    drop(lab);
    // No waiting here: a drop has waited.
    assert!(orphan.has_ended());
    assert_eq!(orphan.finish().status.signal(), Some(9));
    assert!(!path.exists(), "an open file was all that kept it");
    assert_eq!(own_links(), before);
}

#[test]
fn a_setting_that_cannot_be_made_is_told_with_its_host() {
    for (name, value, why) in [
        ("net.ipv4.tcp_rmem", "many", "Invalid argument"),
        ("net.ipv4.tcp_none", "1", "No such file"),
    ] {
        // Whatever else is missing here is not what is tested.
        let Some(lab) = up(&hosts(&["a"], &[])) else { return };
        drop(lab);
        let text = Lab::up(&hosts(&["a", "b"], &[(name, value)]))
            .expect_err("it cannot be built")
            .to_string();
        assert!(text.contains(&format!("\"{name}={value}\" on host b: {why}")), "{text}");
    }
}

#[test]
fn without_the_right_it_says_how_to_get_it() {
    if !installed("ip") {
        return;
    }
    // Rights are a thread's own, capabilities(7); a thread that it starts has no more.
    let made = thread::spawn(|| {
        let mut rights = capabilities(None).expect("our own");
        rights.effective = CapabilitySet::empty();
        set_capabilities(None, rights).expect("less than before");
        Lab::up(&hosts(&["a"], &[])).expect_err("no right").to_string()
    });
    let text = made.join().expect("no panic");
    assert!(text.contains("need root (CAP_SYS_ADMIN)") && text.contains("sudo"), "{text}");
}
