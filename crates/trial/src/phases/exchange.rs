//! What the phases are told, and what they say is to be done.

use std::process::ExitStatus;

use records::{Phase, Record, Requests, Role, SlowOrder, Visibility};

use crate::Origin;

/// What happened.
#[derive(Debug)]
pub(crate) enum Input {
    /// The trial begins, with or without an origin.
    Begin(Origin),
    /// A role is up.
    Ready(Role),
    /// The proxy is up, its workers are seen so, so many were found, and downloads may wait with their
    /// requests until they are placed, or not.
    ProxyReady(Visibility, Option<u32>, Requests),
    /// A role told of its work.
    Record(Box<Record>),
    /// A role did what it must not.
    Fault(Role, String),
    /// A role has ended.
    Ended(Role, ExitStatus),
    /// SIGINT or SIGTERM.
    Signal(i32),
    /// SIGUSR1: no more fetches in this phase.
    GoOn,
    /// The trial itself cannot go on.
    Broken,
    /// It is [`Phases::until`].
    Deadline,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A phase begins.
    Begin(Phase, Before),
    /// Start a role.
    Start(Start),
    /// Hand an order to the downloads.
    Order(SlowOrder),
    /// Ask a role to end.
    Dismiss(Role),
    /// End a role at once.
    Kill(Role),
    /// Note what a role did wrong.
    Blame(Role, String),
}

/// What became of the phase before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// It came to its own end.
    Ended,
    /// It was cut short.
    CutShort,
}

/// A role to be started, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// The upstream.
    Origin,
    /// The proxy under test.
    Proxy,
    /// The downloads.
    Slow(Requests),
    /// The fetches of a phase.
    Fast(Phase),
}

impl Start {
    /// Which role it is.
    pub(crate) const fn role(self) -> Role {
        match self {
            Self::Origin => Role::Origin,
            Self::Proxy => Role::Proxy,
            Self::Slow(_) => Role::Slow,
            Self::Fast(_) => Role::Fast,
        }
    }
}
