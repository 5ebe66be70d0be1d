//! The upstream: `GET|HEAD /bytes/<size>` with a body that everybody can check.
//!
//! It shares a core with the clients and must outrun a proxy on another core, so what counts is the
//! CPU it costs per byte: no body is copied or even stored in user space, and one system call moves
//! megabytes (`Pattern`). It must also answer a small fetch while downloads run, so a connection
//! gives way after each such call.
//!
//! It tells of every request when it had been read and when its answer's head was there, since an
//! answer that is late can be the proxy's doing as well.
//!
//! Not for: files, ranges or TLS. It is slow only where it is told to delay answers, or to have few workers,
//! as an application server is.
//!
//! Invariants:
//! - One thread, one event loop; a connection's turn is bounded in bytes.
//! - The byte at offset `i` of any body is `i mod 251`.
//! - A client can end its own connection only, whatever it sends.

mod application;
mod body;
mod options;
mod request_log;
mod run;

pub use options::OriginOptions;
pub use run::run;
