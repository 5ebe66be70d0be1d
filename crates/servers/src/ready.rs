//! Whether the program does its work: it accepts, it answers, its workers are there.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use net::role::RoleError;
use net::tcp::Buffers;
use records::{Asking, Connection, Micros, SocketSetting};
use rustix::process::Pid;

use crate::limits::{self, ANSWER, DISCOVERED};
use crate::log::Last;
use crate::processes;
use crate::program::{Event, Program};
use crate::run::{Run, Up};
use crate::server::Are;
use crate::workers::{self, Discovery, Serving, Workers};

/// How often it is tried: nothing tells when a foreign program begins to listen.
const AGAIN: Duration = Duration::from_millis(20);

/// Rounds of requests in which the workers of an unknown program are discovered, requests of one round, and
/// the time that its threads have to come to rest.
const ROUNDS: u32 = 8;
const AT_ONCE: usize = 4;
const REST: Duration = Duration::from_millis(10);

/// How much of an answer is read to see that there is one.
const ENOUGH: u64 = 64 * 1024;

impl Run<'_> {
    /// Waits until the ready path is answered and the workers are found. `None`: we were told to stop.
    pub(crate) fn await_ready(
        &mut self,
        up: &mut Up,
        root: Pid,
    ) -> Result<Option<(Workers, Serving, Vec<SocketSetting>)>, RoleError> {
        let expected = self.options.arm.proxy.workers as usize;
        let within = limits::proven(&self.options.arm.server);
        let deadline = Instant::now() + within;
        let mut has_answered = false;
        for attempt in 0.. {
            if !has_answered && self.setting.server.chooses_port() {
                let listen = chosen(&up.program.listens_on(), self.setting.listen, attempt);
                self.setting.listen = listen.unwrap_or(self.setting.listen);
            }
            let asked = if has_answered { Ok(200) } else { self.ask(&mut up.probes) };
            has_answered = matches!(asked, Ok(200..=299));
            if has_answered
                && let Some(found) = workers::find(&self.setting.server.workers, root, expected)
            {
                return self.prove(up, root, found).map(Some);
            }
            up.read_log(Last::No)?;
            match self.inbox.recv_timeout(AGAIN) {
                Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Ok(Event::Ended(what)) => {
                    return Err(match up.program.background().first() {
                        Some(&pid) => self.in_the_background(&mut up.program, pid),
                        None => self.ended(&mut up.program, &what),
                    });
                }
                Ok(Event::Logged(line)) => up.logged(&line)?,
                Ok(Event::Traced(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
            if Instant::now() >= deadline {
                let (name, within) = (self.name(), Micros::from(within));
                let missing = self.missing(&asked, &up.program);
                let what = format!("have {name} ready within {within}: {missing}");
                return Err(self.blame(&mut up.program, &what));
            }
        }
        Ok(None)
    }

    /// What keeps a program from being ready that answered so, last.
    fn missing(&self, asked: &io::Result<u16>, program: &Program) -> String {
        let (listen, path) = (self.setting.listen, &self.prepared.ready_path);
        match (asked, self.setting.origin) {
            (Ok(200..=299), _) => {
                let expected = self.options.arm.proxy.workers;
                format!("its {expected} workers are not to be found")
            }
            (Ok(status), Some(origin)) => {
                format!("it answered {status} to GET {path}: is the origin at {origin} up?")
            }
            (Ok(status), None) => format!(
                "it answered {status} to GET {path}: name a path that it answers with 2xx, with \
                 --fetch-path or --ready-path"
            ),
            (Err(error), _) => {
                let elsewhere = program.listens_on();
                let elsewhere: Vec<_> = elsewhere.iter().map(SocketAddr::to_string).collect();
                let says = match elsewhere.as_slice() {
                    [] if self.setting.server.chooses_port() => {
                        return "it listens on no port".to_owned();
                    }
                    [] => String::new(),
                    _ => format!(
                        "; it listens on {}: have it take its address from {{listen}} or {{port}}",
                        elsewhere.join(", ")
                    ),
                };
                format!("it does not answer on {listen}: {error}{says}")
            }
        }
    }

    /// Looks at a program that answers, and whose workers, as far as they are known, were found.
    fn prove(
        &self,
        up: &mut Up,
        root: Pid,
        found: Workers,
    ) -> Result<(Workers, Serving, Vec<SocketSetting>), RoleError> {
        self.must_listen_itself(&mut up.program)?;
        let (workers, serving) = match self.setting.server.workers.are {
            Are::Discovered => self.discover(root, &mut up.probes),
            _ => (found, Serving::Own),
        };
        let sockets = self.look_at_sockets(root, &mut up.probes);
        Ok((workers, serving, sockets))
    }

    /// Refuses one that has others accept for it. Who accepts cannot always be told: a program of
    /// another user is taken at its word.
    fn must_listen_itself(&self, program: &mut Program) -> Result<(), RoleError> {
        let listen = self.setting.listen;
        let holders = processes::holders(listen).unwrap_or_default();
        let Some(&pid) =
            holders.first().filter(|_| !holders.iter().any(|&pid| program.is_its(pid)))
        else {
            return Ok(());
        };
        Err(match program.background().into_iter().find(|pid| holders.contains(pid)) {
            Some(pid) => self.in_the_background(program, pid),
            None => RoleError::Unable(format!(
                "failed to find {} where it should listen: on {listen} accepts process {pid} ({}), which is \
                 none of its: it has to listen itself; take --proxy url: for one that runs already",
                self.name(),
                processes::title(pid)
            )),
        })
    }

    /// That it does not stay a child of ours, but goes on as that process.
    fn in_the_background(&self, program: &mut Program, pid: i32) -> RoleError {
        let how = format!(
            "it went into the background as process {pid} ({}), where nobody would see it end: give \
             the option that keeps it in the foreground",
            processes::title(pid)
        );
        self.ended(program, &how)
    }

    /// Reads back the options of the program's own sockets, on a connection that stays open while we
    /// look. What cannot be seen is left out: upstream connections that are closed after each
    /// request, and all of it where we may not look.
    fn look_at_sockets(&self, root: Pid, probes: &mut Vec<u16>) -> Vec<SocketSetting> {
        let arm = &self.options.arm;
        let ours = Buffers::default();
        let theirs = Buffers { rcvbuf: arm.rcvbuf(), sndbuf: None };
        let Ok(mut stream) = self.dial(Connection::KeepAlive, probes) else { return Vec::new() };
        // As soon as a part of the answer is here, all sockets are there.
        if stream.read(&mut [0; 1024]).is_err() {
            return Vec::new();
        }
        let client = stream.local_addr().ok();
        let accepted = client.and_then(|addr| processes::connected(root, addr));
        let upstream = self.setting.origin.and_then(|origin| processes::connected(root, origin));
        [(ours, accepted, "accepted"), (theirs, upstream, "upstream")]
            .into_iter()
            .filter_map(|(buffers, socket, name)| buffers.read_back(&socket?, name).ok())
            .flatten()
            .collect()
    }

    /// The workers of a program of which nobody knows how it works, and how they serve: by looks at its
    /// threads at rest, between rounds of requests that come together.
    fn discover(&self, root: Pid, probes: &mut Vec<u16>) -> (Workers, Serving) {
        let deadline = Instant::now() + DISCOVERED;
        let mut known = Discovery::default();
        known.look(root.as_raw_pid());
        for _ in 0..ROUNDS {
            if Instant::now() >= deadline || self.ask_together(probes).is_err() {
                break;
            }
            // Nothing tells when a foreign program has nothing left to do.
            thread::sleep(REST);
            known.look(root.as_raw_pid());
        }
        (Workers::some_of(known.workers(), root), known.serving())
    }

    /// Asks several times at once, and reads the answers.
    ///
    /// # Errors
    /// It takes no connection any more.
    fn ask_together(&self, probes: &mut Vec<u16>) -> io::Result<()> {
        let mut streams = Vec::new();
        for _ in 0..AT_ONCE {
            streams.push(self.dial(Connection::Close, probes)?);
        }
        for stream in streams {
            // One that breaks was served as well.
            let _ = stream.take(ENOUGH).read_to_end(&mut Vec::new());
        }
        Ok(())
    }

    /// Asks for the ready path, as a fetch would; notes the port from which it was asked.
    fn dial(&self, after: Connection, probes: &mut Vec<u16>) -> io::Result<TcpStream> {
        let listen = self.setting.listen;
        let mut stream = TcpStream::connect_timeout(&listen, ANSWER)?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        probes.push(stream.local_addr()?.port());
        let fetch = self.options.arm.fetch.asking();
        let asking = Asking { line: Some(&self.prepared.ready_path), body: None, ..fetch };
        // As one: a program of a few lines may take what comes first for all of it.
        stream.write_all(asking.head(listen, None, after).as_bytes())?;
        Ok(stream)
    }

    /// Asks for the ready path and returns the answer's status.
    fn ask(&self, probes: &mut Vec<u16>) -> io::Result<u16> {
        let stream = self.dial(Connection::Close, probes)?;
        let mut answer = Vec::new();
        let read = stream.take(ENOUGH).read_to_end(&mut answer);
        // One that keeps the connection open has answered as well.
        let other =
            || read.err().unwrap_or_else(|| io::Error::other("what it sent is no HTTP answer"));
        status(&answer).ok_or_else(other)
    }
}

/// Where a program that listens there is asked in this attempt: at each place in turn, as far as `asked`, an
/// address of the same host, may stand for it.
fn chosen(listens_on: &[SocketAddr], asked: SocketAddr, attempt: usize) -> Option<SocketAddr> {
    let reached = |at: &SocketAddr| match at.ip() {
        any if any.is_unspecified() => Some(SocketAddr::new(asked.ip(), at.port())),
        ip if ip == asked.ip() || (ip.is_loopback() && asked.ip().is_loopback()) => Some(*at),
        _ => None,
    };
    let places: BTreeSet<SocketAddr> = listens_on.iter().filter_map(reached).collect();
    places.iter().nth(attempt.checked_rem(places.len())?).copied()
}

fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|&byte| byte == b'\r').next()?;
    std::str::from_utf8(line).ok()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
}
