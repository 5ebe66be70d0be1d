//! The proxy's listeners: one for all workers, or one for each; and what the kernel made of them.

use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::sync::Arc;

use mio::net::TcpListener;
use net::tcp::{Buffers, Dial, Listen};
use records::{AcceptMode, Bytes, ListenerMode, ProxyToggles, SocketSetting};
use rustix::fs::fstat;
use socket2::SockRef;

use crate::ProxyOptions;
use crate::worker::Watch;

/// See the module's head.
pub(crate) struct Listeners {
    first: Arc<TcpListener>,
    /// Those of the workers from 1 on; none: all share the first.
    others: Vec<Arc<TcpListener>>,
}

impl Listeners {
    /// Opens as many as the workers need.
    ///
    /// # Errors
    /// As `socket(2)`, `bind(2)` and `listen(2)`.
    pub(crate) fn open(options: &ProxyOptions) -> io::Result<Self> {
        let toggles = &options.toggles;
        let mode = toggles.listener_mode();
        let open = |addr: SocketAddr| {
            let (backlog, buffers) = (toggles.backlog, Buffers::default());
            let socket = Listen { addr, mode, backlog, buffers }.open()?;
            net::tcp::set_congestion(&socket, &toggles.congestion)?;
            io::Result::Ok(Arc::new(TcpListener::from_std(StdTcpListener::from(socket))))
        };
        // With SO_REUSEPORT a foreign process of ours could hold the port already and take a share of
        // the connections: look for it without the option first.
        if mode == ListenerMode::Reuseport && options.listen.port() != 0 {
            let (addr, mode) = (options.listen, ListenerMode::Shared);
            drop(Listen { addr, mode, backlog: 1, buffers: Buffers::default() }.open()?);
        }
        let first = open(options.listen)?;
        let addr = first.local_addr()?;
        let others = match mode {
            ListenerMode::Shared => 1..1,
            ListenerMode::Reuseport => 1..toggles.workers,
        };
        Ok(Self { first, others: others.map(|_| open(addr)).collect::<io::Result<_>>()? })
    }

    /// The one that a worker accepts at.
    pub(crate) fn of_worker(&self, worker: u32) -> Arc<TcpListener> {
        let own = (worker as usize).checked_sub(1).and_then(|other| self.others.get(other));
        Arc::clone(own.unwrap_or(&self.first))
    }

    /// Where they are.
    pub(crate) fn addr(&self) -> Option<SocketAddr> {
        self.first.local_addr().ok()
    }

    /// Which one is whose, for those who look at their queues from outside.
    pub(crate) fn inodes(&self) -> io::Result<Vec<u64>> {
        let all = std::iter::once(&self.first).chain(&self.others);
        all.map(|listener| Ok(fstat(&**listener)?.st_ino)).collect()
    }

    /// The congestion control that accepted connections inherit.
    pub(crate) fn congestion(&self) -> Option<String> {
        net::tcp::congestion(&SockRef::from(&*self.first)).ok()
    }

    /// The buffers as the kernel keeps them, on a listener and on an upstream socket that is made
    /// for the question and connects to nothing.
    pub(crate) fn read_back(&self, options: &ProxyOptions) -> Vec<SocketSetting> {
        let accepted = Buffers::default().read_back(&SockRef::from(&*self.first), "accepted");
        let buffers = options.upstream_buffers();
        let unused = Dial { addr: options.upstream, from: None, buffers }.make();
        let upstream = unused.and_then(|socket| buffers.read_back(&socket, "upstream"));
        let told = [accepted, upstream].into_iter().flat_map(Result::unwrap_or_default);
        told.filter(|setting| setting.effective > Bytes(0)).collect()
    }
}

/// How workers watch their listeners. With one worker there is nobody to be exclusive to, as in nginx
/// (`ngx_event_process_init`).
pub(crate) fn watch(toggles: &ProxyToggles) -> Watch {
    match (toggles.listener_mode(), toggles.workers, toggles.accept) {
        (ListenerMode::Shared, 2.., AcceptMode::Exclusive) => Watch::Exclusive,
        _ => Watch::Always,
    }
}
