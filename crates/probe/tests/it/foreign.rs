//! Proxies of others under the tracer: what was downloaded through them is what it saw.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use probe::{Means, Target, Tracer};
use records::{Micros, Record, Session, SessionEnd, StepEnd, WorkerTotals};
use testkit::{NEVER_POLLS, Running, free_addr, in_turn, pick, program, until};

use crate::support::{can_probe, download, role, told, workers};

/// A program of others, which dies with us, once it listens.
fn foreign(program: &Path, args: &[&str], addr: SocketAddr) -> Running {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program).args(args);
    let running = Running::start(&mut command);
    until(&format!("a listener on {addr}"), || TcpStream::connect(addr).ok());
    running
}

/// Downloads through a proxy that runs; its sessions with bytes, and its totals.
fn watch(addr: SocketAddr, targets: &[Target]) -> (Vec<Session>, Vec<WorkerTotals>) {
    let (tell, seen) = channel();
    let take = move |record| drop(tell.send(record));
    let tracer = Tracer::attach(targets, Means::Probe, Micros(1_000), take).expect("it runs");
    download(addr, 4, Duration::from_secs(2));
    thread::sleep(Duration::from_millis(200));
    tracer.stop().expect("all was seen");
    let mut told = told(seen);
    told.sessions.retain(|session| session.body_bytes.0 > 0);
    let last = told.totals.into_iter().map(|totals| (totals.worker, totals));
    (told.sessions, last.collect::<BTreeMap<_, _>>().into_values().collect())
}

/// Every download is a session with an upstream of its own, and what workers read from upstreams is
/// what they wrote to clients.
fn check(sessions: &[Session], totals: &[WorkerTotals]) {
    assert_eq!(sessions.len(), 4, "{sessions:#?}");
    let mut ports: Vec<_> = sessions.iter().filter_map(|session| session.upstream_port).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 4, "an upstream for each: {sessions:#?}");
    let read: u64 = totals.iter().map(|told| told.bytes.0).sum();
    let written: u64 = sessions.iter().map(|session| session.body_bytes.0).sum();
    assert!(written > 10_000_000, "{written} bytes");
    // What is still in buffers when a download is hung up was read and not written.
    let slack = read / 10 + 4 * 1_000_000;
    assert!(read.abs_diff(written) < slack, "{read} read, {written} written");
    assert!(totals.iter().all(|told| told.records_lost == 0), "{totals:?}");
    for session in sessions {
        assert!(session.steps > 0 && session.steps_us > Micros(0), "{session:?}");
        let times = [session.request_ns, session.connected_ns, session.head_ns];
        assert!(times.iter().all(Option::is_some) && times.is_sorted(), "{session:?}");
        assert!(session.request_ns >= Some(session.accepted_ns), "{session:?}");
    }
}

fn write(dir: &Path, name: &str, text: &str) -> String {
    let file = dir.join(name);
    fs::write(&file, text).expect("a temporary file");
    file.to_str().expect("a plain path").to_owned()
}

#[test]
fn nginx_is_understood() {
    let _turn = in_turn();
    let Some(nginx) = program("nginx").filter(|_| can_probe()) else { return };
    for buffering in ["off", "on"] {
        let origin = role("origin", &[]);
        let upstream = origin.addr();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (addr, root) = (free_addr(), dir.path().display());
        let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {root}/{kind};"))
            .join(" ");
        // Without a master: its workers would outlive it if this test were killed.
        let conf = format!(
            "daemon off; master_process off; pid {root}/pid; error_log {root}/error.log;
             user root; events {{ }}
             http {{ access_log {root}/access.log; {temp}
                 server {{ listen {addr} reuseport; location / {{
                     proxy_pass http://{upstream}; proxy_buffering {buffering};
                     proxy_max_temp_file_size 0; }} }} }}"
        );
        let conf = write(dir.path(), "nginx.conf", &conf);
        let prefix = dir.path().to_str().expect("a plain path");
        let mut process = foreign(&nginx, &["-p", prefix, "-c", &conf], addr);
        let workers = workers(process.id(), [process.id()]);
        let (sessions, totals) = watch(addr, &workers);
        process.stop();
        check(&sessions, &totals);
    }
}

