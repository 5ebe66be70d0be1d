//! Colours that tell downloads apart, also for colour-blind eyes.
//!
//! Okabe and Ito (2008), "Color Universal Design". Vermillion is left out: it is the colour of a
//! fetch that failed. Black and grey are left out: they are ink and what is no download.

/// Colours of downloads, in the order of their slots.
pub(crate) const DOWNLOADS: [&str; 6] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442"];

/// A fetch that failed, as the styles have it in the light.
#[cfg(test)]
pub(crate) const FAILED: &str = "#d55e00";

/// Steps that served no download.
pub(crate) const OTHER: &str = "#8a8f98";

/// The colour of the `slot`-th download, and whether it is hatched: every other round is.
pub(crate) fn download(slot: u32) -> (&'static str, bool) {
    let rounds = DOWNLOADS.len();
    let slot = usize::try_from(slot).unwrap_or(0);
    (DOWNLOADS.get(slot % rounds).copied().unwrap_or(OTHER), (slot / rounds) % 2 == 1)
}

/// The colour of a step's holder: see [`crate::HoldColumns::holder`].
pub(crate) fn holder(holder: i64) -> &'static str {
    u32::try_from(holder).map_or(OTHER, |slot| download(slot).0)
}

#[cfg(test)]
mod tests;
