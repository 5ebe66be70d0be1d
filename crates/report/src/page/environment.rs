//! The machine, the program and the settings, as rows of a table.

use records::{Manifest, Recording};

/// What all trials of a campaign share.
pub(super) fn machine(manifest: &Manifest) -> Vec<(String, String)> {
    let Manifest { host, version, started_at, .. } = manifest;
    let rows = [
        ("turnstile", version.clone()),
        ("started (UTC)", started_at.clone()),
        ("kernel", host.kernel.clone()),
        ("CPU", format!("{} x {}", host.cpus, host.cpu_model)),
        ("memory", records::Bytes::kib(host.memory_kib).to_string()),
    ];
    let rows = rows.into_iter().map(|(name, value)| (name.to_owned(), value));
    let sysctls = host.sysctls.iter().map(|(name, value)| (name.clone(), value.clone()));
    rows.chain(sysctls).collect()
}

pub(super) fn rows(manifest: &Manifest) -> Vec<(String, String)> {
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
    let fault = |fault: &records::Fault| {
        format!("{} in phase {}: {}", side(fault.side), fault.phase.name(), fault.message)
    };
    manifest.faults.iter().map(fault).collect()
}

const fn side(side: records::Side) -> &'static str {
    match side {
        records::Side::Origin => "origin",
        records::Side::Proxy => "proxy",
        records::Side::Slow => "slow client",
        records::Side::Fast => "fast client",
        records::Side::Host => "this host",
    }
}

fn cpus(list: &[usize]) -> String {
    if list.is_empty() {
        return "not pinned".to_owned();
    }
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
