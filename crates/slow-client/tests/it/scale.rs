//! A thousand at once.

use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use net::tcp::{Buffers, Listen};
use records::{DownloadEnd, ListenerMode};

use crate::server::whole;
use crate::slow::Slow;

const DOWNLOADS: u32 = 1000;

/// Small enough to fit a send buffer, so that one thread can serve them all.
const SIZE: usize = 10_000;

#[test]
fn a_thousand_downloads_run_at_once() {
    assert!(net::limit::raise_open_files() > 2 * u64::from(DOWNLOADS), "raise it with ulimit -n");
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
        let streams: Vec<_> =
            listener.incoming().take(DOWNLOADS as usize).map_while(Result::ok).collect();
        for mut stream in streams {
            let _ = whole(&mut stream, SIZE);
        }
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = whole(&mut stream, SIZE);
        }
    });
    let args = format!("--slow {DOWNLOADS} --slow-size {SIZE} --hold --orders");
    let mut slow = Slow::start(addr, &args);
    for _ in 0..DOWNLOADS {
        slow.dialed();
    }
    slow.say("{\"order\":\"go\"}");
    let mut completed = vec![false; DOWNLOADS as usize];
    while completed.contains(&false) {
        let download = slow.download();
        assert_eq!(download.end, DownloadEnd::Completed);
        assert_eq!(download.bytes.0, SIZE as u64);
        completed[download.slot as usize] = true;
    }
    let ended = slow.stop();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for slot in 0..DOWNLOADS {
        let (by_download, by_interval) = ended.bytes(slot);
        assert_eq!(by_download, by_interval);
    }
}
