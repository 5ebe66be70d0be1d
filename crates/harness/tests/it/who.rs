//! `turnstile who`: the mirror held by a download, whoever cannot be watched, the terminal.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Process, connect, free_addr, is_root, program, skip};

use crate::support::{Running, in_turn, say, turnstile, until};
use crate::tmux::Tmux;

/// An origin, and a mirror with one worker before it that drains.
struct Servers {
    origin: Process,
    mirror: Process,
}

impl Servers {
    fn start() -> Self {
        let role = |words: &str| Process::start(turnstile().args(words.split(' ')));
        let origin = role("origin --listen 127.0.0.1:0");
        let mirror = format!("proxy --listen 127.0.0.1:0 --upstream {}", origin.addr());
        let mirror = role(&(mirror + " --workers 1 --read-policy drain --rcvbuf 1MiB"));
        Self { origin, mirror }
    }

    /// Begins to download more than will ever be read, on a thread of its own and for so long; returns
    /// where it was dialed from.
    fn download(&self, length: Duration) -> SocketAddr {
        let mut stream = connect(self.mirror.addr());
        let client = stream.local_addr().expect("bound");
        stream.write_all(b"GET /bytes/900GiB HTTP/1.1\r\nHost: x\r\n\r\n").expect("it reads");
        thread::spawn(move || {
            let (until, mut buffer) = (Instant::now() + length, vec![0; 256 * 1024]);
            while Instant::now() < until && stream.read(&mut buffer).is_ok_and(|got| got > 0) {}
        });
        client
    }
}

fn who(words: &[&str]) -> Command {
    let mut command = turnstile();
    command.arg("who").args(words);
    command
}

/// Whether this host lets us watch; says why a test is skipped. In CI it fails instead.
fn can_watch() -> bool {
    let own = std::process::id().to_string();
    let said = say(&mut who(&["--pid", &own, "--for", "1ms"]));
    let lacks = ["needs CAP_BPF", "no BTF", "no such hook"];
    if said.code() == Some(1) && lacks.iter().any(|lack| said.stderr.contains(lack)) {
        assert!(std::env::var_os("CI").is_none(), "{}", said.all());
        skip(said.stderr.trim_end());
        return false;
    }
    said.ended_well();
    true
}

/// Waits until it says this on standard error; returns what follows.
fn await_said(running: &Running, what: &str) -> String {
    loop {
        let line = running.complaint().unwrap_or_else(|| panic!("it ended before {what}"));
        if let Some((_, rest)) = line.split_once(what) {
            return rest.to_owned();
        }
    }
}

