//! What the origin told of the requests of each session, joined by the session's own port towards it.
//!
//! Not for: whose time that was; [`super::life`] cuts a fetch's life by it.

use std::collections::BTreeMap;

use records::{Answered, Session};

use crate::grouped::grouped;

/// See the module's head.
#[derive(Debug, Default)]
pub(crate) struct Answers<'a> {
    /// In order of their requests.
    by_port: BTreeMap<u16, Vec<&'a Answered>>,
}

impl<'a> Answers<'a> {
    /// What was told, in any order.
    pub(crate) fn of(told: &'a [Answered]) -> Self {
        let mut by_port = grouped(told.iter().map(|answered| (answered.upstream_port, answered)));
        by_port.values_mut().for_each(|told| told.sort_by_key(|answered| answered.request_ns));
        Self { by_port }
    }

    /// The first request that came from the session's port while the session lasted, from its own
    /// request on: a port may be used again within a run.
    pub(crate) fn to(&self, session: &Session) -> Option<&'a Answered> {
        let told = self.by_port.get(&session.upstream_port?)?;
        let asked = session.request_ns?;
        let before = told.partition_point(|answered| answered.request_ns < asked);
        told.get(before).copied().filter(|answered| answered.request_ns <= session.closed_ns)
    }
}

#[cfg(test)]
mod tests;
