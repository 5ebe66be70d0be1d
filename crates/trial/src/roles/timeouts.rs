//! How long a role may take: longer than it allows its own parts, so that it
//! can say itself what keeps it.

use std::time::Duration;

use records::{ProxyKind, Role};

/// How long our own roles may take to be ready for work, and to end when asked. They take
/// milliseconds, unless the host is very busy.
const OWN: Timeouts = Timeouts { ready: Duration::from_secs(30), end: Duration::from_secs(5) };

/// What starting a process and hearing of it may take on a host whose CPUs are all taken.
const MARGIN: Duration = Duration::from_secs(10);

/// How long a role may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until it is ready for work.
    pub ready: Duration,
    /// Until it has ended, once asked to.
    pub end: Duration,
}

/// How long `role` may take in a run with this proxy.
pub fn timeouts(role: Role, proxy: &ProxyKind) -> Timeouts {
    match role {
        Role::Proxy if *proxy != ProxyKind::Mirror => {
            beyond(servers::READY_WITHIN, servers::STOPPED_WITHIN)
        }
        Role::Proxy => beyond(OWN.ready, proxy::STOPPED_WITHIN),
        Role::Trace => beyond(tracer::READY_WITHIN, tracer::STOPPED_WITHIN),
        Role::Origin | Role::Slow | Role::Fast => OWN,
    }
}

fn beyond(ready: Duration, end: Duration) -> Timeouts {
    let beyond = |inner: Duration, own: Duration| own.max(inner.saturating_add(MARGIN));
    Timeouts { ready: beyond(ready, OWN.ready), end: beyond(end, OWN.end) }
}

#[cfg(test)]
mod tests;
