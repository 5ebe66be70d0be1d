//! Foreign proxies in the place of the mirror.
//!
//! A *peer* is nginx, HAProxy, Caddy, Apache, H2O or any other program, started in the foreground
//! with a configuration made from the same toggles that the mirror has, under the same load. It
//! tells in the mirror's own records what its access log and a look from outside show of it.
//!
//! Not for: how workers are watched (that is `tracer`), or any decision about the load.
//!
//! Invariants:
//! - A toggle is honoured or refused before the run ([`check`]), never ignored. A toggle at the
//!   mirror's default is not asked for: the program's own default stays.
//! - Every file made for the program lies in one directory, so that a reader can run it by hand.
//! - The program and its workers end with us, however we end; nothing else of the host is touched.
//! - One connection is told once, however many of the trace and the access log know of it.

mod access_log;
mod build;
mod clocks;
mod content;
mod driver;
mod entry;
mod error;
#[cfg(test)]
mod fixture;
mod hop;
mod join;
mod keeper;
mod options;
mod patience;
mod process;
mod refusal;
mod run;
mod setting;
mod toggle;

pub use error::PeerError;
pub use hop::{HOP, HopError, HopOptions, hop};
pub use options::PeerOptions;
pub use patience::{READY_WITHIN, STOPPED_WITHIN};
pub use refusal::{Refusal, build_title, check, program_path};
pub use run::run;
pub use setting::plain_path;
