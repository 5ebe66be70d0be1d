//! The programs in the kernel: loaded, set up, attached and taken away. Nothing is pinned: what the
//! kernel holds of them ends with their descriptors, and so with this process, however it ends.

use std::error::Error;
use std::fs;
use std::io;

use aya::maps::{Array, HashMap, Map, MapData, RingBuf};
use aya::programs::perf_event::{
    PerfEventConfig, PerfEventLinkId, PerfEventScope, SamplePolicy, SoftwareEvent,
};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, PerfEvent, ProgramError};
use aya::{Btf, Ebpf, EbpfLoader};
use records::Micros;
use rustix::io::Errno;

use crate::calls;
use crate::error::ProbeError;
use crate::wire::{self, Thread};

#[cfg(target_arch = "x86_64")]
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/probe.x86_64.o");
#[cfg(target_arch = "aarch64")]
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/probe.aarch64.o");

/// The first PID namespace has a number of its own (PROC_PID_INIT_INO, include/linux/proc_ns.h).
const FIRST_NAMESPACE: u32 = 0xEFFF_FFFC;

/// A program that samples who runs, each time that a CPU has been busy for so long. Neither time is in
/// step with anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampler {
    program: &'static str,
    pub(crate) every_ns: u64,
}

/// In which call CPU time goes: 997 Hz.
pub(crate) const SAMPLED: Sampler = Sampler { program: "sampled", every_ns: 1_003_009 };
/// Where a thread runs while it holds: 49 Hz.
pub(crate) const HELD: Sampler = Sampler { program: "held", every_ns: 20_408_163 };

/// What of a process the programs watch: all its threads, or the one of this id.
pub(crate) const ALL_THREADS: u32 = 1;
pub(crate) const ONE_THREAD: u32 = 2;

/// BPF_NOEXIST (bpf(2)): an entry of this key is not replaced.
const NO_OTHER: u64 = 1;

/// What the programs are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each return of each call.
    EveryStep,
    /// Holds of at least this length.
    Holds(Micros),
}

/// A program, and the tracepoint it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hook {
    program: &'static str,
    tracepoint: &'static str,
    /// The first Linux with the tracepoint as the program reads it.
    since: &'static str,
}

const fn hook(program: &'static str, tracepoint: &'static str, since: &'static str) -> Hook {
    Hook { program, tracepoint, since }
}

/// Always there. Its fourth argument, the state of who leaves, is there from 5.18 on.
pub(crate) const SWITCHED: Hook = hook("switched", "sched_switch", "5.18");
pub(crate) const ENDED: Hook = hook("ended", "sched_process_exit", "5.5");
/// For every step.
pub(crate) const RETURNED: Hook = hook("returned", "sys_exit", "5.5");
pub(crate) const STATED: Hook = hook("stated", "inet_sock_set_state", "5.5");
/// For holds: whose request a turn read last.
pub(crate) const RECEIVED: Hook = hook("received", "sock_recv_length", "6.3");
/// For holds, while one is suspected.
pub(crate) const ARMED: [Hook; 2] =
    [hook("exited", "sys_exit", "5.5"), hook("sent", "sock_send_length", "6.3")];

/// The programs of one watch.
#[derive(Debug)]
pub(crate) struct Engine {
    bpf: Ebpf,
}

impl Engine {
    /// Loads the programs of `hooks`; none is attached yet. (The kernel's types, which take 20 MiB, are
    /// not kept.)
    pub(crate) fn load(way: Way, hooks: &[Hook]) -> Result<Self, ProbeError> {
        let btf =
            Btf::from_sys_fs().map_err(|source| ProbeError::NoBtf { source: source.into() })?;
        let (every, threshold, ring) = match way {
            Way::EveryStep => (1_u32, 0, 1 << 24),
            Way::Holds(threshold) => (0, threshold.0.saturating_mul(1_000), 1 << 20),
        };
        let namespace = namespace()?;
        let mut bpf = EbpfLoader::new()
            .btf(Some(&btf))
            .override_global("every", &every, true)
            .override_global("ns_inum", &namespace, true)
            .override_global("threshold", &threshold, true)
            .map_max_entries("ring", ring)
            .load(OBJECT)
            .map_err(|source| refused("load the probe", source))?;
        let map = bpf.map_mut("classes").ok_or(ProbeError::Object { lacks: "classes" })?;
        let mut classes: Array<_, u32> = map.try_into().map_err(|e| refused("set it up", e))?;
        for (number, class) in calls::classes() {
            classes.set(number, class as u32, 0).map_err(|e| refused("set it up", e))?;
        }
        for hook in hooks {
            prepare(&mut bpf, *hook, &btf)?;
        }
        Ok(Self { bpf })
    }

