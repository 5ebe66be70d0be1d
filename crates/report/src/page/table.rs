//! Tables, lists and figures: the pieces that all pages are built of; and the machine as rows of a table.

use std::fmt::{Display, Write as _};

use records::{Bytes, Fault, Manifest, Recording, Side};

use crate::escape::html;
use crate::svg::palette::Ink;

/// A table in a box that scrolls where it is too wide. Cells are HTML already.
pub(crate) struct Table {
    attributes: &'static str,
    out: String,
}

impl Table {
    /// Its class and the like, its caption, and the heads of its columns; an empty one heads nothing.
    pub(crate) fn new(attributes: &'static str, caption: &str, heads: &[&str]) -> Self {
        let mut out = String::new();
        if !caption.is_empty() {
            let _ = write!(out, "<caption>{caption}</caption>");
        }
        if !heads.is_empty() {
            let head = |head: &&str| match *head {
                "" => "<td></td>".to_owned(),
                head => format!("<th scope=\"col\">{head}</th>"),
            };
            let heads: String = heads.iter().map(head).collect();
            let _ = write!(out, "<thead><tr>{heads}</tr></thead>");
        }
        out.push_str("<tbody>");
        Self { attributes, out }
    }

    /// A row: its id or nothing, its head and its cells.
    pub(crate) fn row(
        &mut self,
        id: &str,
        head: impl Display,
        cells: impl IntoIterator<Item = impl Display>,
    ) {
        let id = if id.is_empty() { String::new() } else { format!(" id=\"{id}\"") };
        let _ = write!(self.out, "<tr{id}><th scope=\"row\">{head}</th>");
        for cell in cells {
            let _ = write!(self.out, "<td>{cell}</td>");
        }
        self.out.push_str("</tr>");
    }

    pub(crate) fn end(self) -> String {
        let Self { attributes, out } = self;
        format!("<div class=\"scroll\"><table{attributes}>{out}</tbody></table></div>")
    }
}

/// A list under a title; nothing where there is no item.
pub(crate) fn list(title: &str, items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let item = |item: &str| format!("<li>{}</li>", html(item));
    let items: String = items.into_iter().map(|one| item(one.as_ref())).collect();
    match (items.as_str(), title) {
        ("", _) => String::new(),
        (items, "") => format!("<ul>{items}</ul>"),
        (items, title) => format!("<h3>{}</h3><ul>{items}</ul>", html(title)),
    }
}

/// Machine and versions: names and values.
pub(crate) fn environment(rows: &[(String, String)]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(" class=\"environment\"", "", &[]);
    for (name, value) in rows {
        table.row("", html(name), [html(value)]);
    }
    format!("<details open><summary>Environment</summary>{}</details>", table.end())
}

/// The sample of a colour.
pub(crate) fn key(Ink { color, hatched }: Ink) -> String {
    let hatched = if hatched { " hatched" } else { "" };
    format!("<i class=\"key{hatched}\" style=\"--key:{color}\"></i>")
}

/// A figure with what is to be read in it; `drawn` is absent where there is nothing to show.
pub(crate) fn figure(id: impl Display, title: &str, told: &str, drawn: Option<String>) -> String {
    let nothing = || "<p class=\"nothing\">Nothing to show here was recorded.</p>".to_owned();
    format!(
        "<figure id=\"figure-{id}\"><figcaption><h3>{}</h3><p>{}</p></figcaption>{}</figure>",
        html(title),
        html(told),
        drawn.unwrap_or_else(nothing)
    )
}

/// What all trials of a campaign share.
pub(super) fn machine(manifest: &Manifest) -> Vec<(String, String)> {
    let Manifest { host, version, started_at, .. } = manifest;
    let rows = [
        ("turnstile", version.clone()),
        ("started (UTC)", started_at.clone()),
        ("kernel", host.kernel.clone()),
        ("CPU", format!("{} x {}", host.cpus, host.cpu_model)),
        ("memory", Bytes::kib(host.memory_kib).to_string()),
    ];
    let rows = rows.into_iter().map(|(name, value)| (name.to_owned(), value));
    let sysctls = host.sysctls.iter().map(|(name, value)| (name.clone(), value.clone()));
    rows.chain(sysctls).collect()
}

/// The machine, the program and the settings of a run.
pub(super) fn conditions(manifest: &Manifest) -> Vec<(String, String)> {
    let Manifest { host, arm, program, .. } = manifest;
    let mut rows = machine(manifest);
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    let proxy = match program {
        Some(program) if program.version.is_empty() => program.name.clone(),
        Some(program) => format!("{}: {}", program.name, program.version),
        None => arm.server.kind.to_string(),
    };
    row("proxy", proxy);
    row("workers seen", manifest.visibility.words().to_owned());
    if manifest.recording == Recording::Minimal {
        row("recording", "minimal: no step, stretch or sample".to_owned());
    }
    row("CPUs of the workers", cpus(&host.worker_cpus));
    row("CPUs of the load", cpus(&host.load_cpus));
    row("withheld by the hypervisor", format!("{} ms", host.stolen_ms));
    rows.extend(buffers(manifest));
    for (name, span) in &manifest.kernel_counters {
        if span.moved() > 0 {
            rows.push((name.clone(), format!("moved by {}", span.moved())));
        }
    }
    rows
}

/// Socket buffers of every role, asked for and as the kernel keeps them.
fn buffers(manifest: &Manifest) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for process in &manifest.processes {
        for socket in &process.effective.sockets {
            let name = format!("{}: {}", process.role, socket.name);
            let value = match socket.requested {
                Some(asked) => format!("{} (asked for {asked})", socket.effective),
                None => format!("{} (left to the kernel)", socket.effective),
            };
            rows.push((name, value));
        }
    }
    rows
}

pub(super) fn faults(manifest: &Manifest) -> Vec<String> {
    let fault = |fault: &Fault| {
        format!("{} in phase {}: {}", side(fault.side), fault.phase.name(), fault.message)
    };
    manifest.faults.iter().map(fault).collect()
}

const fn side(side: Side) -> &'static str {
    match side {
        Side::Origin => "origin",
        Side::Proxy => "proxy",
        Side::Slow => "slow client",
        Side::Fast => "fast client",
        Side::Host => "this host",
    }
}

fn cpus(list: &[usize]) -> String {
    if list.is_empty() {
        return "not pinned".to_owned();
    }
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
