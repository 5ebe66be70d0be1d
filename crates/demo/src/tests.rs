//! The whole of it: pictures of every act, lines, and what must never panic.

mod anything;
pub(crate) mod fixture;
mod lines;
mod pictures;
