//! What was seen, in words: a line or two for each hold, what became of processes, the summary.

use probe::{CountedFrom, Frame, HoldState, Stack};
use records::{Bytes, Micros, count, percent};

use super::holder::{Holder, OwnEnd};
use super::ledger::{Kind, Ledger, Queue, Told, Worker};
use super::processes::{Change, ChangeKind};
use report::{Sheet, Style, short_bytes};

#[cfg(test)]
mod tests;

/// Columns before the second line of a hold.
const INDENT: usize = 13;
/// What is less than this part of a hold is left out.
const SLIGHT: f64 = 0.1;
/// Characters of a function's name.
const NAME: usize = 60;
/// Rows of one kind in the summary.
const ROWS: usize = 10;

/// A hold in a line, and what waits behind it in another.
pub(super) fn hold(told: &Told) -> Vec<String> {
    let hold = &told.hold;
    let state = match hold.state {
        HoldState::Open => "held",
        HoldState::Closed => "was held",
    };
    let state = match hold.counted_from {
        CountedFrom::Poll => state.to_owned(),
        CountedFrom::Watch => format!("{state} for at least"),
    };
    let by = told.by.as_ref().map(|by| format!("by {}  ", holder(by, told.others)));
    let by = by.unwrap_or_default();
    let worker = format!("worker {}", hold.tid);
    let first = format!("{worker:<INDENT$}{state} {}  {by}{}", hold.length_us, did(told));
    let mut lines = vec![first];
    if told.waiting > 0 {
        let (one, many) = match hold.state {
            HoldState::Open => ("connection waits", "connections wait"),
            HoldState::Closed => ("connection waited", "connections waited"),
        };
        let waiting = count(told.waiting.into(), one, many);
        let waited = told.waiting_us;
        let since = if waited > Micros(0) { format!(", for {waited}") } else { String::new() };
        lines.push(format!("{:INDENT$}{waiting} in its accept queue{since}", ""));
    }
    lines
}

/// `10.0.0.7:51234 -> :8080 and 2 others (upstream 10.0.1.3:80)`.
fn holder(by: &Holder, others: usize) -> String {
    let port = |end: &str| format!(":{}", end.rsplit(':').next().unwrap_or_default());
    let ends = match by.own_end {
        OwnEnd::Server => format!("{} -> {}", by.client, port(&by.server)),
        OwnEnd::Client => format!("its own {} -> {}", port(&by.client), by.server),
    };
    let others = match others {
        0 => String::new(),
        others => format!(" and {}", count(others as u64, "other", "others")),
    };
    let upstream = by.upstream.as_ref().map(|upstream| format!(" (upstream {upstream})"));
    format!("{ends}{others}{}", upstream.unwrap_or_default())
}

/// `612 MiB moved, 98 % on CPU`.
fn did(told: &Told) -> String {
    let moved = match told.by.as_ref().map_or(Bytes(0), |by| by.bytes) {
        Bytes(0) => "nothing moved".to_owned(),
        bytes => format!("{} moved", short_bytes(bytes)),
    };
    let hold = &told.hold;
    let share = |part: Micros| part.0 as f64 / hold.length_us.0.max(1) as f64;
    let mut parts = vec![moved];
    let asleep = hold.asleep_in.map_or_else(|| "a call".to_owned(), |call| call.to_string());
    for (part, doing) in [
        (hold.on_cpu_us, "on CPU".to_owned()),
        (hold.runnable_us, "ready without a CPU".to_owned()),
        (hold.asleep_us, format!("asleep in {asleep}")),
    ] {
        if share(part) >= SLIGHT {
            parts.push(format!("{} {doing}", percent(share(part).min(1.0))));
        }
    }
    let stack = hold.stacks.first();
    let (word, place) = match told.kind {
        // The C library, or the kernel, is a place too.
        Kind::Computed => ("in", stack.and_then(|stack| stack.top().or(stack.frames.first()))),
        // The call is told already.
        Kind::Asleep => ("within", stack.and_then(Stack::top)),
        Kind::Moved | Kind::Runnable => ("", None),
    };
    parts.extend(place.map(|place| format!("{word} {}", short(place))));
    parts.join(", ")
}

/// A function: some names take lines.
fn short(frame: &Frame) -> String {
    let mut frame = frame.clone();
    if let Some((cut, _)) = frame.function.char_indices().nth(NAME) {
        frame.function.truncate(cut);
        frame.function.push('…');
    }
    frame.to_string()
}

