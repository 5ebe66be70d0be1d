//! The reserve of a hold: what waited in the upstream's receive buffer while a step went on.
//!
//! A step that drains goes on for as long as this does not run empty.

use std::collections::BTreeMap;

use records::{Bytes, SocketEnd};
use serde::Serialize;

use crate::explain::Context;
use crate::window::grouped;

/// Receive queues of the upstream connections of sessions, looked at inside their holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Reserve {
    /// How many looks there were.
    pub samples: u64,
    /// How many of them found the queue empty.
    pub empty: u64,
    /// The median depth.
    pub median: Bytes,
    /// The largest depth.
    pub most: Bytes,
}

/// The reserves of these holds, by position among the records'; `None` when nobody looked.
pub(crate) fn of(context: &Context<'_>, holds: impl IntoIterator<Item = usize>) -> Option<Reserve> {
    let upstream_ports: BTreeMap<(u32, u64), u16> = context
        .records
        .sessions
        .iter()
        .filter_map(|session| Some(((session.worker, session.session), session.upstream_port?)))
        .collect();
    let looks = context.records.sockets.iter().filter(|look| look.end == SocketEnd::Upstream);
    let looks = grouped(looks.map(|look| (look.port, look)));
    let mut depths: Vec<Bytes> = Vec::new();
    for hold in holds.into_iter().filter_map(|at| context.records.holds.get(at)) {
        let port = upstream_ports.get(&(hold.worker, hold.session));
        let looks = port.and_then(|port| looks.get(port)).into_iter().flatten();
        let inside = looks.filter(|look| (hold.start_ns..hold.end_ns).contains(&look.at_ns));
        depths.extend(inside.map(|look| look.receive_queue));
    }
    depths.sort_unstable();
    Some(Reserve {
        samples: depths.len() as u64,
        empty: depths.partition_point(|depth| *depth == Bytes(0)) as u64,
        median: *depths.get(depths.len() / 2)?,
        most: *depths.last()?,
    })
}
