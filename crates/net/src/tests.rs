//! Options are what the kernel says they are, not what was asked for.

use std::net::{Ipv4Addr, SocketAddr};

use jiff::tz::TimeZone;
use records::{Bytes, Congestion, ListenerMode, LogTimes, Session};

use crate::cpu::{self, CpuList};
use crate::log_file::LogLine;
use crate::role;
use crate::tcp::{self, Buffers, Listen};
use crate::terminal::printable;

const LOOPBACK: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

fn listen(addr: SocketAddr, mode: ListenerMode) -> Listen {
    Listen { addr, mode, backlog: 16, buffers: Buffers::default() }
}

#[test]
fn a_buffer_is_read_back_and_one_beyond_every_limit_is_the_largest() {
    let socket = |size| {
        let socket = listen(LOOPBACK, ListenerMode::Shared).open().expect("a free port");
        let buffers = Buffers { rcvbuf: Some(size), sndbuf: Some(size) };
        buffers.apply(&socket).expect("capped, not refused");
        let settings = buffers.read_back(&socket, "x").expect("readable options");
        settings.into_iter().map(|setting| setting.effective).collect::<Vec<_>>()
    };
    assert_eq!(socket(Bytes::kib(40)), [Bytes::kib(80); 2], "socket(7): the kernel doubles it");
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
fn pinning_is_read_back_and_a_cpu_that_is_not_there_is_named() {
    std::thread::spawn(|| {
        let first = cpu::allowed().expect("an affinity mask")[0];
        cpu::pin_current_thread(&[first]).expect("an allowed CPU");
        assert_eq!(cpu::allowed().expect("an affinity mask"), [first]);
    })
    .join()
    .expect("no panic");
    let error = cpu::pin_current_thread(&[1023]).expect_err("no host has that many").to_string();
    let allowed = CpuList::new(cpu::allowed().expect("an affinity mask")).expect("some CPU");
    assert!(error.starts_with("cannot run on CPUs 1023: "), "{error}");
    assert!(error.ends_with(&format!("this process may run on {allowed}")), "{error}");
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
    assert_eq!(tcp::low_water(&socket).expect("readable"), Bytes(1));
    tcp::set_low_water(&socket, Bytes::kib(64)).expect("a mark");
    assert_eq!(tcp::low_water(&socket).expect("readable"), Bytes::kib(64));
    tcp::set_low_water(&socket, Bytes::gib(1)).expect("too much is capped, not refused");
    assert!(tcp::low_water(&socket).expect("readable") < Bytes::gib(1));
}

#[test]
fn a_shortage_of_this_host_is_told_from_trouble_of_one_socket() {
    use rustix::io::Errno;
    for errno in [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM] {
        assert!(tcp::is_shortage(&errno.into()), "{errno}");
    }
    assert!(!tcp::is_shortage(&Errno::CONNABORTED.into()));
}

#[test]
fn nothing_that_others_say_orders_a_terminal_about() {
    let said = "nginx: \u{1b}]0;mine\u{7}\u{1b}[2Jbind()\tfailed\r\u{9b}31m\u{7f}\nsecond line";
    assert_eq!(printable(said), "nginx: ]0;mine[2Jbind() failed31m\nsecond line");
    assert_eq!(printable("gr\u{fc}\u{df}e \u{2013} 60 %"), "gr\u{fc}\u{df}e \u{2013} 60 %");
}

fn line(request: &str, status: u16, log: LogTimes) -> String {
    let (request, body_bytes) = (request.to_owned(), Bytes(102_195));
    let session = Session { request, status, body_bytes, log, ..Session::default() };
    let client = Ipv4Addr::LOCALHOST.into();
    LogLine { client, session: &session, zone: &TimeZone::UTC }.to_string()
}

#[test]
fn lines_read_as_published_and_no_client_can_forge_one() {
    let log = LogTimes {
        at_unix_ms: 1_686_200_000_123,
        rt_ms: 790,
        uct_ms: Some(480),
        uht_ms: Some(1_004),
        urt_ms: Some(0),
    };
    assert_eq!(
        line("GET /bytes/3MiB HTTP/1.1", 200, log),
        "127.0.0.1 [08/Jun/2023:04:53:20 +0000] \"GET /bytes/3MiB HTTP/1.1\" status=200 \
         body_bytes_sent=102195 rt=0.790 uct=\"0.480\" uht=\"1.004\" urt=\"0.000\""
    );
    let early = LogTimes { urt_ms: Some(0), ..LogTimes::default() };
    let forged = line("GET /\"\n\u{7f}\u{e9}\\ HTTP/1.1", 499, early);
    let escaped = "\"GET /\\x22\\x0A\\x7F\\xC3\\xA9\\x5C HTTP/1.1\" status=499 ";
    assert!(forged.contains(escaped), "{forged}");
    assert!(forged.ends_with("rt=0.000 uct=\"-\" uht=\"-\" urt=\"0.000\""), "{forged}");
}
