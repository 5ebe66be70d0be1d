//! What an event is about, packed into the 64 bits that epoll keeps for us.
//!
//! A slot of the slab is reused at once; the generation tells an event for its former session from
//! one for its present one (nginx keeps one `instance` bit for this).

use mio::Token;

use crate::session::Peer;

/// The listener of this worker.
pub(crate) const LISTENER: Token = Token(usize::MAX);
/// Somebody wants the worker to look at its stop flag.
pub(crate) const WAKER: Token = Token(usize::MAX - 1);

/// A slot of the slab and which session in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SessionKey {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// Generations go round below this, so that no token collides with the two above.
pub(crate) const GENERATIONS: u32 = 1 << 30;

impl SessionKey {
    /// The token of one connection of this session.
    pub(crate) fn token(self, peer: Peer) -> Token {
        let side = match peer {
            Peer::Client => 0,
            Peer::Upstream => 1,
        };
        Token(((self.generation as usize) << 33) | ((self.slot as usize) << 1) | side)
    }

    /// Which connection of which session `token` means.
    pub(crate) fn of(token: Token) -> (Self, Peer) {
        let Token(bits) = token;
        let peer = if bits & 1 == 0 { Peer::Client } else { Peer::Upstream };
        let slot = u32::try_from((bits >> 1) & 0xffff_ffff).unwrap_or(u32::MAX);
        let generation = u32::try_from(bits >> 33).unwrap_or(u32::MAX);
        (Self { slot, generation }, peer)
    }
}
