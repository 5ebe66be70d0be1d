//! Colours that tell downloads apart, also for colour-blind eyes.
//!
//! Okabe and Ito (2008), "Color Universal Design". Vermillion is left out: it is the colour of a
//! fetch that failed. Black and grey are left out: they are ink and what is no download.

use records::Holder;

/// Colours of downloads, in the order of their slots.
const DOWNLOADS: [&str; 6] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442"];

/// A fetch that failed, as the styles have it in the light.
#[cfg(test)]
const FAILED: &str = "#d55e00";

/// What something is drawn with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ink {
    /// `#rrggbb`.
    pub color: &'static str,
    /// Whether it is hatched, hollow or dashed, since another has the same colour.
    pub hatched: bool,
}

/// Steps that served no download.
pub(crate) const OTHER: Ink = Ink { color: "#8a8f98", hatched: true };

/// The ink of the `slot`-th download or arm: every other round of colours is hatched.
pub(crate) fn download(slot: u32) -> Ink {
    let slot = usize::try_from(slot).unwrap_or(0);
    let (round, place) = (slot / DOWNLOADS.len(), slot % DOWNLOADS.len());
    let color = DOWNLOADS.get(place).copied().unwrap_or(OTHER.color);
    Ink { color, hatched: round % 2 == 1 }
}

/// The ink of whose step it was.
pub(crate) fn holder(holder: Holder) -> Ink {
    match holder {
        Holder::Download(slot) => download(slot),
        Holder::Fetch(_) | Holder::Session(_) => OTHER,
    }
}

#[cfg(test)]
mod tests;
