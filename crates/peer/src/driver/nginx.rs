//! nginx: a master and one process a worker.
//!
//! What the arm does not ask for stays as nginx has it: buffering, temporary files of up to 1 GiB,
//! FIONREAD (from 1.17.5). Directives and their versions: <https://nginx.org/en/docs/dirindex.html>.

use std::fmt::Write as _;

use records::{AcceptMode, Arm, BufferingMode, Bytes};

use super::{Driver, LogPlace, Pinning, Reason, Tracing, Workers};
use crate::build::{Build, Version};
use crate::entry::{self, Entry, Read};
use crate::hop::LastSignal;
use crate::setting::{ConfigFile, Invocation, Setting, User};
use crate::toggle::Toggle;

#[derive(Debug)]
pub(super) struct Nginx;

/// EPOLLEXCLUSIVE, and `accept_mutex` off unless asked for: CHANGES.
const EXCLUSIVE: Version = Version(1, 11, 3);
/// `proxy_socket_rcvbuf` and `proxy_socket_sndbuf`: CHANGES.
const UPSTREAM_BUFFERS: Version = Version(1, 31, 3);
/// `-e`, the log before a configuration is read: CHANGES.
const EARLY_LOG: Version = Version(1, 19, 5);
/// `listen ... reuseport`: CHANGES.
const REUSEPORT: Version = Version(1, 9, 1);

const CONFIG: &str = "nginx.conf";

/// The published format, and what joins a line with a session seen from outside.
const FORMAT: &str = r#"'$remote_addr [$time_local] "$request" status=$status '
        'body_bytes_sent=$body_bytes_sent rt=$request_time uct="$upstream_connect_time" '
        'uht="$upstream_header_time" urt="$upstream_response_time" '
        'pid=$pid port=$remote_port conn=$connection msec=$msec done=$request_completion'"#;

/// Modules with a directory for temporary files, which is made at start whether used or not.
const TEMPORARY: [&str; 3] = ["fastcgi", "uwsgi", "scgi"];

impl Driver for Nginx {
    fn name(&self) -> &'static str {
        "nginx"
    }

    fn commands(&self) -> Vec<String> {
        vec!["nginx".to_owned()]
    }

    fn package(&self) -> &'static str {
        "nginx-light"
    }

    fn mark(&self) -> &'static str {
        "nginx version:"
    }

    fn version_args(&self) -> &'static [&'static str] {
        &["-V"]
    }

    fn refuses(&self, toggle: &Toggle, arm: &Arm, build: &Build) -> Option<Reason> {
        let since = |version: Version, what: &str, instead: &str| {
            (build.version < version)
                .then(|| Reason::new(format!("{what} came with {version}"), instead))
        };
        let newer = "name a newer build with --proxy-bin";
        match toggle {
            Toggle::Rcvbuf(_) | Toggle::Sndbuf(_) => {
                let (option, sysctl) = if matches!(toggle, Toggle::Rcvbuf(_)) {
                    ("SO_RCVBUF", "net.ipv4.tcp_rmem")
                } else {
                    ("SO_SNDBUF", "net.ipv4.tcp_wmem")
                };
                since(
                    UPSTREAM_BUFFERS,
                    &format!("a directive for {option} of upstream connections"),
                    &format!("set {sysctl} inside its namespace with --netns, or {newer}"),
                )
            }
            Toggle::Reuseport => since(REUSEPORT, "reuseport", newer),
            Toggle::Accept(AcceptMode::Herd) => (build.version >= EXCLUSIVE).then(|| {
                let why = format!("from {EXCLUSIVE} it always adds listeners with EPOLLEXCLUSIVE");
                Reason::new(why, "take --proxy mirror, or name an older build with --proxy-bin")
            }),
            Toggle::Accept(_) => arm.reuseport.then(|| {
                let why = "its mutex leaves out listeners that are not shared";
                Reason::new(why, "leave out --reuseport or --accept mutex")
            }),
            Toggle::Gzip(_) => build.about.contains("--without-http_gzip_module").then(|| {
                let why = "this build was made without its gzip module";
                Reason::new(why, "name another build with --proxy-bin")
            }),
            _ => None,
        }
    }

    fn configuration(&self, setting: &Setting<'_>) -> Vec<ConfigFile> {
        vec![ConfigFile { name: CONFIG, text: text(setting) }]
    }

    fn invocation(&self, setting: &Setting<'_>) -> Invocation {
        let dir = format!("{}/", setting.dir.display());
        let mut args = vec!["-p".to_owned(), dir, "-c".to_owned(), setting.file(CONFIG)];
        if setting.build.version >= EARLY_LOG {
            args.extend(["-e".to_owned(), setting.file("error.log")]);
        }
        Invocation { args, env: Vec::new() }
    }

    fn workers(&self) -> Workers {
        // ngx_setproctitle in ngx_worker_process_init, src/os/unix/ngx_process_cycle.c.
        Workers::Children { title: "nginx: worker process" }
    }

    fn tracing(&self) -> Tracing {
        Tracing::Fits
    }

    fn log(&self) -> LogPlace {
        LogPlace::Published
    }

    fn read(&self, line: Read<'_>) -> Option<Entry> {
        entry::published(line)
    }

    fn pinning(&self) -> Pinning {
        Pinning::Its
    }

    fn last_signal(&self) -> LastSignal {
        // The master takes its workers along, with SIGKILL after a second (`ngx_terminate`).
        LastSignal::Term
    }
}

