//! The proxy's command line: its toggles, and where it listens and forwards.

use std::net::SocketAddr;
use std::path::PathBuf;

use net::cpu::CpuList;
use net::role::RoleOptions;
use net::tcp::Buffers;
use records::{
    AcceptMode, Arm, BufferingMode, Bytes, Congestion, ListenerMode, LogMode, Micros, ProxyKind,
    Rcvbuf, ReadPolicy, Recording, Spool,
};

/// The toggles: what makes one proxy differ from another.
#[derive(Clone, Debug, PartialEq, clap::Args)]
#[command(next_help_heading = "Proxy")]
pub struct ProxyToggles {
    /// Event loops, each a thread of its own
    #[arg(long, value_name = "N", default_value_t = Arm::WORKERS, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub workers: u32,

    /// Give every worker a listener of its own (SO_REUSEPORT) instead of one for all
    #[arg(long)]
    pub reuseport: bool,

    /// SO_RCVBUF of upstream connections, as 40960 or 1MiB; auto, the kernel tunes it; default, as
    /// the program does (the mirror: 1MiB)
    #[arg(long, value_name = "SIZE", default_value_t)]
    pub rcvbuf: Rcvbuf,

    /// SO_SNDBUF of upstream connections [default: tuned by the kernel]
    #[arg(long, value_name = "SIZE")]
    pub sndbuf: Option<Bytes>,

    /// SO_RCVBUF of accepted connections [default: tuned by the kernel]
    #[arg(long, value_name = "SIZE")]
    pub listen_rcvbuf: Option<Bytes>,

    /// SO_SNDBUF of accepted connections [default: tuned by the kernel]
    #[arg(long, value_name = "SIZE")]
    pub listen_sndbuf: Option<Bytes>,

    /// Congestion control of what is sent to clients: reno, cubic or system (the kernel's default)
    #[arg(long, value_name = "NAME", default_value_t)]
    pub congestion: Congestion,

    /// Length of a listener's queue of connections to be accepted
    #[arg(long, value_name = "N", default_value_t = Arm::BACKLOG, value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub backlog: u32,

    /// Relay buffer: bytes offered to one read; with --buffering on, bytes of each of nine pages
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = buffer_size)]
    pub buffer: Bytes,

    /// What ends a step while the upstream has data: drain, short-read, fionread, bytes:SIZE,
    /// reads:N or time:DURATION
    #[arg(long, value_name = "POLICY", default_value_t)]
    pub read_policy: ReadPolicy,

    /// Accept all that wait in one loop turn instead of one
    #[arg(long)]
    pub multi_accept: bool,

    /// Sessions that one worker holds at a time
    #[arg(long, value_name = "N", default_value_t = Arm::WORKER_CONNECTIONS, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub worker_connections: u32,

    /// Time for a client's whole request head; then 408
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout)]
    pub header_timeout: Micros,

    /// Time for an upstream handshake; then 504
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout)]
    pub connect_timeout: Micros,

    /// Time an upstream may be silent; then 504, or a cut answer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout)]
    pub upstream_timeout: Micros,

    /// Time a client may take nothing; then it is cut
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout)]
    pub send_timeout: Micros,

    /// Who writes the access log: writer, a thread of its own, or inline, the worker itself as each
    /// session ends, however long the file makes it wait
    #[arg(long, value_name = "MODE", default_value_t)]
    pub log_mode: LogMode,

    /// Who is woken for a connection to a listener that workers share: herd, every worker that
    /// sleeps; exclusive, one of them; mutex, the one that has nginx's accept mutex
    #[arg(long, value_name = "MODE", default_value_t)]
    pub accept: AcceptMode,

    /// How a worker passes an answer on: off, it writes what it has read before it reads again; on,
    /// it reads into nine pages, writes two of them at a time and spools what its client does not
    /// take; default, as the program does (nginx: on; the mirror: off)
    #[arg(long, value_name = "MODE", default_value_t)]
    pub buffering: BufferingMode,

    /// Where a worker that buffers puts what its client does not take: a directory, into temporary
    /// files there; off, it waits at the upstream; default, as the program does (the mirror: into
    /// files of the run, or where this host has its temporary files)
    #[arg(long, value_name = "DIR", default_value_t)]
    pub spool: Spool,

    /// Bytes of one answer that are spooled at most [default: as the program does: 1GiB]
    #[arg(long, value_name = "SIZE")]
    pub spool_max: Option<Bytes>,

    /// Compress answers in the worker for clients that say Accept-Encoding: gzip, 1 (fast) to 9
    /// (small) [default: not at all]
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(1..=9))]
    pub gzip: Option<u32>,
}

impl ProxyToggles {
    /// How workers share the port.
    pub fn listener_mode(&self) -> ListenerMode {
        if self.reuseport { ListenerMode::Reuseport } else { ListenerMode::Shared }
    }

    /// Buffers of upstream connections.
    pub fn upstream_buffers(&self) -> Buffers {
        Buffers { rcvbuf: self.rcvbuf.asked(&ProxyKind::Mirror), sndbuf: self.sndbuf }
    }

    /// Buffers of accepted connections.
    pub fn client_buffers(&self) -> Buffers {
        Buffers { rcvbuf: self.listen_rcvbuf, sndbuf: self.listen_sndbuf }
    }

