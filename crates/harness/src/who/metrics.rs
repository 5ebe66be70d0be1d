//! What was seen, for a scraper: OpenMetrics text, and the door at which it is given. Names by its
//! convention: base units, `_total` for what counts up.
//!
//! Not for: being reached by strangers. It binds where it is told to, and serves one at a time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use records::{Micros, StepHistogram};
use strum::VariantArray;

use super::ledger::{Kind, Ledger, Queue, Worker};
use report::OpenMetrics;

#[cfg(test)]
mod tests;

/// How long a scraper may take to ask, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// A request is not longer than this.
const REQUEST: usize = 8 * 1024;
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers each `GET /metrics` with what was shown last, on a thread of its own, until the process ends.
#[derive(Debug)]
pub(super) struct Door {
    /// Where it listens.
    pub(super) addr: SocketAddr,
    shown: Arc<Mutex<String>>,
}

impl Door {
    /// Opens it there.
    pub(super) fn open(addr: SocketAddr) -> anyhow::Result<Self> {
        let failed = || format!("failed to listen on {addr} for --metrics");
        let listener = TcpListener::bind(addr).with_context(failed)?;
        let door = Self { addr: listener.local_addr()?, shown: Arc::default() };
        let shown = Arc::clone(&door.shown);
        let serve = move || {
            for stream in listener.incoming() {
                let text = || shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
                // A scraper that fails tries again by itself.
                let _ = stream.and_then(|stream| answer(stream, text));
            }
        };
        thread::Builder::new().name("metrics".into()).spawn(serve).with_context(failed)?;
        Ok(door)
    }

    /// Has it show how things are.
    pub(super) fn show(&self, ledger: &Ledger) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = metrics(ledger);
    }
}

fn answer(mut stream: TcpStream, text: impl Fn() -> String) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut head, mut piece) = (Vec::new(), [0; 1024]);
    while head.len() < REQUEST && !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => break,
            read => head.extend_from_slice(piece.get(..read).unwrap_or_default()),
        }
    }
    let asks = [&b"GET /metrics "[..], b"GET /metrics?"].iter().any(|line| head.starts_with(line));
    let (status, kind, body) = if asks {
        ("200 OK", TYPE, text())
    } else {
        ("404 Not Found", "text/plain", "there is GET /metrics\n".to_owned())
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}

/// The document as it is now.
fn metrics(ledger: &Ledger) -> String {
    let mut text = OpenMetrics::default();
    let ids = |worker: &Worker| [worker.turns.pid, worker.turns.tid].map(|id| id.to_string());
    let ids: Vec<[String; 2]> = ledger.workers.values().map(ids).collect();
    let workers: Vec<_> = std::iter::zip(ledger.workers.values(), &ids)
        .map(|(worker, [pid, tid])| {
            (worker, [("pid", &**pid), ("worker", &**tid), ("comm", &*worker.turns.comm)])
        })
        .collect();

    let name = "turnstile_turn_seconds";
    text.head(name, "histogram", Some("seconds"), "turns of a worker, from its poll to its poll");
    for (worker, labels) in &workers {
        let turns = &worker.turns;
        let mut below = 0;
        let mut bucket = |le: &str, count| {
            below += count;
            let labels = [labels.as_slice(), &[("le", le)]].concat();
            text.sample("turnstile_turn_seconds_bucket", &labels, below);
        };
        for (number, &count) in turns.turn_lengths.0.iter().enumerate() {
            // A bucket ends where the next begins: at 2^n us. The last has no end.
            if number + 1 < StepHistogram::BUCKETS {
                bucket(&Micros(1 << number).as_secs().to_string(), count);
            } else {
                bucket("+Inf", count);
            }
        }
        text.sample("turnstile_turn_seconds_count", labels, below);
        text.sample("turnstile_turn_seconds_sum", labels, turns.turns_us.as_secs());
    }

    let name = "turnstile_held_seconds";
    text.head(name, "counter", Some("seconds"), "time in holds, those that last with it");
    for (worker, labels) in &workers {
        text.sample("turnstile_held_seconds_total", labels, ledger.held(worker).as_secs());
    }

    let help = "holds that have ended, by what most of each was";
    text.head("turnstile_holds", "counter", None, help);
    for (worker, labels) in &workers {
        for kind in Kind::VARIANTS {
            let labels = [labels.as_slice(), &[("kind", kind.into())]].concat();
            let count = worker.holds.get(kind).copied().unwrap_or(0);
            text.sample("turnstile_holds_total", &labels, count);
        }
    }

    text.head("turnstile_open_hold_seconds", "gauge", Some("seconds"), "the hold that lasts now");
    for (worker, labels) in &workers {
        let length = ledger.open_us(worker).as_secs();
        text.sample("turnstile_open_hold_seconds", labels, length);
    }

    let mut of_queues = |name, unit, help, value: fn(&Queue) -> f64| {
        text.head(name, "gauge", unit, help);
        for queue in ledger.queues.values() {
            let socket = queue.inode.to_string();
            let labels = [("listener", &*queue.listener), ("socket", &socket)];
            text.sample(name, &labels, value(queue));
        }
    };
    let help = "connections that wait in an accept queue";
    of_queues("turnstile_waiting_connections", None, help, |queue| queue.waiting.into());
    let help = "for how long the accept queue has not been empty";
    let seconds = |queue: &Queue| queue.waiting_us.as_secs();
    of_queues("turnstile_waiting_seconds", Some("seconds"), help, seconds);

    text.head("turnstile_lost_holds", "counter", None, "holds that did not fit into the ring");
    text.sample("turnstile_lost_holds_total", &[], ledger.lost);
    text.finish()
}
