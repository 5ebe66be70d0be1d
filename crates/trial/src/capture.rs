//! Packets of a run: tcpdump, beside the proxy, from before its first client to the last fetch.
//!
//! Not for: reading them ([`records::Capture`]).
//!
//! Invariant: heads only, and no more than [`MOST_PACKETS`]: the file has 450 MB at most.

use std::io;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use net::child::{Child, Dropped, Event};
use net::clock;
use records::Capture;
use rustix::fs::statvfs;
use rustix::process::Signal;

#[cfg(test)]
mod tests;

/// More are not kept: what comes later is missing.
pub(crate) const MOST_PACKETS: u64 = 4_000_000;
/// Of each so many bytes: the heads of the link, of IP and of TCP with their options.
const KEPT_BYTES: u32 = 96;
/// With less room on the disk, packets are kept no longer: it is looked at some times a second.
const ROOM: u64 = 256 << 20;
/// tcpdump is up, or has put its last words out, within so long.
const PATIENCE: Duration = Duration::from_secs(5);

/// A capture under way.
#[derive(Debug)]
pub(crate) struct Packets {
    child: Child,
    said: Receiver<Event>,
    ahead_ns: u64,
}

impl Packets {
    /// Begins to keep the packets between the proxy, which listens at `proxy`, and its clients, in `file`.
    /// `net`: the network of the proxy, if it is not ours.
    ///
    /// Call it on the thread that outlives the trial: it ends with that.
    ///
    /// # Errors
    /// tcpdump is not there, or may not or cannot listen: its own words.
    pub(crate) fn start(proxy: SocketAddr, net: Option<&Path>, file: &Path) -> io::Result<Self> {
        let mut command = tcpdump(proxy, net, file);
        let (sender, said) = mpsc::channel();
        let child = Child::start(&mut command, "packets".into(), Dropped::Killed, move |event| {
            let _ = sender.send(event);
        })?;
        let packets = Self { child, said, ahead_ns: clock::unix_ahead_ns() };
        if packets.says("listening on") {
            return Ok(packets);
        }
        Err(io::Error::other(match packets.child.stderr_tail() {
            words if words.contains("No such file") => {
                "tcpdump is not there: apt-get install tcpdump".to_owned()
            }
            words if words.is_empty() => "tcpdump says nothing".to_owned(),
            words => words,
        }))
    }

    /// Ends it, and says what was kept. `why` it ends before the last fetch does, if it does.
    pub(crate) fn finish(mut self, why: Option<&str>) -> Capture {
        // It tells its counts before it has written its file to the end.
        let stopped = self.child.stop(Signal::INT, PATIENCE);
        let said: Vec<Event> = self.said.try_iter().collect();
        let told = |of| {
            said.iter().find_map(|event| match event {
                Event::Said(line) => count(line, of),
                _ => None,
            })
        };
        let packets = told("captured");
        let ended = match (why, packets) {
            (Some(why), _) => Some(why.to_owned()),
            (None, Some(packets)) if packets < MOST_PACKETS => None,
            (None, Some(_)) => Some(format!("{MOST_PACKETS} packets are the most")),
            (None, None) => Some(match (stopped, self.child.stderr_tail()) {
                (Err(error), _) => error.to_string(),
                (Ok(status), words) if words.is_empty() || status.signal().is_some() => {
                    format!("tcpdump ended with {status}")
                }
                (Ok(_), words) => words,
            }),
        };
        let (packets, dropped) = (packets.unwrap_or(0), told("dropped by kernel").unwrap_or(0));
        Capture { packets, dropped, ahead_ns: self.ahead_ns, ended }
    }

    /// Whether it says this, before it ends and in time.
    fn says(&self, this: &str) -> bool {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let patience = deadline.saturating_duration_since(Instant::now());
            match self.said.recv_timeout(patience) {
                Ok(Event::Said(line)) if line.contains(this) => return true,
                Ok(Event::Said(_) | Event::Line(_)) => {}
                Ok(Event::Ended) | Err(_) => return false,
            }
        }
    }
}

/// It dies with us. "any" with "cooked" packets is one form for loopback and for hosts of their own, and has
/// each packet of loopback once.
fn tcpdump(proxy: SocketAddr, net: Option<&Path>, file: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if let Some(net) = net {
        command.arg("nsenter").arg(format!("--net={}", net.display()));
    }
    let (kept, most) = (KEPT_BYTES.to_string(), MOST_PACKETS.to_string());
    command.args(["tcpdump", "-n", "-i", "any", "-y", "LINUX_SLL", "-s", &kept, "-c", &most]);
    // 32 MiB between it and the kernel; it stays root, since the directory is ours.
    command.args(["-B", "32768", "-Z", "root", "--time-stamp-precision=nano", "-w"]);
    command.arg(file).arg(format!("tcp port {}", proxy.port()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Whether the disk of `dir` has room for more packets, and for all that is written beside them.
pub(crate) fn has_room(dir: &Path) -> bool {
    statvfs(dir).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= ROOM)
}

/// The number in `123 packets captured`.
fn count(line: &str, of: &str) -> Option<u64> {
    line.strip_suffix(of)?.split_whitespace().next()?.parse().ok()
}
