//! Rank tests: could chance have dealt the arms' names this way?
//!
//! Wilcoxon's two (1945): of pairs, where an arm's name is a sign, and of two samples that are not
//! paired, where it is a label. Both count every assignment of names that is as far from the middle
//! as the one seen, so they assume no distribution, and know of no order of rounds.

use crate::sample::normal_above;

/// Up to so many values every assignment is counted; beyond, the sum of ranks is taken for normal.
const COUNTED: usize = 24;

/// Values that differ by less are tied: they are logarithms and shares, which were rounded.
const TIE: f64 = 1e-9;

/// Two-sided p-value of the signed ranks of differences; `None` of nothing. Never below
/// [`smallest_signed`]. A difference of zero has no sign, and no say.
pub(crate) fn signed_rank(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    let moved: Vec<f64> = differences.iter().copied().filter(|d| d.abs() > TIE).collect();
    let ranks = doubled_ranks(&moved.iter().map(|d| d.abs()).collect::<Vec<_>>());
    let total: usize = ranks.iter().sum();
    let up: usize = ranks.iter().zip(&moved).filter(|(_, d)| **d > 0.0).map(|(r, _)| *r).sum();
    let seen = (2 * up).abs_diff(total);
    if ranks.len() > COUNTED {
        let variance: f64 = ranks.iter().map(|rank| (*rank as f64).powi(2)).sum();
        return Some(normal_p(seen as f64, variance));
    }
    // The probability of each sum of the ranks that go up.
    let mut of_sum = vec![0.0; total + 1];
    set(&mut of_sum, 0, 1.0);
    for rank in ranks {
        for sum in (0..=total).rev() {
            let without = at(&of_sum, Some(sum));
            let with = at(&of_sum, sum.checked_sub(rank));
            set(&mut of_sum, sum, f64::midpoint(without, with));
        }
    }
    Some(as_far(&of_sum, |sum| (2 * sum).abs_diff(total) >= seen))
}

/// Two-sided p-value of the ranks of `b` among all values (Mann and Whitney 1947); `None` without a
/// value in each. Never below [`smallest_sum`].
pub(crate) fn rank_sum(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = doubled_ranks(&all);
    let (count, drawn, total) = (all.len(), b.len(), ranks.iter().sum::<usize>());
    let of_b: usize = ranks.iter().skip(a.len()).sum();
    // Both sides times the count, so that they stay whole: the mean sum is total * drawn / count.
    let far = |sum: usize| (sum * count).abs_diff(total * drawn);
    let seen = far(of_b);
    if count > COUNTED {
        let (n, m, mean) = (a.len() as f64, drawn as f64, total as f64 / count as f64);
        let squares: f64 = ranks.iter().map(|rank| (*rank as f64 - mean).powi(2)).sum();
        let variance = n * m / (count * (count - 1)) as f64 * squares;
        return Some(normal_p(seen as f64 / count as f64, variance));
    }
    // How many ways lead to each sum, by how many ranks were drawn.
    let mut ways = vec![vec![0.0; total + 1]; drawn + 1];
    if let Some(none) = ways.first_mut() {
        set(none, 0, 1.0);
    }
    for rank in ranks {
        for many in (1..=drawn).rev() {
            let (fewer, more) = ways.split_at_mut(many);
            let (Some(fewer), Some(more)) = (fewer.last(), more.first_mut()) else { continue };
            for (sum, ways) in more.iter_mut().enumerate() {
                *ways += at(fewer, sum.checked_sub(rank));
            }
        }
    }
    let of_sum = ways.pop()?;
    Some(as_far(&of_sum, |sum| far(sum) >= seen) / of_sum.iter().sum::<f64>())
}

/// The smallest value that [`signed_rank`] can have of so many differences.
pub(crate) fn smallest_signed(n: usize) -> f64 {
    0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX).saturating_sub(1))
}

/// The smallest value that [`rank_sum`] can have of so many in each arm.
pub(crate) fn smallest_sum(n: usize, m: usize) -> f64 {
    2.0 * (1..=m).map(|i| i as f64 / (n + i) as f64).product::<f64>()
}

/// Twice the rank of each value, so that the mean rank of tied values is whole.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    order.sort_by(|(_, left), (_, right)| left.total_cmp(right));
    let mut ranks = vec![0; values.len()];
    let mut below = 0;
    for tied in order.chunk_by(|(_, left), (_, right)| right - left <= TIE) {
        for (index, _) in tied {
            if let Some(rank) = ranks.get_mut(*index) {
                *rank = 2 * below + tied.len() + 1;
            }
        }
        below += tied.len();
    }
    ranks
}

fn normal_p(distance: f64, variance: f64) -> f64 {
    if variance > 0.0 { (2.0 * normal_above(distance / variance.sqrt())).min(1.0) } else { 1.0 }
}

fn as_far(of_sum: &[f64], is_far: impl Fn(usize) -> bool) -> f64 {
    of_sum.iter().enumerate().filter(|(sum, _)| is_far(*sum)).map(|(_, share)| share).sum()
}

fn at(of_sum: &[f64], sum: Option<usize>) -> f64 {
    sum.and_then(|sum| of_sum.get(sum)).copied().unwrap_or(0.0)
}

fn set(of_sum: &mut [f64], sum: usize, value: f64) {
    if let Some(slot) = of_sum.get_mut(sum) {
        *slot = value;
    }
}