/// What became of a process.
pub(super) fn change(change: &Change) -> String {
    let Change { pid, comm, change } = change;
    match change {
        ChangeKind::Found => format!("process {pid} ({comm}) is new, and watched"),
        ChangeKind::Ended => format!("process {pid} ({comm}) has ended"),
        ChangeKind::Renamed(before) => format!(
            "process {pid} is called {comm} now, and was {before}: it became another program, or took \
             another name"
        ),
        ChangeKind::Silent => format!(
            "process {pid} ({comm}): no thread of it has come out of a poll so far: it is idle, or held \
             since before the watch began, or none of its threads waits in epoll_wait, poll or select"
        ),
    }
}

/// What all of it came to.
pub(super) fn summary(ledger: &Ledger, style: Style) -> String {
    let workers = &ledger.workers;
    let watched = format!(
        "{} for {}; a hold has {} or more",
        count(workers.len() as u64, "worker", "workers"),
        ledger.watched_us,
        ledger.threshold
    );
    let was_held = workers.values().filter(|worker| worker.held_us > Micros(0));
    let mut held = rows(was_held.map(|worker| worker_holds(worker, ledger.watched_us)));
    if held.is_empty() {
        held.push("nobody".to_owned());
    }
    let most = ledger.holders.iter().map(|holds| {
        format!(
            "{}: {}, {} in all, {} the longest, {}",
            holder(&holds.by, 0),
            count(holds.holds, "hold", "holds"),
            holds.held_us,
            holds.longest_us,
            short_bytes(holds.by.bytes)
        )
    });
    let convoys = workers.values().filter_map(|worker| {
        let longest = worker.convoys.longest?;
        let of = match worker.convoys.count {
            1 => String::new(),
            convoys => format!(" (the longest of {convoys} convoys)"),
        };
        Some(format!(
            "worker {}: busy for {} with {} of {} in the mean, none of them a hold{of}",
            worker.turns.tid,
            longest.length_us,
            count(longest.turns, "turn", "turns"),
            longest.mean_turn_us
        ))
    });
    let queues = ledger.queues.values().filter(|queue| queue.most > 0).map(|queue| {
        let limit = if queue.limit > 0 { format!(" of {}", queue.limit) } else { String::new() };
        let Queue { listener, most, longest_us, .. } = queue;
        format!("{listener}: {most}{limit} waited at most, never empty for {longest_us}")
    });
    let mut queues = rows(queues);
    if ledger.queues.is_empty() {
        let unseen = "no listener of these processes may be seen: that needs their user, or root";
        queues.push(unseen.to_owned());
    }
    let lost = (ledger.lost > 0).then(|| {
        let lost = count(ledger.lost, "hold", "holds");
        format!("{lost}: there were more than fit into the kernel's ring")
    });
    let mut sheet = Sheet::new(style);
    for (label, rows) in [
        ("watched", vec![watched]),
        ("held", held),
        ("held most", rows(most)),
        ("convoys", rows(convoys)),
        ("queues", queues),
        ("lost", Vec::from_iter(lost)),
    ] {
        sheet.list(label, rows);
    }
    sheet.finish()
}

/// `worker 1235 (nginx): 4 holds, 4.200 s in all (14 %), 2.400 s the longest`.
fn worker_holds(worker: &Worker, watched: Micros) -> String {
    let share = worker.held_us.as_secs() / watched.as_secs().max(f64::MIN_POSITIVE);
    format!(
        "worker {} ({}): {}, {} in all ({}), {} the longest",
        worker.turns.tid,
        worker.turns.comm,
        count(worker.holds.values().sum(), "hold", "holds"),
        worker.held_us,
        percent(share.min(1.0)),
        worker.longest_us
    )
}

/// The first of many, and how many more there are.
fn rows(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = all.collect();
    let more = texts.len().saturating_sub(ROWS);
    texts.truncate(ROWS);
    texts.extend((more > 0).then(|| format!("and {more} more")));
    texts
}

/// `worker 1235 (nginx)  98 % busy, 12034 turns, 4 holds`: a row of the picture.
pub(super) fn worker(worker: &Worker, held: Micros) -> String {
    let turns: u64 = worker.turns.turn_lengths.0.iter().sum();
    let name = format!("worker {} ({})", worker.turns.tid, worker.turns.comm);
    let busy = percent(worker.convoys.busy);
    let holds = count(worker.holds.values().sum(), "hold", "holds");
    let turns = count(turns, "turn", "turns");
    let mut text = format!("{name:<28} {busy:>6} busy  {turns:>16}  {holds:>10}");
    if held > Micros(0) {
        text += &format!(", {held} in all, {} the longest", worker.longest_us);
    }
    text
}
