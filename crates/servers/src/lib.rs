//! Foreign servers in the place of the mirror.
//!
//! nginx, HAProxy, Caddy, Apache, H2O, a server of the user's own or any command, started in the foreground
//! with a configuration made from the same toggles that the mirror has, under the same load. What is known of
//! a server stands in its data file (`server`); this crate is the one driver for all of them. It tells in
//! the mirror's own records what a server's access log and a look from outside show of it.
//!
//! Not for: how workers are watched (that is `probe`), or any decision about the load.
//!
//! Invariants:
//! - A toggle is honoured or refused before the run ([`check`]), never ignored. A toggle at the
//!   mirror's default is not asked for: the program's own default stays.
//! - Every file made for the program lies in one directory, so that a reader can run it by hand.
//! - The program and its workers end with us, however we end; nothing else of the host is touched.
//! - One connection is told once, however many of the trace and the access log know of it.
//! - A module uses only those before it: limits, processes; subreaper; build, log, join, content; toggles;
//!   server; configuration, options, workers; program; check; run; ready.

mod build;
mod check;
mod configuration;
mod content;
mod join;
mod limits;
mod log;
mod options;
mod processes;
mod program;
mod ready;
mod run;
mod server;
mod subreaper;
#[cfg(test)]
mod tests;
mod toggles;
mod workers;

pub use check::{asks_origin, build_title, check};
pub use configuration::plain_path;
pub use limits::{STOPPED_WITHIN, ready_within};
pub use options::ServerOptions;
pub use run::run;
pub use server::Given;
pub use subreaper::{SUBREAPER, SubreaperOptions, subreaper};
pub use toggles::Refusal;
