//! What people read in a terminal, and what CI systems and monitors read.
//!
//! Not for: arithmetic. Every figure stands in the summary; here it gets a unit and a place.
//!
//! Invariant: the text says the same with and without colour.

mod arms;
pub(crate) mod brief;
mod check;
mod ci;
mod compare;
mod csv;
pub(crate) mod layout;
mod next;
pub(crate) mod run;
mod sheet;
pub(crate) mod story;
mod timeline;

use serde::Serialize;

pub(crate) use arms::{ASIDE, arms, case};
pub use arms::{arms_markdown, case_list};
pub use brief::{MAX_LINES, headline, text};
pub use check::{annotations, check, check_markdown};
pub use ci::{OpenMetrics, junit};
pub(crate) use compare::{
    answer, comparison, comparison_gate, comparison_markdown, left_out, metrics, reasons,
};
pub use csv::csv;
pub use layout::{Style, short_bytes};
pub use run::details;
pub use sheet::Sheet;
pub use story::story;
pub use timeline::timeline;

/// `summary.json` and other documents: the document and nothing else, with a newline at its end.
pub fn json(document: &impl Serialize) -> String {
    let document = serde_json::to_string_pretty(document);
    document.expect("our documents have string keys and finite numbers") + "\n"
}

#[cfg(test)]
mod tests;
