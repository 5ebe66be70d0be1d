//! What all trials of a campaign share: noted in its journal when it begins, and held against what is
//! here now before it goes on. Trials of two programs or of two machines in one arm would be compared
//! as if they were of one.
//!
//! Not for: what a trial notes of its machine; its manifest has that.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use jiff::Timestamp;
use net::cpu::CpuList;
use serde::{Deserialize, Serialize};

use super::arm::ArmSpec;
use crate::roles::program_path;
use crate::trial::host;

#[cfg(test)]
mod tests;

/// The programs and the machine. What cannot be read is empty, then and now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// Version of `turnstile`.
    pub version: String,
    /// Its executable, which is the mirror's too.
    pub turnstile: Option<Executable>,
    /// The foreign programs of the arms, as far as they are known before they run, by path.
    pub programs: BTreeMap<String, Executable>,
    /// What the kernel calls the time since it was booted: random(4), `boot_id`. No two hosts share
    /// one.
    pub boot: String,
    /// `uname -r`.
    pub kernel: String,
    /// CPU model.
    pub cpu_model: String,
    /// CPUs online.
    pub cpus: usize,
    /// Those of them that may be used, as `0,1`.
    pub allowed_cpus: String,
    /// Settings of the kernel that bear on the effect: [`host::SYSCTLS`].
    pub sysctls: BTreeMap<String, String>,
}

/// A file that is run, as far as it tells one build from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executable {
    /// Its size.
    pub bytes: u64,
    /// When it was written: UTC, ISO 8601.
    pub modified: String,
}

impl Conditions {
    /// Those of this process and of the programs that `arms` name.
    pub fn here(arms: &[ArmSpec]) -> Self {
        let allowed = net::cpu::allowed().ok().and_then(CpuList::new);
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            // The one that runs, also after its file was replaced: proc(5).
            turnstile: Executable::of(Path::new("/proc/self/exe")),
            programs: arms.iter().filter_map(program).collect(),
            boot: host::sysctl("kernel.random.boot_id").unwrap_or_default(),
            kernel: host::kernel().unwrap_or_default(),
            cpu_model: host::cpu_model().unwrap_or_default(),
            cpus: host::online_cpus(),
            allowed_cpus: allowed.map(|cpus| cpus.to_string()).unwrap_or_default(),
            sysctls: host::sysctls(),
        }
    }

    /// In what `now` differs from these, each as `kernel was 6.1, is 6.2`; empty: in nothing.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let facts = [self.facts(), now.facts()];
        let names: BTreeSet<&String> = facts.iter().flat_map(BTreeMap::keys).collect();
        let differs = |name: &String| {
            let [then, now] =
                facts.each_ref().map(|of| of.get(name).map_or("not known", String::as_str));
            (then != now).then(|| format!("{name} was {then}, is {now}"))
        };
        let mut found: Vec<String> = names.into_iter().filter_map(differs).collect();
        if self.boot != now.boot {
            found.push("this is another host, or it was booted since".to_owned());
        }
        found
    }

    /// All but the boot, by the name that people know it by.
    fn facts(&self) -> BTreeMap<String, String> {
        let Self { version, turnstile, programs, kernel, cpu_model, cpus, sysctls, .. } = self;
        let mut facts = sysctls.clone();
        let mut add = |name: &str, fact: &dyn fmt::Display| {
            facts.insert(name.to_owned(), fact.to_string());
        };
        add("turnstile", version);
        if let Some(executable) = turnstile {
            add("turnstile's executable", executable);
        }
        for (path, executable) in programs {
            add(path, executable);
        }
        add("kernel", kernel);
        add("CPU", cpu_model);
        add("number of CPUs", cpus);
        add("CPUs that may be used", &self.allowed_cpus);
        facts
    }
}

impl Executable {
    /// That of a file; `None`: it cannot be looked at.
    fn of(path: &Path) -> Option<Self> {
        let about = fs::metadata(path).ok()?;
        let modified = about.modified().ok().and_then(|time| Timestamp::try_from(time).ok())?;
        Some(Self { bytes: about.len(), modified: modified.to_string() })
    }
}

impl fmt::Display for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {}", self.bytes, self.modified)
    }
}

/// The foreign program of an arm, if it is known which one will run.
fn program(arm: &ArmSpec) -> Option<(String, Executable)> {
    let peer = arm.options().ok()?.toggles.peer;
    let path = program_path(&peer.proxy, peer.proxy_bin.as_deref())?;
    let executable = Executable::of(&path)?;
    Some((path.display().to_string(), executable))
}