    /// Attaches a program until [`Engine::detach`], or for as long as the engine lives.
    pub(crate) fn attach(&mut self, hook: Hook) -> Result<BtfTracePointLinkId, ProbeError> {
        program(&mut self.bpf, hook)?.attach().map_err(|e| refused("attach a program", e))
    }

    /// Takes a program away again.
    pub(crate) fn detach(
        &mut self,
        hook: Hook,
        link: BtfTracePointLinkId,
    ) -> Result<(), ProbeError> {
        program(&mut self.bpf, hook)?.detach(link).map_err(|e| refused("take a program away", e))
    }

    /// Loads a program that samples who runs; it is not attached yet.
    pub(crate) fn load_sampler(&mut self, sampler: Sampler) -> Result<(), ProbeError> {
        self.sampler(sampler)?.load().map_err(|e| unloaded(sampler.program, e))
    }

    /// Runs it on all CPUs until [`Engine::detach_sampler`], or for as long as the engine lives.
    pub(crate) fn attach_sampler(
        &mut self,
        sampler: Sampler,
    ) -> Result<Vec<PerfEventLinkId>, ProbeError> {
        let program = self.sampler(sampler)?;
        let cpus = aya::util::online_cpus()
            .map_err(|(path, source)| ProbeError::Proc { path: path.to_owned(), source })?;
        let attach = |cpu| {
            let config = PerfEventConfig::Software(SoftwareEvent::CpuClock);
            let scope = PerfEventScope::AllProcessesOneCpu { cpu };
            program
                .attach(config, scope, SamplePolicy::Period(sampler.every_ns), false)
                .map_err(|e| refused("sample CPU time", e))
        };
        cpus.into_iter().map(attach).collect()
    }

    /// Takes it away again.
    pub(crate) fn detach_sampler(
        &mut self,
        sampler: Sampler,
        links: Vec<PerfEventLinkId>,
    ) -> Result<(), ProbeError> {
        let program = self.sampler(sampler)?;
        for link in links {
            program.detach(link).map_err(|e| refused("take a program away", e))?;
        }
        Ok(())
    }

    fn sampler(&mut self, sampler: Sampler) -> Result<&mut PerfEvent, ProbeError> {
        let lacks = sampler.program;
        let program = self.bpf.program_mut(lacks).ok_or(ProbeError::Object { lacks })?;
        program.try_into().map_err(|e| refused("find a program", e))
    }

    fn take(&mut self, lacks: &'static str) -> Result<Map, ProbeError> {
        self.bpf.take_map(lacks).ok_or(ProbeError::Object { lacks })
    }

    /// What the programs tell.
    pub(crate) fn told(&mut self) -> Result<Told, ProbeError> {
        let ring = self.take("ring")?.try_into().map_err(|e| refused("read the ring", e))?;
        Ok(Told { ring, threads: self.table("threads")?, lost: self.value("lost")? })
    }

    /// A table by key, of values as the kernel lays them out.
    pub(crate) fn table<K: aya::Pod, const N: usize>(
        &mut self,
        name: &'static str,
    ) -> Result<HashMap<MapData, K, [u8; N]>, ProbeError> {
        self.take(name)?.try_into().map_err(|e| refused("read a table", e))
    }

    /// A single value.
    pub(crate) fn value<const N: usize>(
        &mut self,
        name: &'static str,
    ) -> Result<Array<MapData, [u8; N]>, ProbeError> {
        self.take(name)?.try_into().map_err(|e| refused("read a table", e))
    }
}

/// What the programs tell: events in a ring, threads in a table.
pub(crate) struct Told {
    pub(crate) ring: RingBuf<MapData>,
    threads: HashMap<MapData, u32, [u8; wire::THREAD]>,
    lost: Array<MapData, [u8; 8]>,
}

