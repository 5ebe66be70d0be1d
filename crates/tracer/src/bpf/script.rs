//! The script that bpftrace runs: the template with its marked places filled in.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use records::Micros;

use super::calls::{CLOSE, IN, OUT, POLLS};
use crate::tracer::Target;

/// The script in its order: the probes that tell when all are there stand first and last.
const TEMPLATE: &str = concat!(
    include_str!("script/head.bt"),
    include_str!("script/turns.bt"),
    include_str!("script/calls.bt"),
    include_str!("script/connections.bt"),
    include_str!("script/cpu.bt"),
    include_str!("script/last.bt"),
);

/// What several probes have in common, or what would make one too long to be read. The language has
/// no functions.
const PARTS: [(&str, &str); 4] = [
    ("@@WHOSE@@", include_str!("script/whose.bt")),
    ("@@RARE@@", include_str!("script/rare.bt")),
    ("@@NEXT_ASKER@@", include_str!("script/next_asker.bt")),
    ("@@END_STEP@@", include_str!("script/step_end.bt")),
];

/// Stretches and sleeps of this length are told: 5 ms, as of the mirror.
pub(super) const LONG_NS: u64 = 5_000_000;

/// Where a thread's registers lie, in bytes from the start of its stack: under its top by their size
/// (arch/x86/include/asm/processor.h: `task_pt_regs`; THREAD_SIZE without KASAN, 168 bytes).
const REGISTERS: u32 = 16_384 - 168;

/// Kernels that know FRED keep two words free above them (TOP_OF_KERNEL_STACK_PADDING).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fred {
    /// CONFIG_X86_FRED.
    Known,
    /// Not.
    Unknown,
}

/// What is filled in.
#[derive(Debug)]
pub(super) struct Script<'a> {
    /// By the host's numbers, as all that is compared.
    pub(super) targets: &'a [Target],
    /// The tracer's own process, whose calls mark when all probes are there.
    pub(super) own_pid: u32,
    pub(super) hold: Micros,
    /// A connection to one of these ports is a client's.
    pub(super) listening: &'a BTreeSet<u16>,
    pub(super) fred: Fred,
}

impl Script<'_> {
    /// The script, without its comments.
    pub(super) fn text(&self) -> String {
        let places = [
            ("@@POLL_ENTER@@", probes("sys_enter_")),
            ("@@POLL_EXIT@@", probes("sys_exit_")),
            ("@@POLLS@@", one_of("$nr", POLLS.map(|poll| poll.number))),
            ("@@TOLD_ELSEWHERE@@", self.told_elsewhere()),
            ("@@IN@@", one_of("$nr", IN)),
            ("@@OUT@@", one_of("$nr", OUT)),
            ("@@WATCHED@@", self.watched("tid")),
            ("@@LEAVES@@", self.watched("args->prev_pid")),
            ("@@COMES@@", self.watched("args->next_pid")),
            ("@@LISTENING@@", one_of("$port", self.listening.iter().copied())),
            ("@@SELF@@", self.own_pid.to_string()),
            ("@@HOLD@@", self.hold.0.saturating_mul(1_000).to_string()),
            ("@@LONG@@", LONG_NS.to_string()),
            ("@@REGS@@", self.registers().to_string()),
        ];
        let mut text = TEMPLATE.to_owned();
        for (place, part) in PARTS {
            text = text.replace(place, part);
        }
        for (place, filling) in places {
            text = text.replace(place, &filling);
        }
        without_comments(&text)
    }

    fn registers(&self) -> u32 {
        match self.fred {
            Fred::Known => REGISTERS - 16,
            Fred::Unknown => REGISTERS,
        }
    }

    fn told_elsewhere(&self) -> String {
        one_of("$nr", POLLS.map(|poll| poll.number).into_iter().chain([CLOSE]))
    }

    /// A comparison for each: a look into a map costs as much as ten of them.
    fn watched(&self, what: &str) -> String {
        one_of(what, self.targets.iter().map(|target| target.tid))
    }
}

fn one_of<N: std::fmt::Display>(what: &str, numbers: impl IntoIterator<Item = N>) -> String {
    let mut text = String::new();
    for number in numbers {
        let or = if text.is_empty() { "(" } else { " || " };
        let _ = write!(text, "{or}{what} == {number}");
    }
    if text.is_empty() { "0".into() } else { text + ")" }
}

fn probes(edge: &str) -> String {
    let probe = |poll: super::calls::Call| format!("tracepoint:syscalls:{edge}{}", poll.name);
    POLLS.map(probe).join(",\n")
}

pub(super) fn without_comments(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("/*") {
        bare.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    bare + rest
}

#[cfg(test)]
mod tests;
