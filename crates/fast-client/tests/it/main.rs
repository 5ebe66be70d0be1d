//! The fast client as its users meet it: the real binary against servers that misbehave on purpose.

mod arrivals;
mod outcomes;
mod process;
mod support;