#[test]
fn the_download_that_holds_the_mirror_is_named() {
    if !can_watch() {
        return;
    }
    let _turn = in_turn();
    let servers = Servers::start();
    let pid = servers.mirror.id().to_string();
    let words = ["--pid", &pid, "--json", "--for", "6s", "--metrics", "127.0.0.1:0"];
    let mut watch = Running::start(&mut who(&words));
    let metrics = await_said(&watch, "metrics at http://");
    await_said(&watch, "watches 1 process");
    let client = servers.download(Duration::from_secs(4)).to_string();

    let mut events = Vec::new();
    let open = until("the hold, while it lasts", || {
        let line = watch.line().expect("it watches still");
        events.push(serde_json::from_str::<Value>(&line).expect("JSON"));
        let event = events.last().expect("one");
        (event["event"] == "hold" && event["state"] == "open").then(|| event.clone())
    });
    let (server, upstream) = (servers.mirror.addr().to_string(), servers.origin.addr().to_string());
    assert_eq!((&open["by"]["client"], &open["by"]["server"]), (&client.into(), &server.into()));
    assert_eq!(
        (&open["by"]["upstream"], &open["by"]["own_end"]),
        (&upstream.into(), &"server".into())
    );
    assert_eq!((&open["pid"], &open["kind"]), (&servers.mirror.id().into(), &"moved".into()));
    assert_eq!(open["tid"], servers.mirror.ready.worker_tids[0]);

    // Meanwhile nobody accepts: who comes waits, and a scraper sees that.
    let waits = connect(servers.mirror.addr());
    let addr: SocketAddr = metrics.trim_end_matches("/metrics").parse().expect("an address");
    let scraped = until("the one that waits", || {
        let mut stream = TcpStream::connect(addr).expect("it listens");
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let waits =
            |line: &str| line.starts_with("turnstile_waiting_connections{") && line.ends_with(" 1");
        text.lines().any(waits).then_some(text)
    });
    assert!(scraped.ends_with("# EOF\n"), "{scraped}");
    drop(waits);

    let said = watch.finish().ended_well();
    events.extend(said.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")));
    let summary = events.last().expect("a summary");
    assert_eq!(summary["event"], "summary");
    assert_eq!(summary["holders"][0]["client"], open["by"]["client"], "{summary}");
    let held = summary["workers"][0]["held_us"].as_u64().expect("a time");
    assert!(held >= 500_000, "a download of four seconds: {summary}");
    assert!(summary["queues"][0]["most"].as_u64() >= Some(1), "{summary}");
    let closed =
        |event: &&Value| event["state"] == "closed" && event["began_ns"] == open["began_ns"];
    let closed = events.iter().find(closed).expect("its end is told");
    assert!(closed["length_us"].as_u64() >= open["length_us"].as_u64(), "{closed}");
    assert!(closed["by"]["bytes"].as_u64() > Some(1 << 20), "{closed}");
}

/// A worker that is forked is watched from then on; a process that becomes another program is told; the
/// watch ends with the last of them.
#[test]
fn what_becomes_of_processes_is_told() {
    if !can_watch() {
        return;
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", "read go; sleep 60 & exec tail -f /dev/null"]);
    let mut shell = Running::with_stdin(&mut shell);
    let pid = shell.id().to_string();
    let mut watch = Running::start(&mut who(&["--pid", &pid]));
    await_said(&watch, "watches 1 process");
    shell.stdin.take().expect("piped").write_all(b"go\n").expect("it reads");
    let (mut forked, mut renamed) = (None, false);
    while forked.is_none() || !renamed {
        let line = watch.line().expect("it watches still");
        renamed |= line.contains(&format!("process {pid} is called tail now, and was sh"));
        if let Some((head, _)) = line.split_once(" (sleep) is new, and watched") {
            forked = head.rsplit(' ').next().map(str::to_owned);
        }
    }
    let killed = Command::new("kill").args([&pid, &forked.expect("a child")]).status();
    assert!(killed.expect("kill").success());
    shell.finish();
    let said = watch.finish().ended_well();
    assert!(said.stdout.contains("(tail) has ended\n"), "{}", said.all());
    assert!(said.stderr.contains("the last of the watched processes has ended"), "{}", said.all());
}

/// In another network namespace sock_diag(7) does not see: the queue is read from /proc.
#[test]
fn a_process_in_another_network_namespace_is_watched() {
    if !can_watch() || !is_root("a network namespace") {
        return;
    }
    let _turn = in_turn();
    let held = "import select, socket\nserver = socket.create_server(('127.0.0.1', 8080))\n\
                loop = select.epoll()\nloop.register(server)\n\
                waits = socket.create_connection(('127.0.0.1', 8080))\nprint(flush=True)\nwhile True: pass";
    let mut python = Command::new("unshare");
    python.args(["--net", "sh", "-c", "ip link set lo up; exec python3 -c \"$0\"", held]);
    let mut python = Running::start(&mut python);
    python.line().expect("it listens");
    let said = say(&mut who(&["--pid", &python.id().to_string(), "--json", "--for", "3s"]));
    python.stop();
    let events = said.ended_well().stdout;
    let events = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let hold = events.into_iter().find(|event| event["event"] == "hold").expect("it is held");
    assert_eq!((&hold["kind"], &hold["waiting"]), (&"computed".into(), &1.into()), "{hold}");
}

#[test]
fn what_cannot_be_watched_is_named() {
    let port = free_addr().port().to_string();
    for (words, code, says) in [
        (["--pid", "4194304"], 1, "process 4194304: there is none"),
        (["--comm", "no-such-name"], 1, "a process of the name no-such-name"),
        (["--port", &port], 1, "nobody does in this network namespace"),
        (["--port", "0"], 2, "1..=65535"),
        (["--for", "30s"], 2, "--pid <PID>"),
    ] {
        let said = say(&mut who(&words)).refused(code);
        assert!(said.contains(says), "{words:?}: {said}");
    }
    let said = say(&mut who(&["--pid", "1", "--threshold", "1us"])).refused(2);
    assert!(said.contains("a threshold has 50ms to 1h"), "{said}");
}

#[test]
fn without_rights_it_says_which_it_needs() {
    let Some(setpriv) = program("setpriv") else { return };
    if !is_root("giving up rights") {
        return;
    }
    let own = std::process::id().to_string();
    let mut command = Command::new(setpriv);
    command.args(["--bounding-set=-all", "--inh-caps=-all"]);
    command.arg(turnstile().get_program()).args(["who", "--pid", &own]);
    let said = say(&mut command).refused(1);
    assert!(said.contains("setcap cap_bpf,cap_perfmon=ep /"), "{said}");
    assert!(said.contains("docker run --pid=host --cap-add=BPF --cap-add=PERFMON"), "{said}");
}

#[test]
fn a_terminal_shows_the_open_hold_and_is_given_back() {
    if !can_watch() {
        return;
    }
    let _turn = in_turn();
    let program = turnstile();
    let vars = [("TURNSTILE", std::path::Path::new(program.get_program()))];
    let Some(tmux) = Tmux::start((120, 20), &vars) else { return };
    let servers = Servers::start();
    tmux.line(&format!("$TURNSTILE who --pid {}", servers.mirror.id()));
    tmux.await_text("nobody is held");
    let client = servers.download(Duration::from_secs(20));
    tmux.await_text(&format!("by {client} -> :{}", servers.mirror.addr().port()));
    tmux.key("q");
    let screen = tmux.await_text("held most");
    assert!(screen.contains(&client.to_string()), "{screen}");
    assert_eq!(tmux.knows("alternate_on"), "0", "the other screen");
}

#[test]
fn help_is_complete() {
    let help = say(turnstile().args(["who", "--help"])).ended_well();
    insta::assert_snapshot!("who_help", help.stdout);
}
