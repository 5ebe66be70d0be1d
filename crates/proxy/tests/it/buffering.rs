//! `--buffering on`: what a client does not take goes into a file that the worker writes, and comes
//! out whole.

use std::fs::{self, Metadata};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use records::SessionEnd;
use testkit::{PATIENCE, body, origin};

use crate::support::{Proxy, get, pattern, resident_kib};

/// More than the sockets on the way hold: with a receive buffer of 64 KiB at the client.
const LARGE: usize = 64 << 20;

/// An origin that says when all of its answer was taken from it.
fn telling_origin(size: usize) -> (std::net::SocketAddr, Receiver<()>) {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let addr = origin(move |mut stream, _| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n");
        let sent =
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&pattern(size)));
        if sent.is_ok() {
            // Closing waits for nothing: the kernel still has the last of it.
            let _ = stream.read(&mut [0]);
            let _ = tell.lock().map(|tell| tell.send(()));
        }
    });
    (addr, told)
}

/// A client that has asked and takes nothing.
fn stuck_client(proxy: &Proxy) -> TcpStream {
    let mut client = proxy.connect();
    socket2::SockRef::from(&client).set_recv_buffer_size(32 << 10).expect("a small buffer");
    client.write_all(&get("/")).expect("the proxy reads");
    client
}

/// The files without a name that the proxy has open in `dir`.
fn open_files(proxy: &Proxy, dir: &Path) -> Vec<Metadata> {
    let device = fs::metadata(dir).expect("a folder").dev();
    let fds = fs::read_dir(format!("/proc/{}/fd", proxy.id())).expect("ours");
    fds.filter_map(|fd| fs::metadata(fd.ok()?.path()).ok())
        .filter(|file| file.is_file() && file.nlink() == 0 && file.dev() == device)
        .collect()
}

fn answer(client: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).expect("the whole answer");
    answer
}

#[test]
fn an_upstream_is_drained_while_its_client_takes_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let (upstream, drained) = telling_origin(LARGE);
    let spool = dir.path().to_str().expect("a path");
    let proxy = Proxy::start(upstream, &["--workers", "1", "--buffering", "on", "--spool", spool]);
    let before = resident_kib(proxy.id());
    let mut client = stuck_client(&proxy);
    drained.recv_timeout(PATIENCE).expect("the origin is let go");
    let grown = resident_kib(proxy.id()).saturating_sub(before);
    assert!(grown < 4 << 10, "{grown} KiB for one session");
    let [file] = &open_files(&proxy, dir.path())[..] else { panic!("one file without a name") };
    assert!(file.len() > LARGE as u64 / 2, "{} bytes in it", file.len());
    assert_eq!(fs::read_dir(dir.path()).expect("a folder").count(), 0, "it has no name");

    let answer = answer(&mut client);
    assert!(body(&answer) == pattern(LARGE), "other bytes");
    let session = proxy.await_session();
    assert_eq!((session.end, session.body_bytes.0), (SessionEnd::Completed, LARGE as u64));
    assert!(open_files(&proxy, dir.path()).is_empty());
}

#[test]
fn every_policy_and_limit_passes_every_byte() {
    let dir = tempfile::tempdir().expect("a folder");
    let spool = dir.path().to_str().expect("a path");
    for policy in ["drain", "short-read", "fionread", "bytes:64KiB", "reads:1", "time:100us"] {
        for max in ["0", "10000", "1GiB"] {
            let (upstream, _) = telling_origin(8_000_000);
            let mut args = vec!["--read-policy", policy, "--buffering", "on"];
            args.extend(["--spool", spool, "--spool-max", max]);
            let proxy = Proxy::start(upstream, &args);
            let mut client = stuck_client(&proxy);
            assert!(body(&answer(&mut client)) == pattern(8_000_000), "{policy} {max}");
            assert_eq!(proxy.await_session().end, SessionEnd::Completed);
        }
    }
}
