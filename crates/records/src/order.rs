//! What the harness may tell the slow client on its standard input, one JSON object a line.

use serde::{Deserialize, Serialize};

/// When a download sends its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// On [`SlowOrder::Go`]: until then its worker is idle and accepts what comes.
    Held,
    /// As soon as it is connected.
    AtOnce,
}

/// An order to the slow client: how downloads get to the workers that should hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum SlowOrder {
    /// Hang up the connection from this port and dial that slot again from a new one.
    Redial {
        /// The client's port, as told in [`crate::Dialed`].
        client_port: u16,
    },
    /// Send the request of every connection that is open and waits for this.
    Go,
}
