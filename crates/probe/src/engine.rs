//! The programs in the kernel: loaded, set up, attached and taken away. Nothing is pinned: what the
//! kernel holds of them ends with their descriptors, and so with this process, however it ends.

use std::fs;
use std::io;

use aya::maps::{Array, HashMap, Map, MapData, MapError, RingBuf};
use aya::programs::perf_event::{
    PerfEventConfig, PerfEventLink, PerfEventScope, SamplePolicy, SoftwareEvent,
};
use aya::programs::tp_btf::BtfTracePointLink;
use aya::programs::{BtfTracePoint, PerfEvent, Program, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfLoader, Pod};
use records::Micros;
use rustix::io::Errno;
use zerocopy::{FromBytes, IntoBytes};

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
    /// Loads the programs of `hooks`; none is attached yet.
    pub(crate) fn load(way: Way, hooks: &[Hook]) -> Result<Self, ProbeError> {
        if let Err(error) = fs::metadata("/sys/kernel/btf/vmlinux") {
            return Err(ProbeError::NoBtf { source: error.into() });
        }
        let (every, threshold, ring) = match way {
            Way::EveryStep => (1_u32, 0, 1 << 24),
            Way::Holds(threshold) => (0, threshold.0.saturating_mul(1_000), 1 << 20),
        };
        let namespace = namespace()?;
        let bpf = EbpfLoader::new()
            .override_global("every", &every, true)
            .override_global("ns_inum", &namespace, true)
            .override_global("threshold", &threshold, true)
            .map_max_entries("ring", ring)
            .load(OBJECT)
            .map_err(ProbeError::refused("load the probe"))?;
        let mut engine = Self { bpf };
        let mut classes: Array<_, u32> = engine.map("classes")?;
        for (number, class) in calls::classes() {
            classes.set(number, class as u32, 0).map_err(ProbeError::refused("set it up"))?;
        }
        // The loader has read the kernel's types as well, and dropped them: they take 20 MiB.
        let types =
            Btf::from_sys_fs().map_err(|source| ProbeError::NoBtf { source: source.into() })?;
        for hook in hooks {
            engine.prepare(*hook, &types)?;
        }
        Ok(engine)
    }

    fn prepare(&mut self, hook: Hook, types: &Btf) -> Result<(), ProbeError> {
        let program: &mut BtfTracePoint = self.program(hook.program)?;
        program.load(hook.tracepoint, types).map_err(|error| match error {
            ProgramError::Btf(source @ BtfError::UnknownBtfTypeName { .. }) => ProbeError::TooOld {
                hook: hook.tracepoint,
                since: hook.since,
                source: source.into(),
            },
            other => unloaded(hook.program, other),
        })
    }

    /// Attaches a program for as long as what is returned lives.
    pub(crate) fn attach(&mut self, hook: Hook) -> Result<BtfTracePointLink, ProbeError> {
        let program: &mut BtfTracePoint = self.program(hook.program)?;
        let attached = program.attach().and_then(|link| program.take_link(link));
        attached.map_err(ProbeError::refused("attach a program"))
    }

    /// Loads a program that samples who runs; it is not attached yet.
    pub(crate) fn load_sampler(&mut self, sampler: Sampler) -> Result<(), ProbeError> {
        let program: &mut PerfEvent = self.program(sampler.program)?;
        program.load().map_err(|error| unloaded(sampler.program, error))
    }

    /// Runs it on all CPUs for as long as what is returned lives.
    pub(crate) fn attach_sampler(
        &mut self,
        sampler: Sampler,
    ) -> Result<Vec<PerfEventLink>, ProbeError> {
        let program: &mut PerfEvent = self.program(sampler.program)?;
        let cpus = aya::util::online_cpus()
            .map_err(|(path, source)| ProbeError::host(format!("read {path}"))(source))?;
        let attach = |cpu| {
            let config = PerfEventConfig::Software(SoftwareEvent::CpuClock);
            let scope = PerfEventScope::AllProcessesOneCpu { cpu };
            let every = SamplePolicy::Period(sampler.every_ns);
            let attached = program.attach(config, scope, every, false);
            attached
                .and_then(|link| program.take_link(link))
                .map_err(ProbeError::refused("sample CPU time"))
        };
        cpus.into_iter().map(attach).collect()
    }

    fn program<'a, P>(&'a mut self, name: &'static str) -> Result<&'a mut P, ProbeError>
    where
        &'a mut P: TryFrom<&'a mut Program, Error = ProgramError>,
    {
        let program = self.bpf.program_mut(name).ok_or_else(|| lacks(name))?;
        program.try_into().map_err(ProbeError::refused("find a program"))
    }

    /// A table of the programs, once.
    pub(crate) fn map<M: TryFrom<Map, Error = MapError>>(
        &mut self,
        name: &'static str,
    ) -> Result<M, ProbeError> {
        let map = self.bpf.take_map(name).ok_or_else(|| lacks(name))?;
        map.try_into().map_err(ProbeError::refused("find a table"))
    }

    /// What the programs tell, once.
    pub(crate) fn told(&mut self) -> Result<Told, ProbeError> {
        Ok(Told { ring: self.map("ring")?, threads: self.map("threads")?, lost: self.map("lost")? })
    }
}

/// What the programs tell: events in a ring, threads in a table.
pub(crate) struct Told {
    pub(crate) ring: RingBuf<MapData>,
    threads: HashMap<MapData, u32, [u8; wire::THREAD]>,
    lost: Array<MapData, u64>,
}

impl Told {
    /// The threads as they are now, by the kernel's own ids. One that ends meanwhile is left out.
    pub(crate) fn threads(&self) -> Vec<(u32, Thread)> {
        let hosts = self.threads.keys().filter_map(Result::ok);
        let thread = |host| Thread::read_from_bytes(&self.threads.get(&host, 0).ok()?).ok();
        hosts.filter_map(|host| Some((host, thread(host)?))).collect()
    }

    /// Puts a thread into the table in the place of what was known of it. Not if the kernel has seen it
    /// once more meanwhile.
    pub(crate) fn place(&mut self, host: u32, thread: &Thread) -> bool {
        let _ = self.threads.remove(&host);
        let bytes = <[u8; wire::THREAD]>::try_from(thread.as_bytes());
        bytes.is_ok_and(|bytes| self.threads.insert(host, bytes, NO_OTHER).is_ok())
    }

    /// Events that did not fit into the ring, since the beginning.
    pub(crate) fn lost(&self) -> Result<u64, ProbeError> {
        only(&self.lost)
    }
}

/// The one value of a table.
pub(crate) fn only<V: Pod>(table: &Array<MapData, V>) -> Result<V, ProbeError> {
    table.get(&0, 0).map_err(ProbeError::refused("read a table"))
}

fn lacks(name: &'static str) -> ProbeError {
    ProbeError::host("find a part of the probe")(io::Error::other(name))
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
        error => ProbeError::refused("load a program")(error),
    }
}

/// The PID namespace whose numbers are asked for: this process's own; 0: the first.
pub(crate) fn namespace() -> Result<u32, ProbeError> {
    let failed = || ProbeError::host("read /proc/self/ns/pid");
    let link = fs::read_link("/proc/self/ns/pid").map_err(failed())?;
    let number = link.to_str().and_then(|text| text.strip_prefix("pid:[")?.strip_suffix(']'));
    let number: Option<u32> = number.and_then(|number| number.parse().ok());
    let number = number.ok_or_else(|| failed()(io::ErrorKind::InvalidData.into()))?;
    Ok(if number == FIRST_NAMESPACE { 0 } else { number })
}
