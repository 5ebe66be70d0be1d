//! Options are what the kernel says they are, not what was asked for.

use std::net::{Ipv4Addr, SocketAddr};

use records::{Bytes, Congestion, ListenerMode, socket_addr};

use crate::cpu::{self, CpuList};
use crate::tcp::{self, Buffers, Dial, Listen};
use crate::terminal::printable;
use crate::{low_water, role};

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn listen(addr: SocketAddr, mode: ListenerMode) -> Listen {
    Listen { addr, mode, backlog: 16, buffers: Buffers::default() }
}

#[test]
fn a_receive_buffer_is_read_back_doubled() {
    let buffers = Buffers { rcvbuf: Some(Bytes::kib(40)), sndbuf: None };
    let listener = listen(LOOPBACK, ListenerMode::Shared).open().expect("a free port");
    let addr = listener.local_addr().expect("bound").as_socket().expect("an IP address");
    let socket = Dial { addr, from: None, buffers }.start().expect("a connect under way");
    let settings = buffers.read_back(&socket, "upstream").expect("readable options");
    assert_eq!(settings[0].name, "upstream SO_RCVBUF");
    assert_eq!(settings[0].effective, Bytes::kib(80), "socket(7): the kernel doubles it");
    assert_eq!(settings[1].requested, None);
}

#[test]
fn a_buffer_beyond_every_limit_is_the_largest_and_not_the_smallest() {
    let socket = |size| {
        let socket = listen(LOOPBACK, ListenerMode::Shared).open().expect("a free port");
        let buffers = Buffers { rcvbuf: Some(size), sndbuf: Some(size) };
        buffers.apply(&socket).expect("capped, not refused");
        let settings = buffers.read_back(&socket, "x").expect("readable options");
        settings.into_iter().map(|setting| setting.effective).collect::<Vec<_>>()
    };
    // 2^32 and 2^40 are 0 as an int.
    for size in [Bytes::gib(4), Bytes::gib(1024)] {
        assert_eq!(socket(size), socket(Bytes::gib(1)), "{size}");
    }
}

#[test]
fn congestion_control_is_inherited_and_a_wrong_one_is_named() {
    let listener = listen(LOOPBACK, ListenerMode::Shared).open().expect("a free port");
    tcp::set_congestion(&listener, &Congestion::default()).expect("reno is everyone's");
    let addr = listener.local_addr().expect("bound");
    listener.set_nonblocking(false).expect("a blocking accept");
    let client = std::net::TcpStream::connect(addr.as_socket().expect("an IP address"));
    let (accepted, _) = listener.accept().expect("a connection");
    assert_eq!(tcp::congestion(&accepted).expect("readable"), "reno");
    drop(client);
    let unknown = "nosuch".parse().expect("a name");
    let error = tcp::set_congestion(&accepted, &unknown).expect_err("no such").to_string();
    assert!(error.contains("nosuch") && error.contains("allows"), "{error}");
}

#[test]
fn only_reuseport_shares_a_port() {
    let first = listen(LOOPBACK, ListenerMode::Reuseport).open().expect("a free port");
    let addr = first.local_addr().expect("bound").as_socket().expect("an IP address");
    assert!(listen(addr, ListenerMode::Reuseport).open().is_ok());
    let error = listen(addr, ListenerMode::Shared).open().expect_err("a busy port").to_string();
    assert!(error.contains("choose another port"), "{error}");
}

#[test]
fn cpu_lists_read_as_people_write_them() {
    let list: CpuList = "0,2-4".parse().expect("a list");
    assert_eq!(list.as_slice(), [0, 2, 3, 4]);
    assert_eq!(list.in_turn(5), 2);
    for text in ["", "a", "1-", "3-1", "99999"] {
        assert!(text.parse::<CpuList>().is_err(), "{text}");
    }
}

#[test]
fn pinning_is_read_back() {
    std::thread::spawn(|| {
        let first = cpu::allowed().expect("an affinity mask")[0];
        cpu::pin_current_thread(&[first]).expect("an allowed CPU");
        assert_eq!(cpu::allowed().expect("an affinity mask"), [first]);
    })
    .join()
    .expect("no panic");
}

#[test]
fn a_cpu_that_is_not_there_is_named_with_those_that_are() {
    let error = cpu::pin_current_thread(&[1023]).expect_err("no host has that many").to_string();
    let allowed = CpuList::new(cpu::allowed().expect("an affinity mask")).expect("some CPU");
    assert!(error.starts_with("cannot run on CPUs 1023: "), "{error}");
    assert!(error.ends_with(&format!("this process may run on {allowed}")), "{error}");
}

#[test]
fn an_address_has_a_port_and_no_name() {
    let v6 = SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, 80));
    assert_eq!(socket_addr("[::1]:80"), Ok(v6));
    for text in ["localhost:80", "127.0.0.1", "::1:80", "127.0.0.1:80000", ""] {
        let error = socket_addr(text).expect_err(text);
        assert!(error.contains("write it as 127.0.0.1:8000"), "{error}");
    }
}

#[test]
fn the_soft_limit_is_raised_to_the_hard_one() {
    let raised = role::raise_open_files();
    assert_eq!(raised, role::raise_open_files());
    assert!(raised > 0);
}

#[test]
fn a_low_water_mark_is_read_back_and_capped() {
    let socket = listen(LOOPBACK, ListenerMode::Shared).open().expect("a free port");
    assert_eq!(low_water::read_back(&socket).expect("readable"), Bytes(1));
    low_water::set(&socket, Bytes::kib(64)).expect("a mark");
    assert_eq!(low_water::read_back(&socket).expect("readable"), Bytes::kib(64));
    low_water::set(&socket, Bytes::gib(1)).expect("too much is capped, not refused");
    assert!(low_water::read_back(&socket).expect("readable") < Bytes::gib(1));
}

#[test]
fn a_shortage_of_this_host_is_told_from_trouble_of_one_socket() {
    use rustix::io::Errno;
    for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
        assert!(tcp::is_shortage(&errno.into()), "{errno}");
    }
    for errno in [Errno::CONNABORTED, Errno::CONNREFUSED, Errno::ADDRNOTAVAIL] {
        assert!(!tcp::is_shortage(&errno.into()), "{errno}");
    }
}

#[test]
fn nothing_that_others_say_orders_a_terminal_about() {
    let said = "nginx: \u{1b}]0;mine\u{7}\u{1b}[2Jbind()\tfailed\r\u{9b}31m\u{7f}\nsecond line";
    assert_eq!(printable(said), "nginx: ]0;mine[2Jbind() failed31m\nsecond line");
    assert_eq!(printable("gr\u{fc}\u{df}e \u{2013} 60 %"), "gr\u{fc}\u{df}e \u{2013} 60 %");
}
