//! H2O: one process, one thread a worker.
//!
//! Directives: <https://h2o.examp1e.net/configure.html>.

use records::{Arm, Bytes, LogTimes};

use super::{Driver, LogPlace, Reason, Tracing, Workers};
use crate::build::Build;
use crate::entry::{self, Completion, Entry, Read, Served, fields};
use crate::setting::{ConfigFile, Invocation, Setting, User};
use crate::toggle::Toggle;

#[derive(Debug)]
pub(super) struct H2o;

const CONFIG: &str = "h2o.yaml";
const LOG: &str = "h2o-access.log";

/// `%t` is when the request came; durations are seconds, or `-` when it did not come to that.
const FORMAT: &str = "client=%h port=%{remote}p secs=%{sec}t ms=%{msec_frac}t status=%s bytes=%b \
                      took=%{duration}x thought=%{process-time}x request=%r";

impl Driver for H2o {
    fn name(&self) -> &'static str {
        "h2o"
    }

    fn commands(&self) -> Vec<String> {
        vec!["h2o".to_owned()]
    }

    fn package(&self) -> &'static str {
        "h2o"
    }

    fn mark(&self) -> &'static str {
        "h2o version"
    }

    fn version_args(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn refuses(&self, toggle: &Toggle, _: &Arm, _: &Build) -> Option<Reason> {
        match toggle {
            Toggle::Reuseport => Some(Reason::own_way_to_accept("its threads share one listener")),
            Toggle::Accept(_) | Toggle::MultiAccept => {
                Some(Reason::absent("how its threads accept"))
            }
            Toggle::Rcvbuf(_) | Toggle::Sndbuf(_) => Reason::upstream_buffers(toggle),
            Toggle::ListenRcvbuf(_) | Toggle::ListenSndbuf(_) => {
                Some(Reason::absent("buffers of accepted connections"))
            }
            Toggle::Backlog(_) => Some(Reason::absent("the backlog: it takes net.core.somaxconn")),
            Toggle::Buffer(_) => Some(Reason::absent("the buffer that it relays with")),
            Toggle::Buffering(_) => Some(Reason::absent("buffering answers")),
            Toggle::SpoolOff | Toggle::SpoolDir(_) | Toggle::SpoolMax(_) => {
                Some(Reason::new("it decides itself what it keeps in files", "leave it out"))
            }
            Toggle::Gzip(_) => Some(Reason::new(
                "it decides by the types of answers, which the origin's is none of",
                "take --proxy nginx, caddy or apache",
            )),
            _ => None,
        }
    }

    fn configuration(&self, setting: &Setting<'_>) -> Vec<ConfigFile> {
        vec![ConfigFile { name: CONFIG, text: text(setting) }]
    }

    fn invocation(&self, setting: &Setting<'_>) -> Invocation {
        Invocation { args: vec!["-c".to_owned(), setting.file(CONFIG)], env: Vec::new() }
    }

    fn workers(&self) -> Workers {
        Workers::PollingThreads
    }

    fn tracing(&self) -> Tracing {
        Tracing::Fits
    }

    fn log(&self) -> LogPlace {
        LogPlace::File(LOG)
    }

    fn read(&self, line: Read<'_>) -> Option<Entry> {
        read(line)
    }
}

fn text(setting: &Setting<'_>) -> String {
    let Setting { arm, .. } = setting;
    let mut lines = vec![
        format!("# Made for one run. By hand: h2o -c {}", setting.file(CONFIG)),
        format!("num-threads: {}", arm.workers),
    ];
    if setting.user == User::Root {
        lines.push("user: root".to_owned());
    }
    lines.extend([
        "listen:".to_owned(),
        format!("  host: \"{}\"", setting.listen.ip()),
        format!("  port: {}", setting.listen.port()),
        "access-log:".to_owned(),
        format!("  path: {}", setting.file(LOG)),
        format!("  format: \"{FORMAT}\""),
        // What it cannot hand on yet it keeps in memory, or, if that is much, in files.
        format!("temp-buffer-path: {}", setting.file("temp")),
    ]);
    lines.extend(arm.directives.iter().cloned());
    lines.extend(["hosts:", "  default:", "    paths:", "      \"/\":"].map(str::to_owned));
    if arm.content == records::Content::File {
        lines.push(format!("        file.dir: {}", setting.www().display()));
    } else {
        lines.push(format!("        proxy.reverse.url: \"http://{}/\"", setting.upstream));
    }
    lines.join("\n") + "\n"
}

fn read(line: Read<'_>) -> Option<Entry> {
    let (head, request) = line.text.split_once(" request=")?;
    let fields = fields(head);
    let number = |name: &str| fields.get(name)?.parse::<u64>().ok();
    let seconds = |name: &str| Some(entry::millis(fields.get(name)?.parse().ok()?));
    let asked = number("secs")?.saturating_mul(1_000).saturating_add(number("ms")?);
    let bytes = Bytes(number("bytes").unwrap_or(0));
    let logged: u16 = fields.get("status")?.parse().ok()?;
    let status = if logged == 0 { 499 } else { logged };
    // It does not say how long an answer took that was cut: as long as until now.
    let took = seconds("took").unwrap_or_else(|| line.read_unix_ms.saturating_sub(asked));
    let completion = match fields.get("took") {
        Some(&"-") | None => Completion::Cut,
        Some(_) => Completion::Whole,
    };
    Some(Entry {
        client: fields.get("client")?.parse().ok()?,
        client_port: fields.get("port")?.parse().ok()?,
        served: Served::Unknown,
        request: entry::unescape(request),
        status,
        end: entry::ended(status, completion),
        body_bytes: bytes,
        times: LogTimes {
            at_unix_ms: asked.saturating_add(took),
            rt_ms: took,
            uct_ms: None,
            uht_ms: seconds("thought"),
            urt_ms: None,
        },
    })
}
