//! Apache httpd with its event MPM: as many processes as workers, each with a pool of threads that
//! hold a session while its bytes move.
//!
//! Directives: <https://httpd.apache.org/docs/2.4/mod/quickreference.html>.

use std::path::{Path, PathBuf};

use records::{Arm, Bytes, LogTimes};

use super::{Driver, LogPlace, Reason, Tracing, Workers};
use crate::build::Build;
use crate::entry::{self, Completion, Entry, Read, Served, fields};
use crate::hop::LastSignal;
use crate::setting::{ConfigFile, Invocation, Setting, User};
use crate::toggle::Toggle;

#[derive(Debug)]
pub(super) struct Apache;

const CONFIG: &str = "apache.conf";
const LOG: &str = "apache-access.log";

/// Threads of a process: sessions that it moves at a time.
const THREADS: u32 = 64;
/// `ProxyIOBufferSize` must be at least this.
const LEAST_BUFFER: Bytes = Bytes::kib(8);

/// Where modules lie: Debian, Red Hat, Apache's own layout.
const MODULES: [&str; 4] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/local/apache2/modules",
    "/etc/httpd/modules",
];

/// `%X`: X, the client closed before the answer was complete.
const FORMAT: &str = r"client=%a port=%{remote}p pid=%P end=%{end:msec}t us=%D status=%>s bytes=%B closed=%X request=%r";

impl Driver for Apache {
    fn name(&self) -> &'static str {
        "apache"
    }

    fn commands(&self) -> Vec<String> {
        vec!["apache2".to_owned(), "httpd".to_owned()]
    }

    fn package(&self) -> &'static str {
        "apache2-bin"
    }

    fn mark(&self) -> &'static str {
        "Apache/"
    }

    fn version_args(&self) -> &'static [&'static str] {
        &["-V"]
    }

    fn refuses(&self, toggle: &Toggle, _: &Arm, _: &Build) -> Option<Reason> {
        match toggle {
            Toggle::Reuseport => Some(Reason::own_way_to_accept(
                "it makes listeners by the number of CPUs (ListenCoresBucketsRatio), not by that of \
                 its processes",
            )),
            Toggle::Accept(_) | Toggle::MultiAccept => Some(Reason::own_way_to_accept(
                "a thread of each process accepts and hands on to others",
            )),
            Toggle::Sndbuf(_) => Reason::upstream_buffers(toggle),
            Toggle::Buffer(size) => (*size < LEAST_BUFFER).then(|| {
                Reason::new("its ProxyIOBufferSize is 8 KiB at least", "ask for 8KiB or more")
            }),
            Toggle::LogInline => None,
            Toggle::Buffering(_) => Some(Reason::absent("buffering answers")),
            Toggle::SpoolDir(_) | Toggle::SpoolMax(_) => Some(Reason::no_spool()),
            _ => None,
        }
    }

    fn configuration(&self, setting: &Setting<'_>) -> Vec<ConfigFile> {
        vec![ConfigFile { name: CONFIG, text: text(setting) }]
    }

    fn invocation(&self, setting: &Setting<'_>) -> Invocation {
        let args = ["-f", &setting.file(CONFIG), "-DFOREGROUND"];
        Invocation { args: args.map(str::to_owned).into(), env: Vec::new() }
    }

    fn workers(&self) -> Workers {
        Workers::Pools
    }

    fn tracing(&self) -> Tracing {
        Tracing::Misleads
    }

    fn log(&self) -> LogPlace {
        LogPlace::File(LOG)
    }

    fn read(&self, line: Read<'_>) -> Option<Entry> {
        read(line)
    }

    fn last_signal(&self) -> LastSignal {
        // The first process takes its children along.
        LastSignal::Term
    }
}

