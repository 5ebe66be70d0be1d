//! The run directory: one place for everything a trial leaves behind.
//!
//! The names below are the contract between who writes a run and who reads it, and with other
//! programs; they never change within one schema version. Every `.ndjson` file holds one [`crate::Record`] a
//! line, named by its `record` field; [`crate::Record::file`] says which record stands in which file.

/// What the run was: command, host, processes, phases, faults.
pub const MANIFEST: &str = "manifest.json";
/// The proxy's access log, in nginx's text format.
pub const ACCESS_LOG: &str = "access.log";
/// `accepted` and `session` records.
pub const SESSIONS: &str = "sessions.ndjson";
/// `hold`, `loop_turn`, `worker_totals` and `stretch` records; of foreign workers also `blocked`,
/// `call_totals` and `absence`.
pub const STEPS: &str = "steps.ndjson";
/// `fetch` and `fetch_totals` records.
pub const FETCHES: &str = "fetches.ndjson";
/// `dialed`, `download_interval` and `download` records.
pub const DOWNLOADS: &str = "downloads.ndjson";
/// `worker_sample`, `sched_sample` and `cpu_sample` records.
pub const WORKERS: &str = "workers.ndjson";
/// `listener_sample` and `socket_sample` records; absent where an earlier build made the run.
pub const SOCKETS: &str = "sockets.ndjson";
/// `answered` records; absent where an earlier build made the run.
pub const ORIGIN: &str = "origin.ndjson";
/// The run as a page: one file, for a browser.
pub const REPORT: &str = "report.html";
/// What a tracer saw of workers that tell of themselves: the same records as [`STEPS`] and
/// [`SESSIONS`], to be laid beside them. Absent unless it was asked for.
pub const TRACED: &str = "traced.ndjson";
/// Heads of the packets between the proxy and its clients, as tcpdump keeps them. Absent unless they were
/// asked for (`--capture`).
pub const PACKETS: &str = "packets.pcap";
/// The hosts of the run and their links; absent: all was on loopback.
pub const NETWORK: &str = "network.json";
/// Configuration and files of a foreign proxy.
pub const PROXY_DIR: &str = "proxy";
/// What the run showed, made from all of the above.
pub const SUMMARY: &str = "summary.json";
/// Latencies of the fetches under load, as an HDR histogram log.
pub const HISTOGRAM_LOG: &str = "fast.hlog";
/// The same as percentiles, for plotting.
pub const PERCENTILES: &str = "fast.hgrm";
/// What the roles said on their standard error, if anything.
pub const ROLES_LOG: &str = "roles.log";

/// The record files that a run has from its start.
pub const RECORD_FILES: [&str; 7] = [FETCHES, DOWNLOADS, SESSIONS, STEPS, WORKERS, SOCKETS, ORIGIN];