impl Told {
    /// The threads as they are now, by the kernel's own ids. One that ends meanwhile is left out.
    pub(crate) fn threads(&self) -> Vec<(u32, Thread)> {
        let hosts = self.threads.keys().filter_map(Result::ok);
        hosts
            .filter_map(|host| Some((host, Thread::read(&self.threads.get(&host, 0).ok()?))))
            .collect()
    }

    /// Puts a thread into the table in the place of what was known of it. Not if the kernel has seen it
    /// once more meanwhile.
    pub(crate) fn place(&mut self, host: u32, thread: &[u8; wire::THREAD]) -> bool {
        let _ = self.threads.remove(&host);
        self.threads.insert(host, thread, NO_OTHER).is_ok()
    }

    /// Events that did not fit into the ring, since the beginning.
    pub(crate) fn lost(&self) -> Result<u64, ProbeError> {
        let lost = self.lost.get(&0, 0).map_err(|e| refused("read a table", e))?;
        Ok(u64::from_ne_bytes(lost))
    }
}

fn prepare(bpf: &mut Ebpf, hook: Hook, btf: &Btf) -> Result<(), ProbeError> {
    let loaded = program(bpf, hook)?.load(hook.tracepoint, btf);
    loaded.map_err(|source| match unloaded(hook.program, source) {
        ProbeError::Bpf { source, .. } if is_unknown(source.as_ref()) => {
            ProbeError::TooOld { hook: hook.tracepoint, since: hook.since, source }
        }
        other => other,
    })
}

/// Why a program could not be loaded. The verifier says no with EACCES, EINVAL and others, in many lines of
/// which the last tells why; who has no right to load any is told EPERM (bpf(2)).
fn unloaded(program: &'static str, error: ProgramError) -> ProbeError {
    match error {
        ProgramError::LoadError { io_error, verifier_log }
            if io_error.raw_os_error() != Some(Errno::PERM.raw_os_error()) =>
        {
            let log = verifier_log.to_string();
            let sums = ["processed ", "verification time ", "stack depth "];
            let is_reason =
                |line: &&str| !line.is_empty() && !sums.iter().any(|sum| line.starts_with(sum));
            let reason = log.lines().rev().find(is_reason).unwrap_or("no reason").to_owned();
            ProbeError::Rejected { program, reason, source: io_error }
        }
        error => refused("load a program", error),
    }
}

fn program(bpf: &mut Ebpf, hook: Hook) -> Result<&mut BtfTracePoint, ProbeError> {
    let program =
        bpf.program_mut(hook.program).ok_or(ProbeError::Object { lacks: hook.program })?;
    program.try_into().map_err(|e| refused("find a program", e))
}

/// The PID namespace whose numbers are asked for: this process's own; 0: the first.
pub(crate) fn namespace() -> Result<u32, ProbeError> {
    let path = "/proc/self/ns/pid";
    let failed = |source| ProbeError::Proc { path: path.to_owned(), source };
    let link = fs::read_link(path).map_err(failed)?;
    let number = link
        .to_str()
        .and_then(|text| text.strip_prefix("pid:[")?.strip_suffix(']')?.parse::<u32>().ok());
    match number {
        Some(FIRST_NAMESPACE) => Ok(0),
        Some(number) => Ok(number),
        None => Err(failed(io::ErrorKind::InvalidData.into())),
    }
}

/// What the kernel said no to, and what would help.
pub(crate) fn refused(
    what: &'static str,
    source: impl Error + Send + Sync + 'static,
) -> ProbeError {
    let denied = errors(&source)
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::PermissionDenied);
    let source = source.into();
    if denied {
        let program = std::env::current_exe().unwrap_or_default().display().to_string();
        ProbeError::NoRights { program, source }
    } else {
        ProbeError::Bpf { what, source }
    }
}

/// Whether the kernel's types do not have what was looked for.
fn is_unknown(error: &(dyn Error + 'static)) -> bool {
    errors(error)
        .filter_map(|error| error.downcast_ref::<aya::BtfError>())
        .any(|error| matches!(error, aya::BtfError::UnknownBtfTypeName { .. }))
}

fn errors<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}
