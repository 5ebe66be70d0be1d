//! A length of time, divided among causes without a remainder.

use std::time::Duration;

use records::Cause;

/// How much of a length of time went to each cause, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares([u64; Cause::ALL.len()]);

impl Shares {
    /// What `cause` has.
    pub fn of(&self, cause: Cause) -> Duration {
        Duration::from_nanos(self.0.get(cause as usize).copied().unwrap_or(0))
    }

    /// All of them together.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.0.iter().fold(0, |sum, part| sum.saturating_add(*part)))
    }

    /// The cause with the largest part; of equals the first. `None` when nothing was divided.
    pub fn largest(&self) -> Option<Cause> {
        Cause::ALL
            .into_iter()
            .filter(|&cause| !self.of(cause).is_zero())
            .min_by_key(|&cause| (std::cmp::Reverse(self.of(cause)), cause))
    }

    /// Gives `cause` so much more.
    pub(crate) fn add(&mut self, cause: Cause, ns: u64) {
        if let Some(part) = self.0.get_mut(cause as usize) {
            *part = part.saturating_add(ns);
        }
    }

    /// Divides `ns`: each of `parts` gets its share of it, `rest` what is left. Shares below zero,
    /// above one or not numbers count as the nearest that makes sense; the parts never exceed `ns`.
    pub(crate) fn divide<const N: usize>(
        &mut self,
        ns: u64,
        parts: [(Cause, f64); N],
        rest: Cause,
    ) {
        let mut left = ns;
        for (cause, share) in parts {
            let part = part_of(ns, share).min(left);
            self.add(cause, part);
            left -= part;
        }
        self.add(rest, left);
    }

    /// As much of each cause as both have; what they differ in, of the larger of the two, is
    /// unexplained.
    pub(crate) fn least(&self, other: &Self) -> Self {
        let mut least = Self::default();
        for (cause, (one, two)) in Cause::ALL.into_iter().zip(self.0.iter().zip(&other.0)) {
            if cause != Cause::Unexplained {
                least.add(cause, *one.min(two));
            }
        }
        let whole = self.total().max(other.total()).saturating_sub(least.total());
        least.add(Cause::Unexplained, u64::try_from(whole.as_nanos()).unwrap_or(u64::MAX));
        least
    }

    /// Takes all of `other` in.
    pub(crate) fn merge(&mut self, other: &Self) {
        for cause in Cause::ALL {
            self.add(cause, other.0.get(cause as usize).copied().unwrap_or(0));
        }
    }
}

/// `share` of `ns`, never more than `ns`.
pub(crate) fn part_of(ns: u64, share: f64) -> u64 {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0..=ns")]
    let part = (ns as f64 * share) as u64;
    part.min(ns)
}

#[cfg(test)]
mod tests;
