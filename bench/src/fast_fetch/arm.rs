//! The settings that are compared. Pure.

use records::{Bytes, ListenerMode, ProxyToggles, Rcvbuf, ReadPolicy};

#[cfg(test)]
mod tests;

/// Event loops of the proxy.
pub(super) const WORKERS: u32 = 2;

/// Downloads that each worker should hold: two, so that one can wait for the other.
pub(super) const PER_WORKER: u32 = 2;

/// The published cure: an upstream receive buffer that a worker can empty.
const SMALL_RCVBUF: Bytes = Bytes(40_960);

/// A step's quota in the arm that has one: 16 reads of a page.
const QUOTA: Bytes = Bytes::kib(64);

/// One setting of the proxy, and whether it has a load.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    name: String,
    toggles: ProxyToggles,
    load: Load,
}

/// What the proxy has to do beside the fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    /// Nothing: this host's own baseline.
    Idle,
    /// [`PER_WORKER`] downloads a worker.
    Downloads,
}

impl Arm {
    /// Its name without the listener: the same for both.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// How workers share the port, as the last part of the benchmark's name.
    pub(super) fn listener_name(&self) -> &'static str {
        match self.toggles.listener_mode() {
            ListenerMode::Shared => "shared",
            ListenerMode::Reuseport => "reuseport",
        }
    }

    /// The proxy's settings.
    pub(super) fn toggles(&self) -> &ProxyToggles {
        &self.toggles
    }

    /// Whether it has downloads.
    pub(super) fn load(&self) -> Load {
        self.load
    }
}

/// Every arm, each with both listeners.
pub(super) fn all() -> Vec<Arm> {
    let default = || ProxyToggles { workers: WORKERS, ..ProxyToggles::default() };
    let policy = |read_policy| ProxyToggles { read_policy, ..default() };
    let quota = ReadPolicy::Bytes(QUOTA);
    let settings = [
        ("idle".to_owned(), Load::Idle, policy(ReadPolicy::Drain)),
        ("drain".to_owned(), Load::Downloads, policy(ReadPolicy::Drain)),
        (
            "drain+rcvbuf".to_owned(),
            Load::Downloads,
            ProxyToggles { rcvbuf: Rcvbuf::Size(SMALL_RCVBUF), ..policy(ReadPolicy::Drain) },
        ),
        ("fionread".to_owned(), Load::Downloads, policy(ReadPolicy::Fionread)),
        (quota.to_string(), Load::Downloads, policy(quota)),
    ];
    let with = |reuseport| {
        move |(name, load, toggles): &(String, Load, ProxyToggles)| Arm {
            name: name.clone(),
            load: *load,
            toggles: ProxyToggles { reuseport, ..toggles.clone() },
        }
    };
    settings.iter().flat_map(|setting| [with(false)(setting), with(true)(setting)]).collect()
}
