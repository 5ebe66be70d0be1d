//! Which trial when: rounds of all arms, each round in an order of its own.
//!
//! A host that grows slower in the course of a campaign must not make one arm look worse: so every
//! round has each arm once (a block), and the order within it is drawn anew.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

/// What the order is drawn from: the same seed, arms and rounds make the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// A seed of this moment: short enough to be typed again.
    pub fn fresh() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u64::from(now.subsec_micros()))
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Seed {
    type Err = std::num::ParseIntError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// Rounds that may be asked for.
pub const MAX_ROUNDS: u32 = 1000;

/// One trial of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// Which round, from 0.
    pub round: u32,
    /// Which arm, by position.
    pub arm: usize,
}

/// Every trial of `rounds` rounds of `arms` arms, in the order of their start.
pub fn order(arms: usize, rounds: u32, seed: Seed) -> Vec<Slot> {
    let mut random = ChaCha8Rng::seed_from_u64(seed.0);
    let block = |round| {
        let mut block: Vec<Slot> = (0..arms).map(|arm| Slot { round, arm }).collect();
        block.shuffle(&mut random);
        block
    };
    (0..rounds).flat_map(block).collect()
}

#[cfg(test)]
mod tests;
