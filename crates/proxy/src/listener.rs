//! The proxy's listeners, one for all workers or one for each, and what the kernel made of them; and how a
//! worker accepts: level-triggered, one accept a loop turn, and for a while not at all when the host has no
//! descriptor or memory left.
//!
//! As nginx: `EPOLLIN` without `EPOLLET`, `multi_accept off`, and for a listener that workers share
//! one of two ways to say who is woken ([`watch_flags`]). mio knows neither, but its registry
//! hands out the epoll descriptor; an event added there comes back through mio with the token given.
//! nginx's habit of adding an exclusive listener anew every 16 accepts (1.21.6) is not mirrored.
//!
//! Sources: nginx 1.22.1, `ngx_event_process_init` (src/event/ngx_event.c) and `ngx_event_accept`
//! (src/event/ngx_event_accept.c).

use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::sync::Arc;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Registry, Token};
use net::tcp::{Buffers, Dial, Listen};
use records::{AcceptMode, Bytes, ListenerMode, MonoNs, ProxyToggles, SocketSetting};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fs::fstat;
use rustix::io::Errno;
use socket2::SockRef;

use crate::{ProxyOptions, upstream_buffers};

/// The token of a worker's listener.
pub(crate) const LISTENER: Token = Token(usize::MAX);

/// How long accepting stops after the host ran out of something (`accept_mutex_delay`, 500 ms).
const RETRY_AFTER: Duration = Duration::from_millis(500);

/// One that all workers share, or one for each.
pub(crate) struct Listeners(Vec<Arc<TcpListener>>);

impl Listeners {
    /// Opens as many as the workers need.
    ///
    /// # Errors
    /// As `socket(2)`, `bind(2)` and `listen(2)`.
    pub(crate) fn open(options: &ProxyOptions) -> io::Result<Self> {
        let toggles = &options.toggles;
        let (mode, buffers) = (toggles.listener_mode(), Buffers::default());
        let open = |addr: SocketAddr| {
            let socket = Listen { addr, mode, backlog: toggles.backlog, buffers }.open()?;
            net::tcp::set_congestion(&socket, &toggles.congestion)?;
            io::Result::Ok(Arc::new(TcpListener::from_std(StdTcpListener::from(socket))))
        };
        // With SO_REUSEPORT a foreign process of ours could hold the port already and take a share of
        // the connections: look for it without the option first.
        if mode == ListenerMode::Reuseport && options.listen.port() != 0 {
            let (addr, mode) = (options.listen, ListenerMode::Shared);
            drop(Listen { addr, mode, backlog: 1, buffers }.open()?);
        }
        let mut all = vec![open(options.listen)?];
        if mode == ListenerMode::Reuseport {
            let addr = all[0].local_addr()?;
            for _ in 1..toggles.workers {
                all.push(open(addr)?);
            }
        }
        Ok(Self(all))
    }

    /// The one that a worker accepts at.
    pub(crate) fn of_worker(&self, worker: u32) -> Arc<TcpListener> {
        Arc::clone(&self.0[worker as usize % self.0.len()])
    }

    /// Which one is whose, for those who look at their queues from outside.
    pub(crate) fn inodes(&self) -> io::Result<Vec<u64>> {
        self.0.iter().map(|listener| Ok(fstat(&**listener)?.st_ino)).collect()
    }

    /// The buffers as the kernel keeps them, on a listener and on an upstream socket that is made
    /// for the question and connects to nothing.
    pub(crate) fn read_back(&self, options: &ProxyOptions) -> Vec<SocketSetting> {
        let first = self.of_worker(0);
        let accepted = Buffers::default().read_back(&SockRef::from(&*first), "accepted");
        let buffers = upstream_buffers(&options.toggles);
        let unused = Dial { addr: options.upstream, from: None, buffers }.make();
        let upstream = unused.and_then(|socket| buffers.read_back(&socket, "upstream"));
        let told = [accepted, upstream].into_iter().flat_map(Result::unwrap_or_default);
        told.filter(|setting| setting.effective > Bytes(0)).collect()
    }
}

/// How workers watch their listeners. One of those that sleep is woken (`EPOLLEXCLUSIVE`, nginx from 1.11.3),
/// or every worker is: it has a listener of its own, or is one of the herd (nginx before 1.11.3 with
/// `accept_mutex off`). With one worker there is nobody to be exclusive to, as in nginx
/// (`ngx_event_process_init`).
fn watch_flags(toggles: &ProxyToggles) -> EventFlags {
    match (toggles.listener_mode(), toggles.workers, toggles.accept) {
        (ListenerMode::Shared, 2.., AcceptMode::Exclusive) => {
            EventFlags::IN | EventFlags::EXCLUSIVE
        }
        _ => EventFlags::IN,
    }
}

/// A worker's listener, and whether it accepts.
pub(crate) struct Acceptor {
    listener: Arc<TcpListener>,
    flags: EventFlags,
    /// When accepting starts again; `None`: it has not stopped.
    pub(crate) paused_until: Option<MonoNs>,
}

impl Acceptor {
    /// Starts to watch the worker's listener.
    pub(crate) fn open(
        registry: &Registry,
        listener: Arc<TcpListener>,
        toggles: &ProxyToggles,
    ) -> io::Result<Self> {
        let acceptor = Self { listener, flags: watch_flags(toggles), paused_until: None };
        acceptor.watch(registry)?;
        Ok(acceptor)
    }

    /// Accepts one connection.
    ///
    /// # Errors
    /// EAGAIN: nobody waits, another worker was faster. A shortage of descriptors or memory: accepting
    /// stops for a while ([`Self::paused_until`]). Any other: the one who waited has gone.
    pub(crate) fn accept(
        &mut self,
        registry: &Registry,
        now: MonoNs,
    ) -> io::Result<(TcpStream, SocketAddr)> {
        self.listener.accept().inspect_err(|error| {
            // Level-triggered, the listener would wake the worker without end. A failure leaves it
            // watched: the worker turns more often, but accepts later.
            if net::tcp::is_shortage(error) {
                let _ = epoll::delete(registry, &*self.listener);
                self.paused_until = Some(now + RETRY_AFTER);
            }
        })
    }

    /// Starts again if it is time to.
    pub(crate) fn resume(&mut self, registry: &Registry, now: MonoNs) {
        if self.paused_until.is_some_and(|until| until <= now) {
            let watched = matches!(self.watch(registry), Ok(()) | Err(Errno::EXIST));
            self.paused_until = (!watched).then(|| now + RETRY_AFTER);
        }
    }

    fn watch(&self, registry: &Registry) -> Result<(), Errno> {
        let data = EventData::new_u64(LISTENER.0 as u64);
        epoll::add(registry, &*self.listener, data, self.flags)
    }
}
