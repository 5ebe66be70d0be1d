//! The faults, as data: what is broken on purpose, and what the explanation must name.

use records::Cause;

use crate::helper::Helper;

/// A fault, or two at once.
pub(crate) struct Fault {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// The causes that must be named before all others.
    pub(crate) causes: &'static [Cause],
    /// What `turnstile` is told beyond the lengths of the phases; `WORKERS` is the workers' CPU.
    pub(crate) args: &'static str,
    /// What runs beside it from the measure phase on.
    pub(crate) helper: Helper,
}

/// Every fault of the bench. All run on two CPUs: workers on the first, load on the second.
pub(crate) const FAULTS: [Fault; 12] = [
    Fault {
        name: "a proxy that drains",
        causes: &[Cause::HeldByStep],
        args: "--reuseport",
        helper: Helper::None,
    },
    Fault {
        name: "32 downloads, a quota of 64 KiB",
        causes: &[Cause::Convoy],
        args: "--reuseport --slow 32 --read-policy bytes:64KiB",
        helper: Helper::None,
    },
    Fault {
        name: "200 connections at once, one accept a turn",
        causes: &[Cause::AcceptQueue],
        args: "--reuseport --slow 8 --read-policy bytes:256KiB --burst 200 --arrivals 1/s \
               --fetch-size 1KiB",
        helper: Helper::None,
    },
    Fault {
        name: "a backlog of 1 behind a draining worker",
        causes: &[Cause::BacklogOverflow],
        args: "--reuseport --backlog 1 --arrivals 40/s",
        helper: Helper::None,
    },
    Fault {
        name: "busy loops on the workers' CPU",
        causes: &[Cause::OffCpuRunnable],
        // Ten a second are too few: one that another process delayed would be most of the late time.
        args: "--slow 0 --reuseport --arrivals 40/s",
        helper: Helper::HogsOnWorkers,
    },
    Fault {
        name: "a log whose reader is slow",
        causes: &[Cause::OffCpuBlocked],
        args: "--slow 0 --reuseport --log-mode inline --arrivals 100/s --fetch-size 40KiB",
        helper: Helper::SlowLog,
    },
    Fault {
        name: "an origin that delays 300 ms",
        causes: &[Cause::Upstream],
        args: "--slow 0 --delay 300ms",
        helper: Helper::None,
    },
    Fault {
        name: "an origin of 5 workers, 100 requests",
        causes: &[Cause::Upstream],
        args: "--slow 0 --delay 20ms --origin-workers 5 --burst 100 --arrivals 1/s \
               --fetch-size 40KiB",
        helper: Helper::None,
    },
    Fault {
        name: "a fetch too large for its cap",
        causes: &[Cause::OwnTransfer],
        args: "--slow 0 --fetch-size 4GiB --arrivals 1/s",
        helper: Helper::None,
    },
    Fault {
        name: "busy loops on the client's CPU",
        causes: &[Cause::Client],
        args: "--slow 0 --cpus origin=WORKERS --arrivals 80/s",
        helper: Helper::HogsOnLoad,
    },
    Fault {
        name: "two: a backlog of 3, a draining worker",
        causes: &[Cause::BacklogOverflow, Cause::HeldByStep],
        args: "--reuseport --backlog 3 --arrivals 40/s",
        helper: Helper::None,
    },
    Fault {
        name: "two: an origin that delays 700 ms, busy loops on the workers' CPU",
        causes: &[Cause::Upstream, Cause::OffCpuRunnable],
        args: "--slow 0 --delay 700ms",
        helper: Helper::HogsOnWorkers,
    },
];
