//! What a page is made from: the records of one run, and what explains its fetches.

use records::{
    Absence, Accepted, Blocked, Cause, Dialed, DownloadInterval, Fetch, Hold, Holder,
    ListenerSample, Manifest, Micros, Session, SocketSample, Stretch, Summary,
};

/// The records of a run. Slices may be empty: a page says less then, and never fails for it.
#[derive(Clone, Copy, Debug)]
pub struct RunInput<'a> {
    /// What the run was.
    pub manifest: &'a Manifest,
    /// What it showed.
    pub summary: &'a Summary,
    /// Every attempt, of both phases.
    pub fetches: &'a [Fetch],
    /// Steps that mattered to others.
    pub holds: &'a [Hold],
    /// Whose step each hold was, by its position in `holds`; where it is missing or `None`, the
    /// client's port tells a download.
    pub holders: &'a [Option<Holder>],
    /// The whole time of each worker.
    pub stretches: &'a [Stretch],
    /// Connections of the downloads.
    pub dialed: &'a [Dialed],
    /// Bytes of the downloads, by interval.
    pub intervals: &'a [DownloadInterval],
    /// Who accepted what.
    pub accepted: &'a [Accepted],
    /// Connections of the proxy; for the port towards the origin.
    pub sessions: &'a [Session],
    /// Accept queues.
    pub listeners: &'a [ListenerSample],
    /// Queues of the downloads' sockets.
    pub sockets: &'a [SocketSample],
    /// Times in which a sampled worker was not seen in its poll.
    pub absences: &'a [Absence],
    /// Sleeps of a traced worker outside its poll.
    pub blocked: &'a [Blocked],
    /// What became of fetches, in any order; one without takes its worker from `accepted`.
    pub fates: &'a [Fate],
}

/// What the explanation says of one fetch.
#[derive(Clone, Debug, PartialEq)]
pub struct Fate {
    /// Its position in [`RunInput::fetches`].
    pub fetch: usize,
    /// The worker that owned it, as far as known.
    pub worker: Option<u32>,
    /// The steps of others in which it waited, by their position in [`RunInput::holds`], and how
    /// long; in any order.
    pub held: Vec<(usize, Micros)>,
    /// Its time by cause; the largest part leads it. May be empty.
    pub causes: Vec<(Cause, Micros)>,
}
