//! Colours that tell downloads apart, also for colour-blind eyes; and how an outcome looks: a mark that tells
//! as much by its shape as by its colour.
//!
//! Okabe and Ito (2008), "Color Universal Design". Vermillion is left out: it is the colour of a
//! fetch that failed. Black and grey are left out: they are ink and what is no download.

use records::{Holder, Outcome};

/// Colours of downloads, in the order of their slots; after the six that every eye tells apart, the same
/// darker.
const DOWNLOADS: [&str; 12] = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442", "#003f66", "#8a5f00",
    "#005a41", "#8c4a6d", "#2b6f96", "#9c932a",
];

/// Steps that served no download.
pub(crate) const OTHER: &str = "#8a8f98";

/// The colour of the `slot`-th download or arm.
pub(crate) fn download(slot: u32) -> &'static str {
    let slot = usize::try_from(slot).unwrap_or(0);
    DOWNLOADS[slot % DOWNLOADS.len()]
}

/// The colour of whose step it was.
pub(crate) fn holder(holder: Holder) -> &'static str {
    match holder {
        Holder::Download(slot) | Holder::Upload(slot) => download(slot),
        Holder::Fetch(_) | Holder::Session(_) => OTHER,
    }
}

/// The style's class.
pub(crate) fn class(outcome: Outcome) -> &'static str {
    if outcome == Outcome::Ok { "ok" } else { "failed" }
}

/// Its shape around 0, 0.
const fn shape(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "M2.6 0a2.6 2.6 0 1 1-5.2 0a2.6 2.6 0 1 1 5.2 0z",
        Outcome::TimeoutNoByte => "M-3-3l6 6m0-6l-6 6",
        Outcome::TimeoutPartial => "M0-3.6v7.2M-3.6 0h7.2",
        Outcome::TimeoutConnect => "M0-3.6l3.6 6.4h-7.2z",
        Outcome::Refused | Outcome::Reset => "M-3-3h6v6h-6z",
        Outcome::ClosedEarly => "M0-4l4 4l-4 4l-4-4z",
        Outcome::BadStatus => "M-3.4-3h6.8M-3.4 0h6.8M-3.4 3h6.8",
        Outcome::LocalError => "M-3 3l6-6",
    }
}

/// Its mark at a place, which may be a part of a width; [`symbols`] must stand on the same page.
pub(crate) fn mark(outcome: Outcome, x: &str, y: f64) -> String {
    let (class, name) = (class(outcome), outcome.name());
    format!("<use href=\"#mark-{name}\" x=\"{x}\" y=\"{y:.1}\" class=\"mark {class}\"/>")
}

/// Every mark by its name, once a page.
pub(crate) fn symbols() -> String {
    let symbol = |of: Outcome| format!("<path id=\"mark-{}\" d=\"{}\"/>", of.name(), shape(of));
    Outcome::ALL.map(symbol).concat()
}

#[cfg(test)]
mod tests;