fn text(setting: &Setting<'_>) -> String {
    let Setting { arm, .. } = setting;
    let mut text = String::new();
    let mut put = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let dir = setting.dir.display();
    put(&format!("# Made for one run. By hand: nginx -p {dir}/ -c {}", setting.file(CONFIG)));
    put("daemon off;");
    put("master_process on;");
    put(&format!("worker_processes {};", arm.workers));
    if let Some(cpus) = setting.pin {
        let masks = (0..arm.workers as usize).map(|worker| mask(cpus.in_turn(worker)));
        put(&format!("worker_cpu_affinity {};", masks.collect::<Vec<_>>().join(" ")));
    }
    if setting.user == User::Root {
        put("user root;");
    }
    put(&format!("error_log {};", setting.file("error.log")));
    put(&format!("pid {};", setting.file("nginx.pid")));
    put("events {");
    // The mirror's limit, two connections a session; nginx's own of 512 would be in the way of a
    // burst.
    put(&format!("    worker_connections {};", 2 * setting.worker_sessions()));
    if arm.multi_accept {
        put("    multi_accept on;");
    }
    match arm.accept {
        AcceptMode::Mutex => put("    accept_mutex on;"),
        // Refused but before 1.11.3, where it needs to be said.
        AcceptMode::Herd => put("    accept_mutex off;"),
        AcceptMode::Exclusive => {}
    }
    put("}");
    put("http {");
    for name in temporary(setting.build) {
        put(&format!("    {name}_temp_path {};", setting.file(&format!("temp/{name}"))));
    }
    put(&format!("    client_body_temp_path {};", setting.file("temp/body")));
    put(&format!("    log_format turnstile {FORMAT};"));
    put(&format!("    access_log {} turnstile;", setting.access_log.display()));
    put("    server {");
    put(&format!("        listen {};", listen(setting)));
    put("        location / {");
    for line in location(setting).iter().chain(&arm.directives) {
        put(&format!("            {line}"));
    }
    put("        }");
    put("    }");
    put("}");
    text
}

fn listen(setting: &Setting<'_>) -> String {
    let Arm { reuseport, listen_rcvbuf, listen_sndbuf, backlog, .. } = setting.arm;
    let mut text = setting.listen.to_string();
    if *reuseport {
        text.push_str(" reuseport");
    }
    let _ = write!(text, " backlog={backlog}");
    for (name, size) in [("rcvbuf", listen_rcvbuf), ("sndbuf", listen_sndbuf)] {
        if let Some(Bytes(size)) = size {
            let _ = write!(text, " {name}={size}");
        }
    }
    text
}

/// What is said of every request.
fn location(setting: &Setting<'_>) -> Vec<String> {
    let arm = setting.arm;
    let mut lines = Vec::new();
    if arm.content == records::Content::File {
        lines.push(format!("root {};", setting.www().display()));
    } else {
        lines.push(format!("proxy_pass http://{};", setting.upstream));
        if arm.buffer != Bytes::kib(4) {
            let Bytes(size) = arm.buffer;
            lines.push(format!("proxy_buffer_size {size};"));
            lines.push(format!("proxy_buffers 8 {size};"));
        }
        for (name, size) in [("rcvbuf", arm.rcvbuf), ("sndbuf", arm.sndbuf)] {
            if let Some(Bytes(size)) = size {
                lines.push(format!("proxy_socket_{name} {size};"));
            }
        }
        if arm.buffering != BufferingMode::Default {
            lines.push(format!("proxy_buffering {};", arm.buffering));
        }
        match &arm.spool {
            records::Spool::Default => {
                lines.push(format!("proxy_temp_path {};", setting.file("temp/proxy")));
            }
            records::Spool::Off => lines.push("proxy_max_temp_file_size 0;".to_owned()),
            records::Spool::Dir(dir) => {
                lines.push(format!("proxy_temp_path {};", dir.display()));
            }
        }
        if let Some(Bytes(size)) = arm.spool_max {
            lines.push(format!("proxy_max_temp_file_size {size};"));
        }
    }
    if let Some(level) = arm.gzip {
        lines.push("gzip on;".to_owned());
        lines.push(format!("gzip_comp_level {level};"));
        lines.push("gzip_types *;".to_owned());
        lines.push("gzip_proxied any;".to_owned());
    }
    lines
}

/// The CPU as a mask of `worker_cpu_affinity`: a bit a CPU, CPU 0 last.
fn mask(cpu: usize) -> String {
    format!("1{}", "0".repeat(cpu))
}

/// The modules among [`TEMPORARY`] that this build has.
fn temporary(build: &Build) -> impl Iterator<Item = &'static str> {
    let has = |name: &&str| !build.about.contains(&format!("--without-http_{name}_module"));
    TEMPORARY.into_iter().filter(has)
}
