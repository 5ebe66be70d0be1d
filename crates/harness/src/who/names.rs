//! How the ends of connections are written.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// How addresses are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// As they are.
    Addresses,
    /// Hosts by numbers, in the order in which they were seen.
    Numbers(BTreeMap<IpAddr, usize>),
}

impl Names {
    /// The far end of a connection.
    pub(super) fn peer(&mut self, addr: SocketAddr) -> String {
        match self {
            Self::Addresses => addr.to_string(),
            Self::Numbers(hosts) => {
                let next = hosts.len() + 1;
                let number = hosts.entry(addr.ip()).or_insert(next);
                format!("host{number}:{}", addr.port())
            }
        }
    }

    /// The end of a watched process.
    pub(super) fn own(&self, addr: SocketAddr) -> String {
        match self {
            Self::Addresses => addr.to_string(),
            Self::Numbers(_) => format!(":{}", addr.port()),
        }
    }
}
