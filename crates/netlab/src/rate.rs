//! How fast a link is.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use records::{Bytes, BytesPerSec};
use serde::{Deserialize, Serialize};

/// The rate of a link in bits per second, as links are sold. In records: a plain integer.
///
/// Written `1Gbit/s`, `100Mbit`, `1.5Mbit/s`; the unit is needed, since a bare number would be taken
/// for bytes by some. From 8 kbit/s to 1 Tbit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LinkRate(u64);

/// Largest first: the first that divides a rate is its unit.
const UNITS: [(u64, &str); 4] =
    [(1_000_000_000, "Gbit"), (1_000_000, "Mbit"), (1_000, "kbit"), (1, "bit")];

impl LinkRate {
    /// How long a link that was idle may send faster than its rate: what its bucket holds, tc-tbf(8).
    /// tbf reckons in nanoseconds, not in ticks of a timer, so it can be this short.
    pub const BURST: Duration = Duration::from_millis(2);

    /// How long a packet may wait before the queue is full and the next one is lost: what the port
    /// of a small switch holds.
    pub const QUEUE: Duration = Duration::from_millis(50);

    /// `bits` per second; `None` outside of 8 kbit/s to 1 Tbit/s.
    pub const fn from_bits(bits: u64) -> Option<Self> {
        if bits >= 8_000 && bits <= 1_000_000_000_000 { Some(Self(bits)) } else { None }
    }

    /// Bits per second.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The same rate as bytes per second, rounded down.
    pub const fn bytes_per_sec(self) -> BytesPerSec {
        BytesPerSec(self.0 / 8)
    }

    /// What passes in `length`, rounded down.
    pub(crate) fn within(self, length: Duration) -> Bytes {
        let bytes = u128::from(self.0) * length.as_micros() / 8_000_000;
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// Spelt so that it reads back as the same rate: `1Gbit/s`, `1500kbit/s`.
impl fmt::Display for LinkRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.into_iter().find(|(unit, _)| self.0.is_multiple_of(*unit));
        let (unit, name) = unit.unwrap_or((1, "bit"));
        f.pad(&format!("{}{name}/s", self.0 / unit))
    }
}

impl FromStr for LinkRate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| {
            format!("{text:?} is not a link's rate: write it as 1Gbit/s, 200Mbit/s or 64kbit/s")
        })
    }
}

fn parse(text: &str) -> Option<LinkRate> {
    let text = text.trim().to_ascii_lowercase();
    let text = text.strip_suffix("/s").unwrap_or(&text);
    let (unit, number) = UNITS.into_iter().find_map(|(unit, name)| {
        let number = text.strip_suffix(&name.to_ascii_lowercase())?;
        Some((unit, number.trim()))
    })?;
    // In integers: what is printed must read back to the bit.
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let scale = 10_u64.checked_pow(u32::try_from(part.len()).ok()?)?;
    let part = part.parse::<u64>().ok()?.checked_mul(unit)?.checked_div(scale)?;
    LinkRate::from_bits(whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(part)?)
}

#[cfg(test)]
mod tests;
