//! Newtypes for bytes, rates and times, with one spelling each.
//!
//! Sizes are typed as people write them (`2GiB`, `40960`, `64KiB`), kept as
//! integers in records, and printed with a unit everywhere else.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number of bytes. In records: a plain integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` KiB.
    pub const fn kib(n: u64) -> Self {
        Self(n * 1024)
    }

    /// `n` MiB.
    pub const fn mib(n: u64) -> Self {
        Self(n * 1024 * 1024)
    }

    /// `n` GiB.
    pub const fn gib(n: u64) -> Self {
        Self(n * 1024 * 1024 * 1024)
    }

    /// The same number as a buffer length, at most `usize::MAX`.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Spelt so that it reads back as the same number: `2GiB`, `64KiB`, `40961`.
    pub fn exact(self) -> String {
        const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        UNITS
            .into_iter()
            .find(|(unit, _)| self.0 > 0 && self.0.is_multiple_of(*unit))
            .map_or_else(|| self.0.to_string(), |(unit, name)| format!("{}{name}", self.0 / unit))
    }

    /// The mean rate of this many bytes over `elapsed`; zero over no time.
    pub fn per(self, elapsed: Duration) -> BytesPerSec {
        let rate = (u128::from(self.0) * 1_000_000_000).checked_div(elapsed.as_nanos());
        BytesPerSec(rate.unwrap_or(0).try_into().unwrap_or(u64::MAX))
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
        items.fold(Self(0), Add::add)
    }
}

/// Prints powers of two: `40 KiB`, `1.5 GiB`, `917 B`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&bytesize::ByteSize(self.0).display().iec().to_string())
    }
}

/// Reads `40960`, `40KiB`, `2GiB`, `3MB` (powers of ten), with or without a space.
impl FromStr for Bytes {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseUnitError::new(text, "a size", "40960, 64KiB, 3MiB or 2GiB");
        // bytesize turns what does not fit into u64::MAX; a size that large is a slip.
        let size: bytesize::ByteSize = text.trim().parse().map_err(|_| wrong())?;
        if size.0 >= i64::MAX as u64 { Err(wrong()) } else { Ok(Self(size.0)) }
    }
}

/// Bytes per second. In records: a plain integer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BytesPerSec(pub u64);

/// Prints powers of ten, as link speeds are: `1.05 GB/s`, `480 MB/s`.
impl fmt::Display for BytesPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.0 as f64;
        let text = match self.0 {
            0..1_000 => format!("{} B/s", self.0),
            1_000..1_000_000 => format!("{:.0} kB/s", rate / 1e3),
            1_000_000..1_000_000_000 => format!("{:.0} MB/s", rate / 1e6),
            _ => format!("{:.2} GB/s", rate / 1e9),
        };
        f.pad(&text)
    }
}

/// Reads a size with or without `/s`: `10MiB/s`, `1GB/s`, `40960`.
impl FromStr for BytesPerSec {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = text.trim().strip_suffix("/s").unwrap_or(text);
        match size.parse::<Bytes>() {
            Ok(Bytes(rate)) if rate > 0 => Ok(Self(rate)),
            _ => Err(ParseUnitError::new(text, "a rate above zero", "10MiB/s or 1GB/s")),
        }
    }
}

/// A length of time in whole microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// The same length in seconds.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The same length as a [`Duration`].
    pub const fn as_duration(self) -> Duration {
        Duration::from_micros(self.0)
    }

    /// As it is printed, with so many `more` digits.
    fn said(self, more: usize) -> String {
        let us = self.0 as f64;
        match self.0 {
            0..1_000 => format!("{} us", self.0),
            // 99.95 would print as 100.0, and so on.
            1_000..99_950 => format!("{:.*} ms", 1 + more, us / 1e3),
            99_950..999_500 => format!("{:.more$} ms", us / 1e3),
            999_500..100_000_000 => format!("{:.*} s", 3 + more, us / 1e6),
            _ => format!("{:.more$} s", us / 1e6),
        }
    }

    /// As it is printed, but never rounded to or across `limit`: `499.6 ms` beside 500 ms.
    pub fn beside(self, limit: Self) -> String {
        beside(self, limit, Self::said)
    }
}

impl From<Duration> for Micros {
    fn from(length: Duration) -> Self {
        Self(u64::try_from(length.as_micros()).unwrap_or(u64::MAX))
    }
}

/// Prints three significant digits or so: `870 us`, `12.4 ms`, `1.004 s`.
impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.said(0))
    }
}

/// `1 fetch`, `2 fetches`, `0 fetches`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A share as a percentage: `78 %`, `2.5 %`, `5 %`. Never `0 %` for what is not zero, nor `100 %`
/// for what is not all.
pub fn percent(share: f64) -> String {
    percent_said(share, 0)
}

/// The same, but never rounded to or across `limit`: `4.95 %` beside 5 %.
pub fn percent_beside(share: f64, limit: f64) -> String {
    beside(share, limit, percent_said)
}

fn percent_said(share: f64, more: usize) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.1 {
        "<0.1 %".to_owned()
    } else if percent < 10.0 {
        let text = format!("{percent:.*}", 1 + more);
        format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
    } else if percent > 99.0 && percent < 100.0 {
        format!("{:.1} %", percent.min(99.9))
    } else {
        format!("{percent:.more$} %")
    }
}

/// `figure` with as few digits more than usual as keep it apart from a `limit` that it is not.
/// Rounding keeps the order of two figures, so it is on its own side then.
fn beside<T: Copy + PartialEq>(figure: T, limit: T, said: fn(T, usize) -> String) -> String {
    const MOST: usize = 9;
    let apart = |more: &usize| figure == limit || said(figure, *more) != said(limit, *more);
    // What no digit tells apart, the arithmetic of fractions made.
    said(figure, (0..=MOST).find(apart).unwrap_or(0))
}

/// Reads `1s`, `250ms`, `1m 30s`.
impl FromStr for Micros {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        humantime::parse_duration(text)
            .map(Self::from)
            .map_err(|_| ParseUnitError::new(text, "a duration", "10s, 250ms or 1m 30s"))
    }
}

/// A point on `CLOCK_MONOTONIC`, in nanoseconds. Comparable within one host and boot only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MonoNs(pub u64);

impl MonoNs {
    /// Time from `earlier` to this point; zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// [`Self::since`] in whole microseconds.
    pub const fn micros_since(self, earlier: Self) -> Micros {
        Micros(self.0.saturating_sub(earlier.0) / 1_000)
    }
}

impl Add<Duration> for MonoNs {
    type Output = Self;
    fn add(self, length: Duration) -> Self {
        let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }
}

impl Sub<Duration> for MonoNs {
    type Output = Self;
    fn sub(self, length: Duration) -> Self {
        let nanos = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(nanos))
    }
}

/// All of `variants` as an array: the list that [`strum::VariantArray`] keeps, with its length.
pub(crate) const fn every<T: Copy, const N: usize>(variants: &[T]) -> [T; N] {
    match variants.first_chunk() {
        Some(all) => *all,
        None => panic!("as many as strum::EnumCount counts"),
    }
}

/// A text that is not the unit it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {expected}: write it as {examples}")]
pub struct ParseUnitError {
    text: String,
    expected: &'static str,
    examples: &'static str,
}

impl ParseUnitError {
    /// A text that is not what was `expected`; `examples`: how that is written.
    pub fn new(text: &str, expected: &'static str, examples: &'static str) -> Self {
        Self { text: text.to_owned(), expected, examples }
    }
}
