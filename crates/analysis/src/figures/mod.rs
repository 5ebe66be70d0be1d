//! The figures of `summary.json`, each from records alone.
//!
//! Not for: what held a fetch ([`crate::explain`]), or the verdict's rules ([`crate::judge`]).

mod fetches;
pub(crate) mod log;
pub(crate) mod seen;
pub(crate) mod slow;
pub(crate) mod workers;

pub use fetches::{fetch_summary, response_differs};
pub(crate) use fetches::{histogram, missing};

#[cfg(test)]
mod tests;