    /// Whether the toggles fit each other.
    ///
    /// # Errors
    /// [`ToggleError`]: whoever set them has to choose.
    pub fn check(&self) -> Result<(), ToggleError> {
        if self.reuseport && self.accept != AcceptMode::Exclusive {
            return Err(ToggleError::NothingShared(self.accept));
        }
        let spools = matches!(self.spool, Spool::Dir(_)) || self.spool_max.is_some();
        if spools && self.buffering != BufferingMode::On {
            return Err(ToggleError::NothingSpooled);
        }
        Ok(())
    }

    /// The same toggles as arguments of a command line.
    pub fn to_args(&self) -> Vec<String> {
        let time = |length: Micros| format!("{}us", length.0);
        let mut args = Vec::new();
        let mut set = |name: &str, value: String| args.extend([format!("--{name}"), value]);
        set("workers", self.workers.to_string());
        set("congestion", self.congestion.to_string());
        set("backlog", self.backlog.to_string());
        set("buffer", self.buffer.exact());
        set("read-policy", self.read_policy.to_string());
        set("worker-connections", self.worker_connections.to_string());
        set("header-timeout", time(self.header_timeout));
        set("connect-timeout", time(self.connect_timeout));
        set("upstream-timeout", time(self.upstream_timeout));
        set("send-timeout", time(self.send_timeout));
        set("log-mode", self.log_mode.to_string());
        set("accept", self.accept.to_string());
        set("buffering", self.buffering.to_string());
        set("spool", self.spool.to_string());
        set("rcvbuf", self.rcvbuf.to_string());
        if let Some(level) = self.gzip {
            set("gzip", level.to_string());
        }
        for (name, size) in [
            ("sndbuf", self.sndbuf),
            ("listen-rcvbuf", self.listen_rcvbuf),
            ("listen-sndbuf", self.listen_sndbuf),
            ("spool-max", self.spool_max),
        ] {
            if let Some(size) = size {
                set(name, size.exact());
            }
        }
        for (name, on) in [("reuseport", self.reuseport), ("multi-accept", self.multi_accept)] {
            if on {
                args.push(format!("--{name}"));
            }
        }
        args
    }
}

impl Default for ProxyToggles {
    fn default() -> Self {
        let minute = Micros(60_000_000);
        Self {
            workers: Arm::WORKERS,
            reuseport: false,
            rcvbuf: Rcvbuf::Default,
            sndbuf: None,
            listen_rcvbuf: None,
            listen_sndbuf: None,
            congestion: Congestion::default(),
            backlog: Arm::BACKLOG,
            buffer: Arm::BUFFER,
            read_policy: ReadPolicy::Drain,
            multi_accept: false,
            worker_connections: Arm::WORKER_CONNECTIONS,
            header_timeout: minute,
            connect_timeout: minute,
            upstream_timeout: minute,
            send_timeout: minute,
            log_mode: LogMode::Writer,
            accept: AcceptMode::Exclusive,
            buffering: BufferingMode::Default,
            spool: Spool::Default,
            spool_max: None,
            gzip: None,
        }
    }
}

/// Toggles that do not fit each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToggleError {
    /// A way to share a listener, and no listener to share.
    #[error(
        "--accept {0} is about a listener that workers share, and with --reuseport they share \
         none: leave one of the two out"
    )]
    NothingShared(AcceptMode),
    /// A place for what a client does not take, and nothing that is taken for it.
    #[error("only a proxy that buffers spools: add --buffering on to --spool and --spool-max")]
    NothingSpooled,
}

/// Everything the proxy role needs.
#[derive(Clone, Debug, clap::Args)]
pub struct ProxyOptions {
    /// Address and port to accept on; port 0: a free one, told in the first line
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", value_parser = net::target::socket_addr)]
    pub listen: SocketAddr,

    /// Address and port of the origin
    #[arg(long, value_name = "ADDR", value_parser = net::target::socket_addr)]
    pub upstream: SocketAddr,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub toggles: ProxyToggles,

    /// Put worker i on the i-th of these CPUs, going round [default: wherever the process may run]
    #[arg(long, value_name = "CPUS")]
    pub pin: Option<CpuList>,

    /// Write an access log in nginx's format there: a file, or a FIFO that somebody reads
    #[arg(long, value_name = "FILE", required_if_eq("log_mode", "inline"))]
    pub access_log: Option<PathBuf>,

    /// Tell steps and loop turns of at least this length one by one
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = timeout)]
    pub hold: Micros,

    /// How much to tell: full, or minimal: the sessions, the access log and the last totals
    #[arg(long, value_name = "EXTENT", default_value_t)]
    pub recording: Recording,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub role: RoleOptions,
}

fn buffer_size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if (Bytes(1)..=Bytes::mib(64)).contains(&size) {
        Ok(size)
    } else {
        Err("a relay buffer has 1 byte to 64 MiB".to_owned())
    }
}

fn timeout(text: &str) -> Result<Micros, String> {
    let length: Micros = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if length > Micros(0) { Ok(length) } else { Err("it must be longer than nothing".to_owned()) }
}

#[cfg(test)]
mod tests;