fn text(setting: &Setting<'_>) -> String {
    let Setting { arm, .. } = setting;
    let config = setting.file(CONFIG);
    let mut lines = vec![
        format!("# Made for one run. By hand: apache2 -f {config} -DFOREGROUND"),
        format!("ServerRoot {}", setting.dir.display()),
        "ServerName turnstile".to_owned(),
        format!("DefaultRuntimeDir {}", setting.dir.display()),
        format!("PidFile {}", setting.file("apache.pid")),
        format!("ErrorLog {}", setting.file("error.log")),
        format!("Listen {}", setting.listen),
    ];
    if arm.backlog != 511 {
        lines.push(format!("ListenBacklog {}", arm.backlog));
    }
    lines.extend(modules(arm).into_iter().map(|name| {
        let file = module_dir(setting.build).join(format!("mod_{name}.so"));
        // Some builds have one or the other built in.
        format!(
            "<IfModule !mod_{name}.c>\n    LoadModule {name}_module {}\n</IfModule>",
            file.display()
        )
    }));
    lines.push(format!("Mutex file:{} default", setting.dir.display()));
    if setting.user == User::Root {
        // Most builds refuse to serve as root.
        lines.push("User nobody".to_owned());
        lines.push("Group #65534".to_owned());
    }
    let (processes, threads) = (arm.workers, arm.workers * THREADS);
    lines.extend([
        format!("ServerLimit {processes}"),
        format!("StartServers {processes}"),
        format!("ThreadLimit {THREADS}"),
        format!("ThreadsPerChild {THREADS}"),
        format!("MaxRequestWorkers {threads}"),
        // No process is started or ended for the number of idle threads.
        "MinSpareThreads 1".to_owned(),
        format!("MaxSpareThreads {threads}"),
    ]);
    for (name, size) in [
        ("ReceiveBufferSize", arm.listen_rcvbuf),
        ("SendBufferSize", arm.listen_sndbuf),
        ("ProxyReceiveBufferSize", arm.rcvbuf),
        ("ProxyIOBufferSize", (arm.buffer != Bytes::kib(4)).then_some(arm.buffer)),
    ] {
        if let Some(Bytes(size)) = size {
            lines.push(format!("{name} {size}"));
        }
    }
    lines.push(format!("LogFormat \"{FORMAT}\" turnstile"));
    lines.push(format!("CustomLog {} turnstile", setting.file(LOG)));
    if let Some(level) = arm.gzip {
        lines.push("SetOutputFilter DEFLATE".to_owned());
        lines.push(format!("DeflateCompressionLevel {level}"));
    }
    if arm.content == records::Content::File {
        lines.push(format!("DocumentRoot {}", setting.www().display()));
    } else {
        lines.push(format!("ProxyPass / http://{}/", setting.upstream));
    }
    lines.extend(arm.directives.iter().cloned());
    lines.join("\n") + "\n"
}

fn modules(arm: &Arm) -> Vec<&'static str> {
    let mut names = vec!["mpm_event", "unixd", "log_config", "authz_core", "proxy", "proxy_http"];
    if arm.gzip.is_some() {
        names.extend(["filter", "deflate"]);
    }
    names
}

/// Beside the program in its own layout, else where distributions put them.
fn module_dir(build: &Build) -> PathBuf {
    let own = build.path.parent().and_then(Path::parent).map(|root| root.join("modules"));
    let known = MODULES.map(PathBuf::from);
    let all: Vec<PathBuf> = own.into_iter().chain(known.clone()).collect();
    let [debian, ..] = known;
    all.into_iter().find(|dir| dir.join("mod_proxy_http.so").exists()).unwrap_or(debian)
}

fn read(line: Read<'_>) -> Option<Entry> {
    let (head, request) = line.text.split_once(" request=")?;
    let fields = fields(head);
    let number = |name: &str| fields.get(name)?.parse::<u64>().ok();
    let status: u16 = fields.get("status")?.parse().ok()?;
    let bytes = Bytes(number("bytes").unwrap_or(0));
    let cut = fields.get("closed") == Some(&"X");
    Some(Entry {
        client: fields.get("client")?.parse().ok()?,
        client_port: fields.get("port")?.parse().ok()?,
        served: number("pid")
            .and_then(|pid| u32::try_from(pid).ok())
            .map_or(Served::Unknown, Served::Process),
        request: entry::unescape(request),
        status,
        end: entry::ended(status, if cut { Completion::Cut } else { Completion::Whole }),
        body_bytes: bytes,
        times: LogTimes {
            at_unix_ms: number("end")?,
            rt_ms: number("us")? / 1_000,
            ..LogTimes::default()
        },
    })
}
