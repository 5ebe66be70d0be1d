//! One fetch from start to end: `turnstile explain --fetch N`.

use std::path::Path;

use records::{Fetch, Holder, LogSeconds, Micros, MonoNs, Outcome, Peer, SessionEnd, percent};

use super::layout::{Style, short_bytes};
use super::sheet::Sheet;
use crate::table::Table;
use crate::words;
use analysis::report::{CausePart, FetchReport, Hands, Happening, Held, Missing, Sent, Stay, Wire};

/// Of one time, a cause with a smaller share is not told; the sum at the end has them all.
const WORTH_TELLING: f64 = 0.01;

/// The whole timeline, with a newline after each line.
///
/// Its clock starts when the fetch was wanted. A line has a point in time and what happened, with
/// the side that knows of it; or where time went, with its length, what the worker did and the
/// cause.
pub fn timeline(story: &FetchReport, run_dir: &Path, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    sheet.whole("run", run_dir.display());
    sheet.list("fetch", [head(story), server(story)]);
    sheet.section();
    let mut table = Table::new(["ms", "length", "what happened", "cause"]);
    for moment in &story.timeline {
        let (side, text) = happened(story, moment.what);
        table.row([clock(story, moment.at_ns), side.to_owned(), text, String::new()]);
        for stay in &moment.then {
            let causes: Vec<String> = match stay.causes.as_slice() {
                [] => Vec::new(),
                [one] => vec![one.cause.name().to_owned()],
                [most, rest @ ..] => {
                    let told = rest.iter().filter(|part| part.share >= WORTH_TELLING);
                    [most].into_iter().chain(told).map(part).collect()
                }
            };
            let length = stay.end_ns.micros_since(stay.start_ns).to_string();
            let at = clock(story, stay.start_ns);
            table.row([at, length, went(story, stay), causes.join("\n")]);
        }
    }
    sheet.table(&table);
    sheet.section();
    let mut table = Table::new(["causes", "time", "share"]);
    for part in &story.causes {
        let (time, share) = (part.time_us().to_string(), percent(part.share));
        table.row([part.cause.name().to_owned(), time, share]);
    }
    table.row(["in all".to_owned(), story.fetch.response_us.to_string(), String::new()]);
    sheet.table(&table);
    sheet.finish()
}

fn head(story: &FetchReport) -> String {
    let Fetch { fetch, phase, outcome, response_us, client_port, .. } = &story.fetch;
    let port = client_port.map_or_else(String::new, |port| format!(", from port {port}"));
    format!("{fetch} of the {} phase{port}: {outcome} after {response_us}", phase.name())
}

fn server(story: &FetchReport) -> String {
    let worker = story.worker.map_or_else(
        || "no worker accepted it".to_owned(),
        |worker| format!("accepted by worker {worker}"),
    );
    let logged = match story.logged() {
        None => "no log line tells of it".to_owned(),
        Some(session) => {
            let (rt, uct) = (LogSeconds(Some(session.log.rt_ms)), LogSeconds(session.log.uct_ms));
            format!("the log says status={} rt={rt} uct={uct}", session.status)
        }
    };
    format!("{worker}; {logged}")
}

/// Milliseconds since the fetch was wanted, to the microsecond.
fn clock(story: &FetchReport, at: MonoNs) -> String {
    format!("{:.3}", at.micros_since(story.fetch.intended_ns).as_secs() * 1e3)
}

fn happened(story: &FetchReport, what: Happening) -> (&'static str, String) {
    let worker = story.worker.map_or_else(String::new, |worker| format!(" by worker {worker}"));
    match what {
        Happening::Wanted => ("client", "wanted".to_owned()),
        Happening::Started => ("client", "started".to_owned()),
        Happening::Connected => ("client", "connected".to_owned()),
        Happening::Accepted => ("proxy", format!("accepted{worker}")),
        Happening::RequestWhole => ("proxy", "request whole".to_owned()),
        Happening::UpstreamConnected => ("proxy", "connected to the origin".to_owned()),
        Happening::OriginAnswered => ("origin", "head of the answer".to_owned()),
        Happening::Head => ("proxy", "head of the answer".to_owned()),
        Happening::FirstByte => ("client", "head of the answer".to_owned()),
        Happening::Ended => ("client", ended(story)),
        Happening::Closed(end) => ("proxy", format!("closed: {}", closed(end))),
        Happening::Wire(wire) => ("wire", packets(wire)),
    }
}

fn packets(wire: Wire) -> String {
    match wire {
        Wire::Sent { from, what, packets, bytes, lasted_us } => {
            let who = match from {
                Peer::Client => "the client",
                Peer::Proxy => "the proxy",
            };
            let what = match what {
                Sent::Syn => "SYN".to_owned(),
                Sent::Fin => "FIN".to_owned(),
                Sent::Rst => "RST".to_owned(),
                Sent::Data => short_bytes(bytes),
            };
            match packets {
                1 => format!("{what} from {who}"),
                _ => format!("{what} from {who} in {packets} packets, {lasted_us}"),
            }
        }
        Wire::Silence { of, lasted_us } => {
            let what = match of {
                Missing::Handshake => "the SYN is not answered",
                Missing::Request => "connected, and nothing is asked",
                Missing::Answer => "asked, and no byte of an answer comes",
                Missing::MoreOfAnswer => "a pause inside the answer",
                Missing::Fin => "the client's FIN is not answered by one of the proxy",
            };
            match lasted_us {
                Some(lasted) => format!("{what} for {lasted}"),
                None => format!("{what} before the capture ends"),
            }
        }
    }
}

