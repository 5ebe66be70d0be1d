//! Convoys: a worker that is busy nearly all the time, in many turns of which none is a hold.
//!
//! Who comes to such a worker waits for some of these turns, and no threshold shows them.

use std::time::Duration;

use probe::Turns;
use records::{Micros, MonoNs};
use serde::Serialize;

/// Turns are looked at second by second.
const WINDOW: Duration = Duration::from_secs(1);
/// The part of a second that is taken up by turns, from which on the worker is never idle.
const BUSY: f64 = 0.9;
/// Turns of this part of the threshold, in the mean, are long: those of a worker that is merely busy are
/// shorter, and nobody waits long for them.
const LONG: f64 = 0.1;

/// A stretch of such seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Convoy {
    pub(super) length_us: Micros,
    pub(super) turns: u64,
    pub(super) mean_turn_us: Micros,
}

/// The convoys of one worker.
#[derive(Clone, Debug, Default)]
pub(super) struct Convoys {
    window: Option<Window>,
    /// The part of the last second that was taken up by turns.
    pub(super) busy: f64,
    now: Option<Stretch>,
    longest: Option<Convoy>,
    pub(super) count: u64,
}

/// The convoy in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    length: Duration,
    turns: u64,
    busy: Duration,
}

/// What was seen of holds since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    Not,
    /// One has ended.
    Before,
    /// One lasts, for so long by now.
    For(Micros),
}

/// Where the second in progress began.
#[derive(Clone, Copy, Debug)]
struct Window {
    at: MonoNs,
    turns: u64,
    total: Micros,
    held: bool,
}

impl Convoys {
    /// Takes in the turns of the worker that have ended by now, and what was seen of its holds.
    pub(super) fn look(&mut self, at: MonoNs, turns: &Turns, held: Held, threshold: Micros) {
        let count = turns.lengths.0.iter().sum();
        let fresh = Window { at, turns: count, total: turns.total, held: false };
        let window = self.window.get_or_insert(fresh);
        window.held |= held != Held::Not;
        let length = at.since(window.at);
        if length < WINDOW {
            return;
        }
        let ended = count.saturating_sub(window.turns);
        let total = turns.total.0.saturating_sub(window.total.0);
        let was_held = window.held;
        self.window = Some(fresh);
        let open = match held {
            Held::For(open) => open.as_duration().min(length),
            Held::Not | Held::Before => Duration::ZERO,
        };
        let busy = Duration::from_micros(total) + open;
        self.busy = (busy.as_secs_f64() / length.as_secs_f64()).min(1.0);
        let long = ended > 0 && total as f64 / ended as f64 >= LONG * threshold.0 as f64;
        if was_held || !long || self.busy < BUSY {
            self.now = None;
            return;
        }
        self.count += u64::from(self.now.is_none());
        let now = self.now.get_or_insert_default();
        now.length += length;
        now.turns += ended;
        now.busy += busy;
        let convoy = Convoy {
            length_us: now.length.into(),
            turns: now.turns,
            mean_turn_us: Micros(Micros::from(now.busy).0 / now.turns),
        };
        if self.longest.is_none_or(|longest| longest.length_us < convoy.length_us) {
            self.longest = Some(convoy);
        }
    }

    /// The longest of them.
    pub(super) const fn longest(&self) -> Option<Convoy> {
        self.longest
    }
}
