//! Several metrics at once: who looks six times finds by chance what is not there.

#[cfg(test)]
mod tests;

/// Adjusted p-values by Holm (1979): each may be held against the level that the whole family must
/// keep, whatever the metrics have to do with each other. In the order given; p-values are taken
/// as in 0 to 1, NaN as 1.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let p = |index: usize| {
        p_values.get(index).map_or(1.0, |p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) })
    };
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p(*left).total_cmp(&p(*right)));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, index) in order.iter().enumerate() {
        largest = largest.max(p(*index) * (p_values.len() - rank) as f64).min(1.0);
        if let Some(slot) = adjusted.get_mut(*index) {
            *slot = largest;
        }
    }
    adjusted
}
