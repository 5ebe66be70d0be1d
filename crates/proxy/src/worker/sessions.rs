//! A worker's sessions: which one an event is about, in which queue each stands, and when each is
//! looked at.

use std::collections::BTreeSet;
use std::mem;

use mio::Token;
use mio::net::TcpStream;
use records::MonoNs;
use slab::Slab;

use crate::session::{Peer, Session};

/// Somebody wants the worker to look at its stop flag. The token above it is the listener's.
pub(super) const WAKER: Token = Token(usize::MAX - 1);

/// A slot of the slab and which session in it. A slot is reused at once; the generation tells an
/// event for its former session from one for its present one (nginx keeps one `instance` bit for
/// this).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SessionKey {
    pub(super) slot: u32,
    pub(super) generation: u32,
}

/// Generations go round below this, so that no token collides with these two.
pub(super) const GENERATIONS: u32 = 1 << 30;

impl SessionKey {
    /// The token of one connection of this session: the 64 bits that epoll keeps for us.
    pub(super) fn token(self, peer: Peer) -> Token {
        let (generation, slot) = (self.generation as usize, self.slot as usize);
        Token((generation << 33) | (slot << 1) | peer as usize)
    }

    /// Which connection of which session `token` means.
    pub(super) fn of(token: Token) -> (Self, Peer) {
        let Token(bits) = token;
        let peer = if bits & 1 == 0 { Peer::Client } else { Peer::Upstream };
        let slot = u32::try_from((bits >> 1) & 0xffff_ffff).unwrap_or(u32::MAX);
        let generation = u32::try_from(bits >> 33).unwrap_or(u32::MAX);
        (Self { slot, generation }, peer)
    }
}

/// Where a session stands that is to be run: in one place at most, and there once. One that stood
/// twice would get twice its share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere: it waits for an event.
    #[default]
    Nowhere,
    /// In the work of this loop turn.
    Work,
    /// In the ready queue, for the work of the next.
    Ready,
}

impl Place {
    /// It is to run in this loop turn. Whether it has to be put into the work: it is not in yet.
    pub(super) fn line_up(&mut self) -> bool {
        mem::replace(self, Self::Work) != Self::Work
    }

    /// It has yielded. Whether it has to be put into the ready queue: it is not in yet.
    pub(super) fn make_ready(&mut self) -> bool {
        mem::replace(self, Self::Ready) != Self::Ready
    }

    /// Its turn has come. One that yielded, and has a step for its deadline, keeps its place.
    pub(super) fn begin_step(&mut self) {
        if *self == Self::Work {
            *self = Self::Nowhere;
        }
    }
}

/// A session, and what its worker knows of it.
pub(super) struct Slot {
    pub(super) session: Session<TcpStream>,
    pub(super) key: SessionKey,
    pub(super) place: Place,
    /// When to look at it, by its timer entry.
    pub(super) timer: MonoNs,
}

/// The sessions of one worker.
#[derive(Default)]
pub(super) struct Sessions {
    slab: Slab<Slot>,
    /// When to look at which session, earliest first: an entry of each ([`Slot::timer`]).
    ///
    /// A session that moves puts its deadline off at every step; the set hears of that only when the
    /// old deadline comes up, so moving costs nothing here. A deadline that comes nearer changes the entry
    /// at once.
    timers: BTreeSet<(MonoNs, SessionKey)>,
}

impl Sessions {
    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    /// What the session `number` will be known by, if it is the next to be put in.
    pub(super) fn next_key(&self, number: u64) -> SessionKey {
        SessionKey {
            slot: u32::try_from(self.slab.vacant_key()).unwrap_or(u32::MAX),
            generation: u32::try_from(number % u64::from(GENERATIONS)).unwrap_or(0),
        }
    }

    pub(super) fn insert(&mut self, slot: Slot) {
        self.timers.insert((slot.timer, slot.key));
        self.slab.insert(slot);
    }

    /// `None`: it has been closed.
    pub(super) fn get(&mut self, key: SessionKey) -> Option<&mut Slot> {
        self.slab.get_mut(key.slot as usize).filter(|slot| slot.key == key)
    }

    pub(super) fn remove(&mut self, key: SessionKey) -> Option<Slot> {
        let timer = self.get(key)?.timer;
        self.timers.remove(&(timer, key));
        self.slab.try_remove(key.slot as usize)
    }

    /// Takes all of them, in the order of their slots.
    pub(super) fn drain(&mut self) -> Vec<Slot> {
        self.slab.drain().collect()
    }

    /// When one of them has to be looked at.
    pub(super) fn first_timer(&self) -> Option<MonoNs> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Gives a session a timer entry for its deadline, in place of the one it had.
    pub(super) fn set_timer(&mut self, key: SessionKey) {
        if let Some(slot) = self.get(key) {
            let at = slot.session.deadline;
            let before = mem::replace(&mut slot.timer, at);
            self.timers.remove(&(before, key));
            self.timers.insert((at, key));
        }
    }

    /// A session whose deadline has passed by `now`. Entries of those that have put theirs off are set anew.
    pub(super) fn late(&mut self, now: MonoNs) -> Option<SessionKey> {
        while let Some(&(at, key)) = self.timers.first()
            && at <= now
        {
            if self.get(key)?.session.deadline <= now {
                return Some(key);
            }
            self.set_timer(key);
        }
        None
    }
}
