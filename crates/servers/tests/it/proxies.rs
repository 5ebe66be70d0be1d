//! Each program under a few requests: what it tells, in the mirror's own records.

use std::io::Read;
use std::net::Shutdown;

use net::cpu::CpuList;
use records::{Bytes, Role, SessionEnd, Visibility};
use serde_json::json;
use servers::ServerOptions;
use testkit::{await_gone, installed};

use crate::support::{Server, asks, request};

/// The servers that are built in, and their programs.
const SERVERS: [(&str, &str); 5] = [
    ("nginx", "nginx"),
    ("haproxy", "haproxy"),
    ("caddy", "caddy"),
    ("apache", "apache2"),
    ("h2o", "h2o"),
];

/// Does that with every server that is installed, and one of these, if they are named.
pub(crate) fn each(only: &[&str], test: impl Fn(&str)) {
    for (proxy, program) in SERVERS {
        if (only.is_empty() || only.contains(&proxy)) && installed(program) {
            test(proxy);
        }
    }
}

/// Whole answers, an answer that is cut by its client, and nothing left.
#[test]
fn each_serves_and_tells() {
    each(&[], |proxy| {
        let mut server = Server::start(asks(proxy, json!({})));
        assert_eq!((server.ready.role, server.ready.pid), (Role::Proxy, server.id()));
        assert_eq!(server.ready.visibility, Visibility::LogOnly, "{proxy}");
        let program = server.ready.program.clone().expect("it is named");
        assert_eq!(program.name, proxy);
        assert!(program.path.is_absolute() && !program.version.is_empty(), "{program:?}");
        assert!(server.ready.effective.congestion.is_some(), "{proxy}");

        let whole = [1, 10_000, 3_000_000].map(|size| {
            let (port, body) = server.fetch(&size.to_string());
            assert_eq!(body, size, "{proxy}");
            (port, size as u64)
        });
        // The client goes in the middle of an answer that fits into no buffer.
        let mut stream = server.connect();
        let cut = stream.local_addr().expect("connected").port();
        request(&mut stream, "900000000");
        stream.read_exact(&mut [0; 100_000]).expect("it begins");
        stream.shutdown(Shutdown::Both).expect("ours");
        drop(stream);
        server.await_logged(cut);

        let family = server.family();
        assert!(!family.is_empty());
        let sessions = server.sessions();
        await_gone(family);
        assert_eq!(sessions.len(), 4, "{proxy}: {sessions:?}");
        for (port, size) in whole {
            let session = &sessions[&port];
            assert_eq!(session.request, format!("GET /bytes/{size} HTTP/1.1"), "{proxy}");
            assert_eq!((session.status, session.end), (200, SessionEnd::Completed), "{session:?}");
            assert_eq!(session.body_bytes, Bytes(size), "{proxy}");
            assert!(session.accepted_ns <= session.closed_ns, "{session:?}");
            assert!(session.log.at_unix_ms > 0, "{session:?}");
        }
        let session = &sessions[&cut];
        assert_eq!((session.status, session.end), (200, SessionEnd::ClientClosed), "{session:?}");
        assert!(session.body_bytes < Bytes(900_000_000), "{session:?}");
        let log = server.file("access.log");
        assert!(log.lines().all(|line| line.contains(" status=200 body_bytes_sent=")), "{log}");
        assert_eq!(log.lines().count(), 6, "four and the two of the start: {log}");
    });
}

#[test]
fn a_client_that_gives_up_is_499_and_its_worker_is_known() {
    each(&["nginx"], |proxy| {
        let mut server = Server::start(asks(proxy, json!({})));
        assert_eq!(server.ready.listeners.len(), 1, "a shared listener is told once");
        assert_eq!(server.ready.worker_tids.len(), 2);
        let mut stream = server.connect();
        let port = stream.local_addr().expect("connected").port();
        request(&mut stream, "never");
        drop(stream);
        server.await_logged(port);
        let session = server.sessions().remove(&port).expect("its session");
        assert_eq!((session.status, session.end), (499, SessionEnd::ClientClosed));
        assert_eq!((session.body_bytes, session.log.uht_ms), (Bytes(0), None));
        let worker = server.ready.worker_tids[session.worker as usize];
        assert!(server.file("access.log").contains(" status=499 body_bytes_sent=0 "));
        assert!(server.file("nginx-access.log").contains(&format!(" port={port} pid={worker} ")));
    });
}

/// Workers on CPUs, listeners by worker, buffers read back.
#[test]
fn toggles_are_taken() {
    each(&["nginx", "haproxy"], |proxy| {
        let asked = json!({"reuseport": true, "workers": 3, "backlog": 77});
        let pin = CpuList::new(vec![0]);
        let mut server = Server::start(ServerOptions { pin, ..asks(proxy, asked) });
        let ready = &server.ready;
        assert_eq!((ready.worker_tids.len(), &*ready.effective.cpus), (3, &[0][..]), "{proxy}");
        let mut listeners = ready.listeners.clone();
        listeners.sort_unstable();
        listeners.dedup();
        assert_eq!(listeners.len(), 3, "one each: {:?}", ready.listeners);
        let rcvbuf = ready.effective.sockets.iter().find(|s| s.name == "accepted SO_RCVBUF");
        let rcvbuf = rcvbuf.expect("it is read back");
        assert!(rcvbuf.effective > Bytes(0), "{rcvbuf:?}");
        let queue = net::sock_diag::SockDiag::open().expect("the kernel").listeners(server.addr());
        assert!(queue.expect("it tells").iter().all(|queue| queue.limit == 77), "{proxy}");
        let (port, _) = server.fetch("1000");
        assert!(server.sessions()[&port].worker < 3, "{proxy}");
    });
}

/// Files of text below the directory, gone at the end.
#[test]
fn files_are_served_and_removed() {
    each(&["nginx", "caddy", "apache", "h2o"], |proxy| {
        let asked = json!({"content": "file", "slow_size": 2 << 20, "fetch_size": 70_000});
        let mut server = Server::start(asks(proxy, asked));
        let www = server.dir.path().join("www");
        assert!(www.exists(), "{proxy}");
        let ports = [("2MiB", 2 << 20), ("70000", 70_000)].map(|(size, bytes)| {
            let (port, body) = server.fetch(size);
            assert_eq!(body, bytes, "{proxy}");
            port
        });
        let sessions = server.sessions();
        assert!(ports.iter().all(|port| sessions[port].status == 200), "{proxy}: {sessions:?}");
        assert!(!www.exists(), "{proxy}");
    });
}
