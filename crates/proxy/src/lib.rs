//! The mirror: an nginx worker on mio, with everything that is wrong with it.
//!
//! A worker is one thread with one edge-triggered poll and one slab of sessions. It serves a
//! session until that session can do no more, and only then looks at the next: whether such a
//! *step* has an end is decided by the [`records::ReadPolicy`] alone.
//!
//! Not for: TLS, caching, keep-alive, request bodies, or being fast. It copies a page at a time, as
//! nginx does with `proxy_buffering off`, or with [`records::BufferingMode::On`] several, as nginx does
//! by default.
//!
//! Invariants:
//! - Workers share nothing but a listener (in shared mode) and a flag that says "stop"; with
//!   [`records::AcceptMode::Mutex`] also the lock.
//! - A worker writes no file and shares no lock. What it has to tell goes into a bounded ring, and
//!   comes back to be freed or used again; what does not fit is counted. Only where it is told to
//!   does it do what nginx does: write its access log itself ([`records::LogMode::Inline`]) or
//!   temporary files ([`records::BufferingMode::On`]), and
//!   wait for them.
//! - A session stands in the ready queue at most once and never runs twice in one loop turn because
//!   of it.
//! - Nothing that a peer sends can panic a worker: trouble is a [`records::SessionEnd`].

mod access_log;
mod listeners;
mod options;
mod policy;
mod recorder;
mod run;
mod session;
mod worker;
mod writer;

pub use options::ProxyOptions;
pub use run::{STOPPED_WITHIN, run};
