//! HAProxy: one process, one thread a worker.
//!
//! Keywords: <https://docs.haproxy.org/2.6/configuration.html>.

use records::{Arm, Bytes, LogTimes, SessionEnd};

use super::{Driver, LogPlace, Reason, Tracing, Workers};
use crate::build::Build;
use crate::entry::{self, Entry, Read, Served, fields};
use crate::setting::{ConfigFile, Invocation, Setting};
use crate::toggle::Toggle;

#[derive(Debug)]
pub(super) struct Haproxy;

const CONFIG: &str = "haproxy.cfg";

/// What a line of the log holds. `%B` counts the head too: its text is `hl` long.
const FORMAT: &str = "client=%ci port=%cp acc=%Ts.%ms thread=%[thread] status=%ST \
                      out=%B head=%[var(txn.head)] tc=%Tc tr=%Tr td=%Td ta=%Ta tt=%Tt \
                      end=%ts request=%r";

/// How much more `%B` counts of an answer `200 OK` with three fields than its text without the status
/// line has: HAProxy counts its own form of it (`struct htx_sl`, include/haproxy/htx-t.h), that is
/// 20 bytes and `HTTP/1.1`, `200`, `OK`, an end mark of 1, but no `: ` and CR LF of the 3 fields and
/// the empty line. The origin's answers have 3 fields.
const HEAD_FORM: u64 = 20 + 13 + 1 - 3 * 4 - 2;

impl Driver for Haproxy {
    fn name(&self) -> &'static str {
        "haproxy"
    }

    fn commands(&self) -> Vec<String> {
        vec!["haproxy".to_owned()]
    }

    fn package(&self) -> &'static str {
        "haproxy"
    }

    fn mark(&self) -> &'static str {
        "roxy version"
    }

    fn version_args(&self) -> &'static [&'static str] {
        &["-v"]
    }

    fn refuses(&self, toggle: &Toggle, _: &Arm, _: &Build) -> Option<Reason> {
        match toggle {
            Toggle::Accept(_) => Some(Reason::new(
                "it shares accepted connections among its threads in a way of its own \
                 (tune.listener.multi-queue)",
                "leave it out, or take --proxy mirror",
            )),
            Toggle::LogInline => Some(Reason::new(
                "it drops a line of its log rather than wait",
                "leave it out, or take --proxy nginx",
            )),
            Toggle::ContentFile => {
                Some(Reason::new("it serves no files", "take --proxy nginx, caddy, apache or h2o"))
            }
            Toggle::Buffering(_) => Some(Reason::absent("buffering answers")),
            Toggle::SpoolDir(_) | Toggle::SpoolMax(_) => Some(Reason::no_spool()),
            Toggle::Gzip(_) => Some(Reason::new(
                "it decides by the types of answers and by its own load",
                "write it out with --directive, as \"compression algo gzip\"",
            )),
            _ => None,
        }
    }

    fn configuration(&self, setting: &Setting<'_>) -> Vec<ConfigFile> {
        vec![ConfigFile { name: CONFIG, text: text(setting) }]
    }

    fn invocation(&self, setting: &Setting<'_>) -> Invocation {
        let args = ["-db".to_owned(), "-f".to_owned(), setting.file(CONFIG)];
        Invocation { args: args.into(), env: Vec::new() }
    }

    fn workers(&self) -> Workers {
        Workers::PollingThreads
    }

    fn tracing(&self) -> Tracing {
        Tracing::Fits
    }

    fn log(&self) -> LogPlace {
        LogPlace::Stdout
    }

    fn read(&self, line: Read<'_>) -> Option<Entry> {
        read(line)
    }

    /// Its notices stand there as well.
    fn is_logged(&self, text: &str) -> bool {
        text.starts_with("client=")
    }
}

