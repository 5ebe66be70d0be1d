//! What was seen, for a scraper: OpenMetrics text. Names by its convention: base units, `_total` for what
//! counts up.

use records::{Micros, StepHistogram};

use strum::VariantArray;

use super::ledger::{Kind, Ledger, Queue, Worker};
use report::OpenMetrics;

#[cfg(test)]
mod tests;

/// The document as it is now.
pub(super) fn metrics(ledger: &Ledger) -> String {
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
        for (bucket, count) in turns.turn_lengths.0.iter().enumerate() {
            below += count;
            // A bucket ends where the next begins: at 2^n us. The last has no end.
            if bucket + 1 >= StepHistogram::BUCKETS {
                break;
            }
            let le = Micros(1 << bucket).as_secs().to_string();
            let labels = [labels.as_slice(), &[("le", &*le)]].concat();
            text.sample("turnstile_turn_seconds_bucket", &labels, below);
        }
        let all = [labels.as_slice(), &[("le", "+Inf")]].concat();
        text.sample("turnstile_turn_seconds_bucket", &all, below);
        text.sample("turnstile_turn_seconds_count", labels, below);
        text.sample("turnstile_turn_seconds_sum", labels, turns.turns_us.as_secs());
    }

    let name = "turnstile_held_seconds";
    text.head(name, "counter", Some("seconds"), "time in holds, those that last with it");
    for (worker, labels) in &workers {
        text.sample("turnstile_held_seconds_total", labels, ledger.held(worker).as_secs());
    }

    text.head(
        "turnstile_holds",
        "counter",
        None,
        "holds that have ended, by what most of each was",
    );
    for (worker, labels) in &workers {
        for kind in Kind::VARIANTS {
            let labels = [labels.as_slice(), &[("kind", kind.into())]].concat();
            let count = worker.holds.get(kind).copied().unwrap_or(0);
            text.sample("turnstile_holds_total", &labels, count);
        }
    }

    text.head("turnstile_open_hold_seconds", "gauge", Some("seconds"), "the hold that lasts now");
    for (worker, labels) in &workers {
        let length = ledger.open(worker).map_or(0.0, |hold| hold.length_us.as_secs());
        text.sample("turnstile_open_hold_seconds", labels, length);
    }

    let sockets: Vec<(&Queue, String)> =
        ledger.queues.values().map(|queue| (queue, queue.inode.to_string())).collect();
    let name = "turnstile_waiting_connections";
    text.head(name, "gauge", None, "connections that wait in an accept queue");
    for (queue, socket) in &sockets {
        text.sample(name, &[("listener", &queue.listener), ("socket", socket)], queue.waiting);
    }
    let name = "turnstile_waiting_seconds";
    text.head(name, "gauge", Some("seconds"), "for how long the accept queue has not been empty");
    for (queue, socket) in &sockets {
        let waiting = queue.waiting_us.as_secs();
        text.sample(name, &[("listener", &queue.listener), ("socket", socket)], waiting);
    }

    text.head("turnstile_lost_holds", "counter", None, "holds that did not fit into the ring");
    text.sample("turnstile_lost_holds_total", &[], ledger.lost);
    text.finish()
}
