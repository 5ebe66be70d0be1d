//! Caddy: goroutines on as many threads as there are workers, none of which is a worker.
//!
//! Caddyfile: <https://caddyserver.com/docs/caddyfile>.

use std::net::IpAddr;

use records::{Arm, Bytes, LogTimes};
use serde::Deserialize;

use super::{Driver, LogPlace, Reason, Tracing, Workers};
use crate::build::Build;
use crate::entry::{self, Entry, Read, Served};
use crate::setting::{ConfigFile, Invocation, Setting};
use crate::toggle::Toggle;

#[derive(Debug)]
pub(super) struct Caddy;

const CONFIG: &str = "Caddyfile";

impl Driver for Caddy {
    fn name(&self) -> &'static str {
        "caddy"
    }

    fn commands(&self) -> Vec<String> {
        vec!["caddy".to_owned()]
    }

    fn package(&self) -> &'static str {
        "caddy"
    }

    fn version_args(&self) -> &'static [&'static str] {
        &["version"]
    }

    fn refuses(&self, toggle: &Toggle, _: &Arm, _: &Build) -> Option<Reason> {
        match toggle {
            Toggle::Reuseport | Toggle::Accept(_) | Toggle::MultiAccept => Some(
                Reason::own_way_to_accept("it has one listener, and one goroutine that accepts"),
            ),
            Toggle::Rcvbuf(_) | Toggle::Sndbuf(_) => Reason::upstream_buffers(toggle),
            Toggle::ListenRcvbuf(_) | Toggle::ListenSndbuf(_) => {
                Some(Reason::absent("buffers of accepted connections"))
            }
            Toggle::Backlog(_) => Some(Reason::absent("the backlog: Go takes net.core.somaxconn")),
            Toggle::Buffer(_) => Some(Reason::absent("the buffer that it relays with")),
            Toggle::LogInline => Some(Reason::absent("who writes the log")),
            Toggle::Buffering(_) => Some(Reason::absent("buffering answers")),
            Toggle::SpoolDir(_) | Toggle::SpoolMax(_) => Some(Reason::no_spool()),
            _ => None,
        }
    }

    fn configuration(&self, setting: &Setting<'_>) -> Vec<ConfigFile> {
        vec![ConfigFile { name: CONFIG, text: text(setting) }]
    }

    fn invocation(&self, setting: &Setting<'_>) -> Invocation {
        let args = ["run", "--config", &setting.file(CONFIG), "--adapter", "caddyfile"];
        Invocation {
            args: args.map(str::to_owned).into(),
            env: vec![
                ("GOMAXPROCS", setting.arm.workers.to_string()),
                ("HOME", setting.dir.display().to_string()),
                ("XDG_CONFIG_HOME", setting.file("config")),
                ("XDG_DATA_HOME", setting.file("data")),
            ],
        }
    }

    fn workers(&self) -> Workers {
        Workers::None
    }

    fn tracing(&self) -> Tracing {
        Tracing::Misleads
    }

    fn log(&self) -> LogPlace {
        LogPlace::Stdout
    }

    fn read(&self, line: Read<'_>) -> Option<Entry> {
        read(line)
    }

    /// By the name of the logger that writes it.
    fn is_logged(&self, text: &str) -> bool {
        text.contains("http.log.access")
    }
}

fn text(setting: &Setting<'_>) -> String {
    let Setting { arm, .. } = setting;
    let config = setting.file(CONFIG);
    let (threads, ip, port) = (arm.workers, setting.listen.ip(), setting.listen.port());
    let mut site = vec![format!("bind {ip}")];
    if let Some(level) = arm.gzip {
        site.extend(
            [
                "encode {",
                &format!("\tgzip {level}"),
                "\tminimum_length 1",
                "\tmatch {",
                "\t\tstatus 2xx",
                "\t}",
                "}",
            ]
            .map(str::to_owned),
        );
    }
    site.extend(arm.directives.iter().cloned());
    if arm.content == records::Content::File {
        site.push(format!("root * {}", setting.www().display()));
        site.push("file_server".to_owned());
    } else {
        site.push(format!("reverse_proxy {}", setting.upstream));
    }
    let site: String = site.iter().map(|line| format!("\t{line}\n")).collect();
    format!(
        "\
# Made for one run. By hand: GOMAXPROCS={threads} caddy run --config {config} --adapter caddyfile
{{
\tadmin off
\tauto_https off
\tgrace_period 1s
\tlog {{
\t\toutput stderr
\t\tformat console
\t\tlevel ERROR
\t}}
}}
http://:{port} {{
\tlog {{
\t\toutput stdout
\t\tformat json
\t}}
{site}}}
"
    )
}

/// A line of its access log, <https://caddyserver.com/docs/logging>.
#[derive(Deserialize)]
struct Line {
    /// Seconds since 1970, when the line was written.
    ts: f64,
    request: Request,
    /// Seconds.
    duration: f64,
    size: u64,
    status: u16,
}

#[derive(Deserialize)]
struct Request {
    remote_ip: IpAddr,
    remote_port: String,
    proto: String,
    method: String,
    uri: String,
}

fn read(line: Read<'_>) -> Option<Entry> {
    let line: Line = serde_json::from_str(line.text).ok()?;
    let Request { remote_ip, remote_port, proto, method, uri } = line.request;
    let request = format!("{method} {uri} {proto}");
    // 0: it wrote no head, since the client had gone.
    let status = if line.status == 0 { 499 } else { line.status };
    Some(Entry {
        client: remote_ip,
        client_port: remote_port.parse().ok()?,
        served: Served::Unknown,
        end: entry::ended(status, entry::Completion::of(&request, Bytes(line.size))),
        request,
        status,
        body_bytes: Bytes(line.size),
        times: LogTimes {
            at_unix_ms: entry::millis(line.ts),
            rt_ms: entry::millis(line.duration),
            ..LogTimes::default()
        },
    })
}