#[test]
fn haproxy_is_understood() {
    let _turn = in_turn();
    let Some(haproxy) = program("haproxy").filter(|_| can_probe()) else { return };
    let origin = role("origin", &[]);
    let upstream = origin.addr();
    let dir = tempfile::tempdir().expect("a temporary directory");
    let addr = free_addr();
    let conf = format!(
        "global\n nbthread 2\n maxconn 100\n\
         defaults\n mode http\n timeout connect 5s\n timeout client 30s\n timeout server 30s\n\
         listen front\n bind {addr}\n server origin {upstream}\n"
    );
    let conf = write(dir.path(), "haproxy.cfg", &conf);
    let mut process = foreign(&haproxy, &["-db", "-f", &conf], addr);
    let threads = fs::read_dir(format!("/proc/{}/task", process.id())).expect("it runs");
    let tid = |thread: fs::DirEntry| thread.file_name().to_str()?.parse().ok();
    let workers = workers(process.id(), threads.flatten().filter_map(tid));
    assert_eq!(workers.len(), 2, "{workers:?}");
    let (sessions, totals) = watch(addr, &workers);
    process.stop();
    check(&sessions, &totals);
}

/// A step that began before anybody watched and goes on when nobody does any more.
#[test]
fn a_step_without_an_end_is_told_as_far_as_it_was_seen() {
    let _turn = in_turn();
    let Some(python) = program("python3").filter(|_| can_probe()) else { return };
    let addr = free_addr();
    let mut process = foreign(&python, &[NEVER_POLLS, &addr.to_string()], addr);
    let mut client = TcpStream::connect(addr).expect("it listens");
    client.write_all(b"GET /bytes/64GiB HTTP/1.1\r\n\r\n").expect("it reads");
    let port = client.local_addr().expect("connected").port();
    let mut some = [0; 65_536];
    client.read_exact(&mut some).expect("it answers");
    // Until it is closed from the other side.
    let reader = thread::spawn(move || while client.read(&mut some).is_ok_and(|got| got > 0) {});

    let workers = workers(process.id(), [process.id()]);
    let (tell, seen) = channel();
    let take = move |record| drop(tell.send(record));
    let tracer = Tracer::attach(&workers, Means::Probe, Micros(1_000), take).expect("it runs");
    let watched = Duration::from_millis(500);
    thread::sleep(watched);
    tracer.stop().expect("all was seen");
    process.stop();
    reader.join().expect("no panic");

    let seen: Vec<Record> = seen.iter().collect();
    let holds = seen.iter().filter_map(pick!(Hold));
    let hold = holds.max_by_key(|hold| hold.length_us()).expect("a hold");
    assert!(hold.length_us().as_duration() >= watched, "{hold:?}");
    assert_eq!((hold.client_port, hold.bytes.0 > 0), (port, true), "{hold:?}");
    assert_eq!((hold.reads > 0, hold.ended_by), (true, StepEnd::Unknown), "{hold:?}");
    let sessions = seen.iter().filter_map(pick!(Session));
    let ends = sessions.map(|session| (session.client_port, session.end));
    assert!(ends.eq([(port, SessionEnd::Shutdown)]), "{seen:?}");
    let turns = seen.iter().filter_map(pick!(LoopTurn));
    assert!(turns.map(|turn| turn.start_ns).eq([hold.start_ns]), "{seen:?}");
    let stretches = seen.iter().filter_map(pick!(Stretch));
    let told = stretches.map(|stretch| (stretch.start_ns, stretch.end_ns));
    assert!(told.eq([(hold.start_ns, hold.end_ns)]), "{seen:?}");
}
