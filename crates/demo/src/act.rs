//! The acts, as data: which follows which, and how long each takes.

use std::time::Duration;

/// An arm by its place on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The starved arm, which runs first.
    Left,
    /// The cured arm.
    Right,
}

impl Side {
    /// What belongs to this side, of what belongs to both.
    pub const fn of<T>(self, [left, right]: &[T; 2]) -> &T {
        match self {
            Self::Left => left,
            Self::Right => right,
        }
    }

    /// The same, to be changed.
    pub const fn of_mut<T>(self, [left, right]: &mut [T; 2]) -> &mut T {
        match self {
            Self::Left => left,
            Self::Right => right,
        }
    }

    /// `left` or `right`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
        }
    }
}

/// What the room is being shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Who is there, before anything runs.
    Opening,
    /// A trial begins: fetches alone.
    Idle(Side),
    /// The same trial: fetches beside downloads.
    Load(Side),
    /// What it proved.
    Result(Side),
    /// What will be different on the right.
    Change,
    /// Both beside each other.
    Closing,
}

impl Act {
    /// Every act, in order.
    pub const ALL: [Self; 9] = [
        Self::Opening,
        Self::Idle(Side::Left),
        Self::Load(Side::Left),
        Self::Result(Side::Left),
        Self::Change,
        Self::Idle(Side::Right),
        Self::Load(Side::Right),
        Self::Result(Side::Right),
        Self::Closing,
    ];

    /// Its title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Opening => "who is there",
            Self::Idle(_) => "fetches alone",
            Self::Load(_) => "beside downloads",
            Self::Result(_) => "what it proved",
            Self::Change => "one change",
            Self::Closing => "side by side",
        }
    }

    /// The side that it is about, if it is about one.
    pub const fn side(self) -> Option<Side> {
        match self {
            Self::Idle(side) | Self::Load(side) | Self::Result(side) => Some(side),
            Self::Opening => Some(Side::Left),
            Self::Change => Some(Side::Right),
            Self::Closing => None,
        }
    }

    /// The trial whose phases decide when it is over; absent: it has a length of its own.
    pub const fn trial(self) -> Option<Side> {
        match self {
            Self::Idle(side) | Self::Load(side) => Some(side),
            Self::Opening | Self::Result(_) | Self::Change | Self::Closing => None,
        }
    }

    /// Its number, from 1.
    pub fn number(self) -> usize {
        Self::ALL.iter().position(|act| *act == self).map_or(0, |index| index + 1)
    }

    /// The one that follows.
    pub fn next(self) -> Option<Self> {
        Self::ALL.get(self.number()).copied()
    }
}

/// How long the acts take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The idle phase of each trial.
    pub idle: Duration,
    /// The measure phase of each trial.
    pub measure: Duration,
    /// The acts without a trial: before the first, after it, before the second, after it, and the last.
    acts: [Duration; 5],
}

impl Timing {
    /// About 90 s in all.
    pub const STAGE: Self = Self {
        idle: ms(4_000),
        measure: ms(17_000),
        acts: [ms(6_000), ms(8_000), ms(7_000), ms(7_000), ms(16_000)],
    };

    /// About 30 s in all. The idle phase still has the 20 fetches that a baseline needs.
    pub const FAST: Self = Self {
        idle: ms(2_200),
        measure: ms(5_000),
        acts: [ms(1_500), ms(3_000), ms(1_500), ms(1_500), ms(4_500)],
    };

    /// How long an act takes, one with a trial without what is around its phases.
    pub const fn of(&self, act: Act) -> Duration {
        let [opening, starved, change, cured, closing] = self.acts;
        match act {
            Act::Opening => opening,
            Act::Idle(_) => self.idle,
            Act::Load(_) => self.measure,
            Act::Result(Side::Left) => starved,
            Act::Change => change,
            Act::Result(Side::Right) => cured,
            Act::Closing => closing,
        }
    }

    /// About how long the whole show takes. Each trial takes more than its two phases: starting processes
    /// and downloads, the last fetches, stopping, making the report. Two CPUs, Linux 6.18, 2026-11-22,
    /// `turnstile demo --fast`: 1.3 s.
    pub fn total(&self) -> Duration {
        let acts: Duration = Act::ALL.iter().map(|act| self.of(*act)).sum();
        acts + ms(1_500) * 2
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