fn text(setting: &Setting<'_>) -> String {
    let Setting { arm, .. } = setting;
    let mut lines = vec![
        format!("# Made for one run. By hand: haproxy -db -f {}", setting.file(CONFIG)),
        "global".to_owned(),
        format!("    nbthread {}", arm.workers),
    ];
    if let Some(cpus) = setting.pin {
        // For whoever runs it by hand, counting threads from 1. 2.6 leaves its first thread out of it
        // where there are three or more, so we pin them as well.
        lines.extend(
            (0..arm.workers as usize)
                .map(|worker| format!("    cpu-map 1/{} {}", worker + 1, cpus.in_turn(worker))),
        );
    }
    // Without a limit of its own it makes room for as many connections as it could have files.
    lines.push(format!("    maxconn {}", u64::from(arm.workers) * setting.worker_sessions()));
    lines.push("    log stdout format raw local0".to_owned());
    for (name, size) in [
        ("tune.rcvbuf.server", arm.rcvbuf),
        ("tune.sndbuf.server", arm.sndbuf),
        ("tune.rcvbuf.client", arm.listen_rcvbuf),
        ("tune.sndbuf.client", arm.listen_sndbuf),
        ("tune.bufsize", (arm.buffer != Bytes::kib(4)).then_some(arm.buffer)),
    ] {
        if let Some(Bytes(size)) = size {
            lines.push(format!("    {name} {size}"));
        }
    }
    if arm.multi_accept {
        lines.push("    tune.maxaccept -1".to_owned());
    }
    let (global, defaults): (Vec<_>, Vec<_>) =
        arm.directives.iter().partition(|line| is_global(line));
    lines.extend(global.into_iter().map(|line| format!("    {line}")));
    lines.extend(
        [
            "defaults",
            "    mode http",
            "    log global",
            "    option dontlognull",
            "    timeout connect 60s",
            "    timeout client 60s",
            "    timeout server 60s",
        ]
        .map(str::to_owned),
    );
    lines.extend(defaults.into_iter().map(|line| format!("    {line}")));
    let shards = if arm.reuseport { " shards by-thread" } else { "" };
    lines.extend([
        "frontend turnstile".to_owned(),
        format!("    bind {} backlog {}{shards}", setting.listen, arm.backlog),
        "    http-response set-var(txn.head) res.hdrs,length".to_owned(),
        format!("    log-format \"{FORMAT}\""),
        "    default_backend origin".to_owned(),
        "backend origin".to_owned(),
        format!("    server origin {}", setting.upstream),
    ]);
    lines.join("\n") + "\n"
}

/// Whether a line belongs to the section for the process; the others are for all proxies.
fn is_global(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    word.starts_with("tune.") || ["busy-polling", "noepoll", "nosplice"].contains(&word)
}

fn read(line: Read<'_>) -> Option<Entry> {
    let (head, request) = line.text.split_once(" request=")?;
    let fields = fields(head);
    let number = |name: &str| fields.get(name)?.parse::<u64>().ok();
    // -1: it did not come to that.
    let signed = |name: &str| fields.get(name)?.parse::<i64>().ok();
    let time = |name: &str| signed(name).and_then(|ms| u64::try_from(ms).ok());
    let (secs, millis) = fields.get("acc")?.split_once('.')?;
    let accepted =
        secs.parse::<u64>().ok()?.saturating_mul(1_000).saturating_add(millis.parse().ok()?);
    let (connect, response, data) = (time("tc"), time("tr"), time("td"));
    let header = connect.zip(response).map(|(connect, response)| connect.saturating_add(response));
    let flags = fields.get("end").copied().unwrap_or_default();
    let answered = u16::try_from(signed("status")?).ok().filter(|&status| status >= 100);
    let end = ended(flags, answered);
    let status = match (answered, end) {
        (Some(status), _) => status,
        (None, SessionEnd::ClientClosed) if connect.is_some() => 499,
        (None, SessionEnd::ClientClosed) => 400,
        (None, _) => 502,
    };
    let out = number("out").unwrap_or(0);
    let body = number("head").map_or(0, |head| out.saturating_sub(head.saturating_add(HEAD_FORM)));
    Some(Entry {
        client: fields.get("client")?.parse().ok()?,
        client_port: fields.get("port")?.parse().ok()?,
        served: number("thread")
            .and_then(|thread| u32::try_from(thread).ok())
            .map_or(Served::Unknown, Served::Thread),
        request: entry::unescape(request),
        status,
        end,
        body_bytes: Bytes(body),
        times: LogTimes {
            at_unix_ms: accepted.saturating_add(time("tt").unwrap_or(0)),
            rt_ms: time("ta").unwrap_or(0),
            uct_ms: connect,
            uht_ms: header,
            urt_ms: connect.map(|connect| {
                [response, data].into_iter().flatten().fold(connect, u64::saturating_add)
            }),
        },
    })
}

/// The state at disconnection, section 8.5 of the manual: who ended it, and when.
fn ended(flags: &str, status: Option<u16>) -> SessionEnd {
    let mut flags = flags.chars();
    match (flags.next().unwrap_or('-'), flags.next().unwrap_or('-')) {
        ('-' | 'L', _) => match status {
            Some(400..=431) => SessionEnd::BadRequest,
            _ => SessionEnd::Completed,
        },
        ('C', _) => SessionEnd::ClientClosed,
        ('c', _) => SessionEnd::ClientTimeout,
        ('S', 'C') => SessionEnd::UpstreamUnreachable,
        ('S', _) => SessionEnd::UpstreamClosedEarly,
        ('s', _) => SessionEnd::UpstreamTimeout,
        ('P', 'R') => SessionEnd::BadRequest,
        ('P', 'H') => SessionEnd::UpstreamBadHead,
        ('D' | 'K' | 'U', _) => SessionEnd::Shutdown,
        _ => SessionEnd::LocalError,
    }
}