fn ended(story: &FetchReport) -> String {
    let Fetch { outcome, bytes, status, .. } = &story.fetch;
    let (how, bytes) = (words::outcome(*outcome).short, short_bytes(*bytes));
    match (outcome, status) {
        (Outcome::Ok, _) => format!("last byte, of {bytes}"),
        (Outcome::TimeoutPartial | Outcome::Reset | Outcome::ClosedEarly, _) => {
            format!("{how}, after {bytes}")
        }
        (Outcome::BadStatus, Some(status)) => format!("answered with status {status}"),
        (Outcome::BadStatus, None) => "answered with what is not HTTP".to_owned(),
        _ => how.to_owned(),
    }
}

const fn closed(end: SessionEnd) -> &'static str {
    match end {
        SessionEnd::Completed => "the whole answer was sent",
        SessionEnd::ClientClosed => "the client had closed",
        SessionEnd::ClientReset => "the client had reset the connection",
        SessionEnd::ClientTimeout => "the client sent nothing, or took nothing, for too long",
        SessionEnd::BadRequest => "the request could not be served",
        SessionEnd::UpstreamUnreachable => "the origin refused or could not be reached",
        SessionEnd::UpstreamTimeout => "the origin did not connect or answer in time",
        SessionEnd::UpstreamBadHead => "the origin's head was not HTTP or too large",
        SessionEnd::UpstreamClosedEarly => "the origin closed inside its answer",
        SessionEnd::NoPort => "no port was left for the origin's connection",
        SessionEnd::LocalError => "no descriptor or memory for the origin's connection",
        SessionEnd::TurnedAway => "its worker had no connection left",
        SessionEnd::Shutdown => "the proxy was told to stop",
    }
}

fn part(part: &CausePart) -> String {
    format!("{} {}", part.cause, percent(part.share))
}

/// What the worker did in a time.
fn went(story: &FetchReport, time: &Stay) -> String {
    let mut parts: Vec<String> = match time.holds.as_slice() {
        [one] => vec![hold(story, one)],
        // Each of many is told briefly.
        many => many.iter().map(|of| format!("{} ({})", steps(story, of), of.waited_us)).collect(),
    };
    if let Some(first) = parts.first_mut().filter(|_| story.worker.is_none()) {
        first.insert_str(0, "held wherever it may be queued, as by the ");
    }
    if let Some(turns) = time.turns {
        let polls = match turns.poll_us {
            Micros(0) => String::new(),
            polls => format!(", {polls} in polls"),
        };
        parts.push(match turns.turns {
            1 => format!("a loop turn of {}{polls}", turns.mean_us),
            many => format!("{many} loop turns of {}{polls}", turns.mean_us),
        });
    }
    match time.polls {
        0 => {}
        1 => parts.push("the worker in its poll".to_owned()),
        polls => parts.push(format!("the worker in {polls} polls")),
    }
    if time.silent > 0 {
        parts.push(silent(time.hands, story.worker).to_owned());
    }
    parts.join("; ")
}

/// One step, or several of the same session.
fn hold(story: &FetchReport, group: &Held) -> String {
    let (what, bytes) = (steps(story, group), short_bytes(group.bytes));
    let ended = match group.ended_by {
        Some(end) => format!("ended by {}", end.words()),
        None => "ended in several ways".to_owned(),
    };
    match group.steps {
        1 => format!("{what}: {}, {bytes}, {ended}", group.longest_us),
        _ => format!("{what}: up to {}, {bytes} in all, {ended}", group.longest_us),
    }
}

/// `hold of download 3`, `2 holds of download 3`.
fn steps(story: &FetchReport, group: &Held) -> String {
    let whose = match group.holder {
        Holder::Fetch(fetch) if fetch == story.fetch.fetch => "its own".to_owned(),
        holder => words::holder(holder),
    };
    match group.steps {
        1 => format!("hold of {whose}"),
        steps => format!("{steps} holds of {whose}"),
    }
}

const fn silent(hands: Hands, worker: Option<u32>) -> &'static str {
    match hands {
        Hands::Queued if worker.is_none() => "in the queue of an unknown listener",
        Hands::Unsent => "its client was late",
        Hands::Handshake => "handshake",
        Hands::Queued => "in a listener's queue; nothing known of the worker",
        Hands::Asking => "request on its way; nothing known of the worker",
        Hands::AwaitingWorker => "all workers of the origin were busy",
        Hands::AwaitingOrigin => "the origin had not answered",
        Hands::AwaitingHead => "waiting for the head; nothing known of the worker",
        Hands::Body => "body on its way; nothing known of the worker",
        Hands::Unknown => "accepted; nothing known since",
        Hands::Closed => "the proxy was done, its client was not",
    }
}
