//! Whether the program does its work: it accepts, it answers, its workers are there.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::{Duration, Instant};

use net::tcp::Buffers;
use records::SocketSetting;
use rustix::process::Pid;

use super::{News, PeerError, Stage};
use crate::driver::Workers;
use crate::patience::{ACQUAINTED, ANSWER, PROVEN};
use crate::process::{self, Acquaintance, Crew, Program, Serving, descendants};

/// How often it is tried: nothing tells when a foreign program begins to listen.
const AGAIN: Duration = Duration::from_millis(20);

/// Rounds of requests by which an unknown program is got to know, requests of one round, and the time
/// that its threads have to come to rest.
const ROUNDS: u32 = 8;
const AT_ONCE: usize = 4;
const REST: Duration = Duration::from_millis(10);

/// A program that is ready.
pub(super) struct Proven {
    pub(super) crew: Crew,
    /// How its workers serve.
    pub(super) serving: Serving,
    /// Ports from which we asked: their lines in the log are ours.
    pub(super) probes: Vec<u16>,
    /// What the kernel made of the buffers that were asked for.
    pub(super) sockets: Vec<SocketSetting>,
}

impl Stage<'_> {
    /// Waits until `/bytes/1` is answered and the workers are found. `None`: we were told to stop.
    pub(super) fn await_ready(
        &self,
        program: &Program,
        listen: SocketAddr,
    ) -> Result<Option<Proven>, PeerError> {
        let deadline = Instant::now() + PROVEN;
        let mut probes = Vec::new();
        let mut answered = false;
        loop {
            let missing = if answered {
                let expected = self.options.arm.workers as usize;
                let found = process::find(self.driver.workers(), program.pid(), expected);
                if let Some(crew) = found {
                    self.must_listen_itself(program, listen)?;
                    let (crew, serving) = match self.driver.workers() {
                        Workers::Whatever => get_to_know(program, listen, &mut probes),
                        _ => (crew, Serving::Own),
                    };
                    let sockets = self.look_at_sockets(program, listen, &mut probes);
                    return Ok(Some(Proven { crew, serving, probes, sockets }));
                }
                format!("its {expected} workers are not to be found")
            } else {
                match ask(listen, &mut probes) {
                    Ok(200) => {
                        answered = true;
                        continue;
                    }
                    Ok(status) => format!(
                        "it answered {status} to GET /bytes/1: is the origin at {} up?",
                        self.options.upstream
                    ),
                    Err(error) => format!("it does not answer on {listen}: {error}"),
                }
            };
            let words = || program.last_words();
            match self.inbox.recv_timeout(AGAIN) {
                Ok(News::Stop) => return Ok(None),
                Ok(News::Ended(what)) => {
                    self.must_be_in_the_foreground(program)?;
                    let name = self.name();
                    return Err(PeerError::Ended { name, what, words: words() });
                }
                // Our own requests.
                Ok(News::Logged(entry)) => probes.retain(|port| *port != entry.client_port),
                Ok(News::Traced(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
            if Instant::now() >= deadline {
                let (name, patience) = (self.name(), PROVEN.as_secs());
                return Err(PeerError::NotReady { name, patience, what: missing, words: words() });
            }
        }
    }
}

impl Stage<'_> {
    /// Refuses a program whose first process has ended and others have not.
    fn must_be_in_the_foreground(&self, program: &Program) -> Result<(), PeerError> {
        match program.background().first() {
            Some(&pid) => Err(self.background(program, pid)),
            None => Ok(()),
        }
    }

    /// Refuses one that has others accept for it. Who accepts cannot always be told: a program of
    /// another user is taken at its word.
    fn must_listen_itself(&self, program: &Program, listen: SocketAddr) -> Result<(), PeerError> {
        let holders = process::holders(listen).unwrap_or_default();
        let descends = |pid: i32| {
            Pid::from_raw(pid).is_some_and(|pid| descendants::descends(pid, program.pid()))
        };
        let Some(&pid) = holders.first().filter(|_| !holders.iter().copied().any(descends)) else {
            return Ok(());
        };
        match program.background().into_iter().find(|pid| holders.contains(pid)) {
            Some(pid) => Err(self.background(program, pid)),
            None => {
                let command = process::title(pid);
                Err(PeerError::Stranger { name: self.name(), listen, pid, command })
            }
        }
    }

    fn background(&self, program: &Program, pid: i32) -> PeerError {
        let command = process::title(pid);
        PeerError::Background { name: self.name(), pid, command, words: program.last_words() }
    }

    /// Reads back the options of the program's own sockets, on a connection that stays open while we
    /// look. What cannot be seen is left out: upstream connections that are closed after each
    /// request, and all of it where we may not look.
    fn look_at_sockets(
        &self,
        program: &Program,
        listen: SocketAddr,
        probes: &mut Vec<u16>,
    ) -> Vec<SocketSetting> {
        let arm = &self.options.arm;
        let ours = Buffers { rcvbuf: arm.listen_rcvbuf, sndbuf: arm.listen_sndbuf };
        let theirs = Buffers { rcvbuf: arm.rcvbuf, sndbuf: arm.sndbuf };
        let Ok(mut stream) = dial(listen, Connection::KeepAlive, probes) else { return Vec::new() };
        // As soon as a part of the answer is here, all sockets are there.
        if stream.read(&mut [0; 1024]).is_err() {
            return Vec::new();
        }
        let client = stream.local_addr().ok();
        let accepted = client.and_then(|addr| process::connected(program.pid(), addr));
        let upstream = process::connected(program.pid(), self.options.upstream);
        [(ours, accepted, "accepted"), (theirs, upstream, "upstream")]
            .into_iter()
            .filter_map(|(buffers, socket, name)| buffers.read_back(&socket?, name).ok())
            .flatten()
            .collect()
    }
}

/// The workers of a program of which nobody knows how it works, and how they serve: by looks at its
/// threads at rest, between rounds of requests that come together.
fn get_to_know(program: &Program, listen: SocketAddr, probes: &mut Vec<u16>) -> (Crew, Serving) {
    let root = program.pid().as_raw_pid();
    let deadline = Instant::now() + ACQUAINTED;
    let mut known = Acquaintance::default();
    known.look(root);
    for _ in 0..ROUNDS {
        if Instant::now() >= deadline || ask_together(listen, probes).is_err() {
            break;
        }
        // Nothing tells when a foreign program has nothing left to do.
        thread::sleep(REST);
        known.look(root);
    }
    (Crew::some_of(known.workers(), root), known.serving())
}

/// Asks for one byte several times at once, and reads the answers to their ends.
///
/// # Errors
/// It takes no connection any more.
fn ask_together(listen: SocketAddr, probes: &mut Vec<u16>) -> io::Result<()> {
    let mut streams = Vec::new();
    for _ in 0..AT_ONCE {
        streams.push(dial(listen, Connection::Close, probes)?);
    }
    for stream in streams {
        // One that breaks was served as well.
        let _ = stream.take(64 * 1024).read_to_end(&mut Vec::new());
    }
    Ok(())
}

/// What is asked to become of the connection after the answer.
#[derive(Clone, Copy)]
enum Connection {
    Close,
    KeepAlive,
}

/// Asks for one byte; notes the port from which it was asked.
fn dial(
    listen: SocketAddr,
    connection: Connection,
    probes: &mut Vec<u16>,
) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&listen, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    probes.push(stream.local_addr()?.port());
    let close = match connection {
        Connection::Close => "Connection: close\r\n",
        Connection::KeepAlive => "",
    };
    let request = format!("GET /bytes/1 HTTP/1.1\r\nHost: {listen}\r\nAccept: */*\r\n{close}\r\n");
    // As one: a program of a few lines may take what comes first for all of it.
    stream.write_all(request.as_bytes())?;
    Ok(stream)
}

/// Asks for one byte and returns the answer's status.
fn ask(listen: SocketAddr, probes: &mut Vec<u16>) -> io::Result<u16> {
    let stream = dial(listen, Connection::Close, probes)?;
    let mut answer = Vec::new();
    stream.take(64 * 1024).read_to_end(&mut answer)?;
    status(&answer).ok_or_else(|| io::Error::other("what it sent is no HTTP answer"))
}

fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|&byte| byte == b'\r').next()?;
    std::str::from_utf8(line).ok()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()
}
