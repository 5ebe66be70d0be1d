//! Which toggles an arm asks for beyond the defaults.

use std::fmt;
use std::path::PathBuf;

use records::{
    AcceptMode, Arm, BufferingMode, Bytes, Congestion, Content, LogMode, Placement, ReadPolicy,
    Spool, TraceMode,
};

/// A toggle that was asked for: set to something else than the mirror's default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Toggle {
    ReadPolicy(ReadPolicy),
    Congestion(Congestion),
    Workers(u32),
    Reuseport,
    Rcvbuf(Bytes),
    Sndbuf(Bytes),
    ListenRcvbuf(Bytes),
    ListenSndbuf(Bytes),
    Buffer(Bytes),
    Backlog(u32),
    MultiAccept,
    Accept(AcceptMode),
    LogInline,
    ContentFile,
    Buffering(BufferingMode),
    SpoolOff,
    SpoolDir(PathBuf),
    SpoolMax(Bytes),
    Gzip(u32),
    Directives,
    Trace(TraceMode),
    OneWorker,
}

/// What the mirror takes when nothing is said: `proxy::ProxyToggles::default`.
const WORKERS: u32 = 2;
const BUFFER: Bytes = Bytes::kib(4);
const BACKLOG: u32 = 511;

impl Toggle {
    /// All that `arm` asks of its proxy.
    pub(crate) fn asked(arm: &Arm) -> Vec<Self> {
        let when = |asked: bool, toggle: Self| asked.then_some(toggle);
        let all = [
            when(arm.read_policy != ReadPolicy::default(), Self::ReadPolicy(arm.read_policy)),
            when(arm.congestion != Congestion::default(), Self::Congestion(arm.congestion.clone())),
            when(arm.workers != WORKERS, Self::Workers(arm.workers)),
            when(arm.reuseport, Self::Reuseport),
            arm.rcvbuf.map(Self::Rcvbuf),
            arm.sndbuf.map(Self::Sndbuf),
            arm.listen_rcvbuf.map(Self::ListenRcvbuf),
            arm.listen_sndbuf.map(Self::ListenSndbuf),
            when(arm.buffer != BUFFER, Self::Buffer(arm.buffer)),
            when(arm.backlog != BACKLOG, Self::Backlog(arm.backlog)),
            when(arm.multi_accept, Self::MultiAccept),
            when(arm.accept != AcceptMode::default(), Self::Accept(arm.accept)),
            when(arm.log_mode == LogMode::Inline, Self::LogInline),
            when(arm.content == Content::File, Self::ContentFile),
            when(arm.buffering != BufferingMode::default(), Self::Buffering(arm.buffering)),
            match &arm.spool {
                Spool::Default => None,
                Spool::Off => Some(Self::SpoolOff),
                Spool::Dir(dir) => Some(Self::SpoolDir(dir.clone())),
            },
            arm.spool_max.map(Self::SpoolMax),
            arm.gzip.map(Self::Gzip),
            when(!arm.directives.is_empty(), Self::Directives),
            when(
                matches!(arm.trace, TraceMode::Bpftrace | TraceMode::Sample),
                Self::Trace(arm.trace),
            ),
            when(arm.place == Placement::OneWorker, Self::OneWorker),
        ];
        all.into_iter().flatten().collect()
    }

    /// Whether it says how bytes from the origin are handled: without meaning for local files.
    pub(crate) const fn is_about_relaying(&self) -> bool {
        matches!(
            self,
            Self::Rcvbuf(_)
                | Self::Sndbuf(_)
                | Self::Buffer(_)
                | Self::Buffering(_)
                | Self::SpoolOff
                | Self::SpoolDir(_)
                | Self::SpoolMax(_)
        )
    }
}

/// As it is typed.
impl fmt::Display for Toggle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadPolicy(policy) => write!(f, "--read-policy {policy}"),
            Self::Congestion(name) => write!(f, "--congestion {name}"),
            Self::Workers(n) => write!(f, "--workers {n}"),
            Self::Reuseport => f.write_str("--reuseport"),
            Self::Rcvbuf(size) => write!(f, "--rcvbuf {}", size.exact()),
            Self::Sndbuf(size) => write!(f, "--sndbuf {}", size.exact()),
            Self::ListenRcvbuf(size) => write!(f, "--listen-rcvbuf {}", size.exact()),
            Self::ListenSndbuf(size) => write!(f, "--listen-sndbuf {}", size.exact()),
            Self::Buffer(size) => write!(f, "--buffer {}", size.exact()),
            Self::Backlog(n) => write!(f, "--backlog {n}"),
            Self::MultiAccept => f.write_str("--multi-accept"),
            Self::Accept(mode) => write!(f, "--accept {mode}"),
            Self::LogInline => f.write_str("--log-mode inline"),
            Self::ContentFile => f.write_str("--content file"),
            Self::Buffering(mode) => write!(f, "--buffering {mode}"),
            Self::SpoolOff => f.write_str("--spool off"),
            Self::SpoolDir(dir) => write!(f, "--spool {}", dir.display()),
            Self::SpoolMax(size) => write!(f, "--spool-max {}", size.exact()),
            Self::Gzip(level) => write!(f, "--gzip {level}"),
            Self::Directives => f.write_str("--directive"),
            Self::Trace(mode) => write!(f, "--trace {mode}"),
            Self::OneWorker => f.write_str("--place one-worker"),
        }
    }
}

#[cfg(test)]
mod tests;
