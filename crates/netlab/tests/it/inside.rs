//! What it is like inside: addresses, settings, rates, programs.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use netlab::{Host, Lab, LabPlan, LinkRate, NetId, Sysctl, enter_net, in_net};
use records::Bytes;
use testkit::{PATIENCE, Running, Said};

use crate::support::{own_links, up};

const RMEM: &str = "/proc/sys/net/ipv4/tcp_rmem";

fn four() -> LabPlan {
    LabPlan::of(["origin", "proxy", "slow", "fast"])
}

fn host<'a>(lab: &'a Lab, name: &str) -> &'a Host {
    lab.host(name).expect("it is in the plan")
}

/// Starts a program on a host through the hop.
fn start(host: &Host, words: &[&str]) -> Running {
    let enter = host.enter();
    let (program, args) = enter.split_first().expect("a program");
    Running::start(Command::new(program).args(args).args(words))
}

fn run(host: &Host, words: &[&str]) -> Said {
    start(host, words).finish()
}

fn text(said: Said) -> String {
    said.ended_well().stdout.trim().to_owned()
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
fn a_program_on_one_host_reaches_a_server_on_another() {
    let Some(lab) = up(&four()) else { return };
    let addr = server(host(&lab, "origin"), Bytes(300_000));
    let fetch = format!("exec 3<>/dev/tcp/{}/{} && wc -c <&3", addr.ip(), addr.port());
    for name in ["proxy", "slow", "fast", "origin"] {
        assert_eq!(text(run(host(&lab, name), &["bash", "-c", &fetch])), "300000", "from {name}");
    }
    // The address exists inside only.
    let outside = TcpStream::connect_timeout(&addr, Duration::from_millis(300));
    assert!(outside.is_err());
}

#[test]
fn a_program_on_a_host_is_the_process_that_was_started() {
    let Some(lab) = up(&four()) else { return };
    let proxy = host(&lab, "proxy");
    let mut shell = start(proxy, &["sh", "-c", "echo $$ $PPID; readlink /proc/$$/ns/net"]);
    let said = shell.finish();
    let net = NetId::of_path(&proxy.net_path()).expect("it is up");
    let expected = format!("{} {}\nnet:[{}]", shell.id(), std::process::id(), net.ino);
    assert_eq!(text(said), expected);
    assert_ne!(net, NetId::current().expect("procfs"));
}

#[test]
fn a_program_on_a_host_dies_with_the_thread_that_started_it() {
    let Some(lab) = up(&four()) else { return };
    let proxy = host(&lab, "proxy");
    let mut shell = thread::scope(|scope| {
        let started = scope.spawn(|| {
            let shell = start(proxy, &["sh", "-c", "echo up; exec sleep 300"]);
            // The end of this thread must find it past the hop.
            assert_eq!(shell.line().as_deref(), Some("up"));
            shell
        });
        started.join().expect("no panic")
    });
    assert_eq!(shell.finish().status.signal(), Some(9));
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let Some(lab) = up(&LabPlan::of(["a"])) else { return };
    let said = run(host(&lab, "a"), &["/none"]);
    assert_eq!(said.code(), Some(1));
    let why = "failed to run \"/none\" inside: No such file";
    assert!(said.stderr.contains(why), "{}", said.stderr);
}

#[test]
fn a_setting_holds_on_its_host_alone() {
    let mut plan = four();
    let rmem = Sysctl::new("net.ipv4.tcp_rmem", "40960 40960 40960").expect("a setting");
    let reno = Sysctl::new("net.ipv4.tcp_congestion_control", "reno").expect("a setting");
    plan.host_mut("proxy").expect("it is there").sysctls.extend([rmem, reno]);
    let before = fs::read_to_string(RMEM).expect("procfs");
    let Some(lab) = up(&plan) else { return };

    assert_eq!(text(run(host(&lab, "proxy"), &["cat", RMEM])), "40960\t40960\t40960");
    for name in ["origin", "slow", "fast"] {
        assert_eq!(text(run(host(&lab, name), &["cat", RMEM])), before.trim(), "on {name}");
    }
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
}

#[test]
fn a_lab_tells_what_it_is() {
    let mut plan = four();
    plan.rate = LinkRate::from_bits(1_000_000_000);
    let before = own_links();
    let Some(lab) = up(&plan) else { return };
    assert_eq!(own_links(), before);
    let back = lab.read_back().expect("it is up");
    assert_eq!(back.rate_bits_per_sec, plan.rate);
    assert_eq!(back.hosts.len(), 4);
    for (index, host) in back.hosts.iter().enumerate() {
        assert_eq!(host.name, plan.hosts[index].name);
        assert_eq!(host.addresses, ["lo 127.0.0.1/8".into(), format!("eth0 {}/24", host.addr)]);
        for queues in [&host.uplink, &host.downlink] {
            let [queue] = &queues[..] else { panic!("one queue: {queues:?}") };
            assert!(queue.starts_with("qdisc tbf 10: root"), "{queue}");
            assert!(queue.contains("rate 1Gbit"), "{queue}");
        }
    }
    let nets: std::collections::HashSet<_> = back.hosts.iter().map(|host| host.net).collect();
    assert_eq!(nets.len(), 4);
}

#[test]
fn a_transfer_takes_as_long_as_the_rate_says() {
    let mut plan = LabPlan::of(["origin", "proxy"]);
    plan.rate = LinkRate::from_bits(32_000_000);
    let Some(lab) = up(&plan) else { return };
    let size = Bytes::mib(4);
    let addr = server(host(&lab, "origin"), size);
    let begun = Instant::now();
    let connect = || TcpStream::connect_timeout(&addr, PATIENCE);
    let stream = in_net(&host(&lab, "proxy").net_path(), connect).expect("inside");
    let mut body = Vec::new();
    stream.expect("it listens").read_to_end(&mut body).expect("the whole of it");
    let took = begun.elapsed();
    assert_eq!(body.len(), size.as_usize());
    // 4 MiB at 4 MB/s are 1.05 s; without a limit, some ms.
    assert!(took > Duration::from_millis(500), "{took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn a_thread_that_enters_sees_the_host_and_others_do_not() {
    let Some(lab) = up(&four()) else { return };
    let path = host(&lab, "slow").net_path();
    let net = NetId::of_path(&path).expect("it is up");
    let inside = thread::spawn(move || {
        enter_net(&path).expect("it is up");
        let routes = fs::read_to_string("/proc/thread-self/net/route").expect("procfs");
        (NetId::current().expect("procfs"), routes)
    });
    let (entered, routes) = inside.join().expect("no panic");
    assert_eq!(entered, net);
    assert_eq!(routes.lines().count(), 2, "a heading and one network: {routes}");
    assert_ne!(NetId::current().expect("procfs"), net);
}
