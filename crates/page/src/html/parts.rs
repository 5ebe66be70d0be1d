//! The parts of the page that are text, tables and figures.

mod about;
mod charts;
mod picture;

use std::fmt::Write as _;

use records::Outcome;

pub(super) use self::about::about;
pub(super) use self::charts::{latency, over_time, why};
pub(super) use self::picture::{blame, height, legend, unseen};
use crate::data::FigureLine;
use crate::escape::html;

/// The figures that carry the verdict.
pub(crate) fn figures(figures: &[FigureLine]) -> String {
    let mut out = String::new();
    for figure in figures {
        let _ = write!(
            out,
            "<div class=\"figure-line\"><b>{}</b><span>{}</span><small>{}</small></div>",
            html(&figure.value),
            html(&figure.of),
            html(&figure.against)
        );
    }
    out
}

/// What became of a fetch, for people.
const fn outcome_words(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "served",
        Outcome::TimeoutConnect => "gave up: no connection",
        Outcome::TimeoutNoByte => "gave up: no byte came",
        Outcome::TimeoutPartial => "gave up half-way",
        Outcome::Refused => "refused",
        Outcome::Reset => "reset",
        Outcome::ClosedEarly => "closed early",
        Outcome::BadStatus => "bad status",
        Outcome::LocalError => "could not be tried",
    }
}
