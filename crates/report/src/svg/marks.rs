//! How an outcome looks: a mark that tells as much by its shape as by its colour.

use records::Outcome;

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
