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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Convoy {
    pub(super) length_us: Micros,
    pub(super) turns: u64,
    pub(super) mean_turn_us: Micros,
    #[serde(skip)]
    busy: Duration,
}

/// The convoys of one worker.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Convoys {
    #[serde(skip)]
    window: Option<Window>,
    /// The part of the last second that was taken up by turns.
    #[serde(skip)]
    pub(super) busy: f64,
    #[serde(skip)]
    now: Option<Convoy>,
    #[serde(rename = "convoys")]
    pub(super) count: u64,
    #[serde(rename = "longest_convoy")]
    pub(super) longest: Option<Convoy>,
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
    /// Takes in the turns of the worker that have ended by now. `held`: how long the hold has lasted that
    /// it is in, nothing where one has ended since the last look; `None`: there was none.
    pub(super) fn look(
        &mut self,
        at: MonoNs,
        turns: &Turns,
        held: Option<Micros>,
        threshold: Micros,
    ) {
        let count = turns.turn_lengths.0.iter().sum();
        let fresh = Window { at, turns: count, total: turns.turns_us, held: false };
        let window = self.window.get_or_insert(fresh);
        window.held |= held.is_some();
        let length = at.since(window.at);
        if length < WINDOW {
            return;
        }
        let ended = count.saturating_sub(window.turns);
        let total = turns.turns_us.0.saturating_sub(window.total.0);
        let was_held = window.held;
        self.window = Some(fresh);
        let open = held.unwrap_or_default().as_duration().min(length);
        let busy = Duration::from_micros(total) + open;
        self.busy = (busy.as_secs_f64() / length.as_secs_f64()).min(1.0);
        let long = ended > 0 && total as f64 / ended as f64 >= LONG * threshold.0 as f64;
        if was_held || !long || self.busy < BUSY {
            self.now = None;
            return;
        }
        self.count += u64::from(self.now.is_none());
        let now = self.now.get_or_insert_default();
        now.length_us = Micros(now.length_us.0 + Micros::from(length).0);
        now.turns += ended;
        now.busy += busy;
        now.mean_turn_us = Micros(Micros::from(now.busy).0 / now.turns);
        if self.longest.is_none_or(|longest| longest.length_us < now.length_us) {
            self.longest = Some(*now);
        }
    }
}
