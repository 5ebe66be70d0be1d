//! The parts of the page that are text, tables and figures.

mod about;
mod charts;
mod picture;

use std::fmt::Write as _;

pub(super) use self::about::about;
pub(super) use self::charts::{latency, over_time, why};
pub(super) use self::picture::{blame, legend, unseen};
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
