//! Colours that tell downloads apart, also for colour-blind eyes; and how an outcome looks: a mark that tells
//! as much by its shape as by its colour.
//!
//! Okabe and Ito (2008), "Color Universal Design". Vermillion is left out: it is the colour of a
//! fetch that failed. Black and grey are left out: they are ink and what is no download.

use records::{Holder, Outcome};

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

/// Its mark at a place.
pub(crate) fn mark(outcome: Outcome, x: &str, y: f64) -> String {
    let (class, shape) = (class(outcome), shape(outcome));
    format!("<path transform=\"translate({x} {y:.1})\" d=\"{shape}\" class=\"mark {class}\"/>")
}

/// The same by the name that [`symbols`] gives it, where a place may be a part of a width.
pub(crate) fn reference(outcome: Outcome, x: &str, y: f64) -> String {
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
