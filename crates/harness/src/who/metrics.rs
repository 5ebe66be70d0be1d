//! What was seen, for a scraper: OpenMetrics text. Names by its convention: base units, `_total` for what
//! counts up.

use records::{Micros, StepHistogram};

use super::ledger::{Kind, Ledger};
use report::OpenMetrics;

#[cfg(test)]
mod tests;

/// The document as it is now.
pub(super) fn metrics(ledger: &Ledger) -> String {
    let mut text = OpenMetrics::default();
    let ids: Vec<[String; 2]> =
        ledger.workers.keys().map(|(pid, tid)| [pid, tid].map(ToString::to_string)).collect();
    let workers: Vec<_> = std::iter::zip(&ledger.workers, &ids)
        .map(|((key, worker), [pid, tid])| {
            (*key, worker, [("pid", &**pid), ("worker", &**tid), ("comm", &*worker.comm)])
        })
        .collect();

    let name = "turnstile_turn_seconds";
    text.head(name, "histogram", Some("seconds"), "turns of a worker, from its poll to its poll");
    for (_, worker, labels) in &workers {
        let Some(turns) = &worker.turns else { continue };
        let mut below = 0;
        for (bucket, count) in turns.lengths.0.iter().enumerate() {
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
        text.sample("turnstile_turn_seconds_sum", labels, turns.total.as_secs());
    }

    let name = "turnstile_held_seconds";
    text.head(name, "counter", Some("seconds"), "time in holds, those that last with it");
    for (key, _, labels) in &workers {
        text.sample("turnstile_held_seconds_total", labels, ledger.held(*key).as_secs());
    }

    text.head(
        "turnstile_holds",
        "counter",
        None,
        "holds that have ended, by what most of each was",
    );
    for (_, worker, labels) in &workers {
        for kind in Kind::ALL {
            let labels = [labels.as_slice(), &[("kind", kind.name())]].concat();
            let count = worker.holds.get(&kind).copied().unwrap_or(0);
            text.sample("turnstile_holds_total", &labels, count);
        }
    }

    text.head("turnstile_open_hold_seconds", "gauge", Some("seconds"), "the hold that lasts now");
    for (key, _, labels) in &workers {
        let open = ledger.open.iter().find(|told| (told.pid, told.tid) == *key);
        let length = open.map_or(0.0, |told| told.length_us.as_secs());
        text.sample("turnstile_open_hold_seconds", labels, length);
    }

    let named = ledger
        .queues
        .values()
        .map(|queue| (queue, [ledger.own(queue.listener), queue.inode.to_string()]));
    let queues: Vec<_> = named.collect();
    let name = "turnstile_waiting_connections";
    text.head(name, "gauge", None, "connections that wait in an accept queue");
    for (queue, [listener, socket]) in &queues {
        text.sample(name, &[("listener", listener), ("socket", socket)], queue.waiting);
    }
    let name = "turnstile_waiting_seconds";
    text.head(name, "gauge", Some("seconds"), "for how long the accept queue has not been empty");
    for (queue, [listener, socket]) in &queues {
        let waiting = queue.waiting_us.as_secs();
        text.sample(name, &[("listener", listener), ("socket", socket)], waiting);
    }

    text.head("turnstile_lost_holds", "counter", None, "holds that did not fit into the ring");
    text.sample("turnstile_lost_holds_total", &[], ledger.lost);
    text.finish()
}
