//! Orders, paces and ends that the harness asks for, of one download and of a thousand; and what is said of bad
//! options and of hosts that cannot carry the load.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use net::tcp::{Buffers, Listen};
use records::{DownloadEnd, ListenerMode, MonoNs};
use testkit::{Running, say, with_open_files};

use crate::support::{Slow, command, endless, request, server, whole};

#[test]
fn held_downloads_send_nothing_before_the_order() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let addr = server(move |_, stream| {
        let mut first = [0];
        stream.peek(&mut first)?;
        counted.fetch_add(1, Ordering::SeqCst);
        whole(stream, 100)
    });
    let mut slow = Slow::start(addr, "--slow 4 --slow-size 100 --hold --orders --interval 20ms");
    let mut ports: Vec<u16> = (0..4).map(|_| slow.dialed().client_port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 4);
    for _ in 0..3 {
        assert!(slow.interval().bytes.iter().all(|bytes| bytes.0 == 0));
    }
    assert_eq!(requests.load(Ordering::SeqCst), 0);
    slow.say("{\"order\":\"go\"}");
    slow.completed(4, 100);
    // Once released, the next of the slot does not wait for another order.
    while slow.download().ordinal < 2 {}
    slow.stop();
}

#[test]
fn a_held_connection_that_the_peer_closes_is_dialled_again() {
    let addr =
        server(|number, stream| if number == 0 { Ok(()) } else { request(stream).map(drop) });
    let mut slow = Slow::start(addr, "--slow 1 --hold --orders");
    slow.dialed();
    assert_eq!(slow.download().end, DownloadEnd::ClosedEarly);
    slow.dialed();
    assert_eq!(slow.stop().downloads(DownloadEnd::Stopped).len(), 1);
}

#[test]
fn a_redialled_download_comes_from_another_port() {
    let addr = server(|_, stream| endless(stream));
    let mut slow = Slow::start(addr, "--slow 2 --hold --orders");
    let (one, other) = (slow.dialed(), slow.dialed());
    slow.say("this is no order");
    slow.say("{\"order\":\"redial\",\"client_port\":1}");
    slow.say(&format!("{{\"order\":\"redial\",\"client_port\":{}}}", other.client_port));
    let replaced = slow.download();
    assert_eq!((replaced.slot, replaced.end), (other.slot, DownloadEnd::Replaced));
    assert_eq!(replaced.client_port, Some(other.client_port));
    let again = slow.dialed();
    assert_eq!(again.slot, other.slot);
    assert_ne!(again.client_port, other.client_port);
    // In the middle of a transfer it asks again at once.
    slow.say("{\"order\":\"go\"}");
    slow.moving();
    slow.say(&format!("{{\"order\":\"redial\",\"client_port\":{}}}", one.client_port));
    assert_eq!(slow.download().end, DownloadEnd::Replaced);
    assert_eq!(slow.dialed().slot, one.slot);
    slow.moving();
    let ended = slow.stop();
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.downloads(DownloadEnd::Replaced).len(), 2);
    assert_eq!(ended.downloads(DownloadEnd::Stopped).len(), 2);
    assert!(ended.stderr.contains("\"this is no order\", which is no order"), "{}", ended.stderr);
    assert!(ended.stderr.contains("no download runs from port 1"), "{}", ended.stderr);
}

#[test]
fn the_end_of_the_orders_is_not_the_end_but_a_duration_is() {
    let addr = server(|_, stream| whole(stream, 100));
    let mut slow = Slow::start(addr, "--slow 1 --slow-size 100 --orders --duration 300ms");
    slow.process.stdin = None;
    while slow.download().ordinal < 3 {}
    assert_eq!(slow.ended().code, Some(0));
}

#[test]
fn no_download_is_a_load_too() {
    let addr = server(|_, stream| endless(stream));
    let mut slow = Slow::start(addr, "--slow 0 --interval 10ms");
    assert!(slow.interval().bytes.is_empty());
    assert_eq!(slow.stop().code, Some(0));
}

