//! `turnstile check` end to end: a foreign proxy that is fair and one that is not, bad input, every
//! form of output, and the examples of `docs/ci.md`.

mod docs;
mod gate;
mod outputs;
mod schema;
mod support;