#[test]
fn a_paced_download_never_outruns_its_rate_and_intervals_join() {
    const RATE: u64 = 4 << 20;
    let addr = server(|_, stream| endless(stream));
    let mut slow = Slow::start(addr, &format!("--slow 2 --read-rate {RATE} --interval 50ms"));
    let start = slow.dialed().at_ns;
    slow.dialed();
    let (mut bytes, mut end) = (vec![0; 2], MonoNs(0));
    for _ in 0..10 {
        let interval = slow.interval();
        assert!(end == MonoNs(0) || interval.start_ns == end, "no gap before {interval:?}");
        end = interval.end_ns;
        bytes.iter_mut().zip(&interval.bytes).for_each(|(sum, bytes)| *sum += bytes.0);
    }
    // What the bucket holds, and what came with the head, may come on top.
    let most = RATE as f64 * (end.since(start).as_secs_f64() + 0.06) + 8192.0;
    for sum in bytes {
        assert!(sum > 0 && (sum as f64) < most, "{sum} of {most}");
    }
    slow.stop();
}

#[test]
fn it_ends_quietly_when_nobody_reads_its_records() {
    let addr = server(|_, stream| endless(stream));
    let said = Running::unheard(&mut command(&format!("{addr} --slow 1 --interval 5ms"))).finish();
    assert_eq!((said.code(), said.stderr.as_str()), (Some(1), ""));
}

const DOWNLOADS: u32 = 1000;

/// Small enough to fit a send buffer, so that one thread can serve them all.
const SIZE: usize = 10_000;

#[test]
fn a_thousand_downloads_run_at_once() {
    assert!(net::role::raise_open_files() > 2 * u64::from(DOWNLOADS), "raise it with ulimit -n");
    let listen = Listen {
        addr: (Ipv4Addr::LOCALHOST, 0).into(),
        mode: ListenerMode::Shared,
        backlog: 2 * DOWNLOADS,
        buffers: Buffers::default(),
    };
    let listener = TcpListener::from(listen.open().expect("a free port"));
    listener.set_nonblocking(false).expect("a listener");
    let addr = listener.local_addr().expect("bound");
    thread::spawn(move || {
        // All of them stand before the first is served.
        let mut incoming = listener.incoming().map_while(Result::ok);
        let streams: Vec<_> = incoming.by_ref().take(DOWNLOADS as usize).collect();
        for mut stream in streams.into_iter().chain(incoming) {
            let _ = whole(&mut stream, SIZE);
        }
    });
    let args = format!("--slow {DOWNLOADS} --slow-size {SIZE} --hold --orders");
    let mut slow = Slow::start(addr, &args);
    for _ in 0..DOWNLOADS {
        slow.dialed();
    }
    slow.say("{\"order\":\"go\"}");
    slow.completed(DOWNLOADS, SIZE as u64);
    let ended = slow.stop();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for slot in 0..DOWNLOADS {
        let (by_download, by_interval) = ended.bytes(slot);
        assert_eq!(by_download, by_interval);
    }
}

#[test]
fn what_cannot_be_is_refused_with_what_to_do() {
    for (args, code, says) in [
        ("localhost", 2, "write it as 127.0.0.1:8000"),
        ("192.0.2.1:80", 2, "192.0.2.1:80 is not on this host: add --allow-remote"),
        ("127.0.0.1:1 --slow 100001", 2, "100000"),
        ("127.0.0.1:1 --slow-size 0", 2, "1 byte or more"),
        ("127.0.0.1:1 --read-rate 0", 2, "a rate above zero"),
        ("127.0.0.1:1 --interval 0s", 2, "1ms or more"),
        ("127.0.0.1:1 --hold", 2, "--orders"),
        ("127.0.0.1:1 --parent-pid 2147483646", 1, "the process that started this one has ended"),
    ] {
        let stderr = say(&mut command(args)).refused(code);
        assert!(stderr.contains(says), "{args:?}: {stderr}");
    }
    let stderr = say(&mut with_open_files(64, &command("127.0.0.1:1 --slow 1000"))).refused(1);
    let says = "needs 1016 descriptors, the limit is 64: raise it with ulimit -n";
    assert!(stderr.contains(says), "{stderr}");
}
