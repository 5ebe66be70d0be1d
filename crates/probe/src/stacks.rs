//! Where threads were in their holds: stacks that the programs took, gathered by turn, with names by the
//! symbols of files, perf maps and the kernel.
//!
//! Not for: walking stacks. The kernel does that by frame pointers: of a program without them, the frames
//! beyond the innermost may be missing.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use blazesym::symbolize::source::{Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use blazesym::{MaybeDefault, Pid};
use records::{Micros, MonoNs};

use crate::engine::HELD;
use crate::hold::{Frame, Module, Stack};
use crate::wire::{StackSample, Thread};

/// Stacks of one hold that are told, those with the most time.
const TOLD: usize = 5;
/// Different stacks of one turn that are kept apart; more are of a turn that has none to name.
const KEPT: usize = 256;
/// Stacks of a turn that is over and was no hold are forgotten after this time.
const FORGOTTEN_NS: u64 = 1_000_000_000;

/// Stacks of turns that last, or whose end was not told yet.
#[derive(Default)]
pub(crate) struct Stacks {
    /// What was read of files stays until this is dropped.
    symbols: Symbolizer,
    /// By thread and start.
    turns: HashMap<(u32, u64), Gathered>,
}

/// Of one turn.
#[derive(Default)]
struct Gathered {
    stacks: Vec<Stack>,
    /// When the last was taken.
    last: u64,
}

impl Stacks {
    /// Takes in a sample: of who runs, or of a sleep that is over.
    pub(crate) fn take(&mut self, sample: &StackSample) {
        let time = if sample.slept > 0 { sample.slept } else { HELD.every_ns };
        let stack = self.stack(sample, time);
        let turn = self.turns.entry((sample.tid, sample.began)).or_default();
        turn.last = turn.last.max(sample.at + sample.slept);
        add(&mut turn.stacks, stack);
    }

    /// Those of the turn that a thread is in, with the sleep that it is in: `asleep`.
    pub(crate) fn open(
        &mut self,
        thread: &Thread,
        asleep: Option<&StackSample>,
        now: u64,
    ) -> Vec<Stack> {
        let turn = self.turns.get(&(thread.tid, thread.began));
        let mut stacks = turn.map(|turn| turn.stacks.clone()).unwrap_or_default();
        if let Some(sample) = asleep {
            let stack = self.stack(sample, now.saturating_sub(sample.at));
            add(&mut stacks, stack);
        }
        told(stacks)
    }

    /// Those of a turn that has ended.
    pub(crate) fn closed(&mut self, tid: u32, began: u64, ended: u64) -> Vec<Stack> {
        let of = |key: &(u32, u64), turn: &mut Gathered| {
            key.0 == tid && (began..=ended).contains(&turn.last)
        };
        told(self.turns.extract_if(of).flat_map(|(_, turn)| turn.stacks).collect())
    }

    /// Forgets the turns that are over and were no holds; where none is left, the names as well, which
    /// take many MiB.
    pub(crate) fn forget(&mut self, threads: &[(u32, Thread)], now: MonoNs) {
        if self.turns.is_empty() {
            return;
        }
        let lasts =
            |key: &(u32, u64)| threads.iter().any(|(_, thread)| (thread.tid, thread.began) == *key);
        self.turns.retain(|key, turn| now.0.saturating_sub(turn.last) < FORGOTTEN_NS || lasts(key));
        if self.turns.is_empty() {
            self.symbols = Symbolizer::default();
        }
    }

    fn stack(&self, sample: &StackSample, time: u64) -> Stack {
        // None are named where this user may not see the kernel's addresses.
        let kernel = Kernel { vmlinux: MaybeDefault::None, debug_syms: false, ..Kernel::default() };
        let mut frames = self.named(&Source::Kernel(kernel), sample.kernel());
        frames.retain(|frame| frame.module != Module::Unknown);
        // Of one that sleeps the innermost are the scheduler's, and ours.
        let is_scheduler = |frame: &Frame| matches!(&*frame.function, "schedule" | "__schedule");
        let way = frames.iter().rposition(is_scheduler).map_or(0, |last| last + 1);
        frames.drain(..way);
        frames.iter_mut().for_each(|frame| frame.module = Module::Kernel);
        // Files by the kernel's own links to them are right in every mount namespace, and need
        // CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE (proc_pid_map_files(5)); by their paths, neither. None
        // are named where this user may not see its files, or it has ended.
        let named = [true, false].into_iter().find_map(|map_files| {
            let pid = Pid::from(sample.pid);
            let process = Process { debug_syms: false, map_files, ..Process::new(pid) };
            let named = self.named(&Source::Process(process), sample.user());
            named.iter().any(|frame| frame.module != Module::Unknown).then_some(named)
        });
        frames.extend(named.unwrap_or_default());
        Stack { time_us: Micros(time / 1_000), frames }
    }

    fn named(&self, source: &Source<'_>, addresses: &[u64]) -> Vec<Frame> {
        if addresses.is_empty() {
            return Vec::new();
        }
        let named = self.symbols.symbolize(source, Input::AbsAddr(addresses)).unwrap_or_default();
        addresses.iter().zip(&named).map(frame).collect()
    }
}

fn frame((address, symbol): (&u64, &Symbolized<'_>)) -> Frame {
    let Some(symbol) = symbol.as_sym() else {
        return Frame { function: format!("{address:#x}"), module: Module::Unknown };
    };
    // Only symbols of a perf map, and the kernel's, have no file.
    let module = symbol.module.as_ref().map_or(Module::Generated, |module| {
        let path = Path::new(&**module);
        let name = path.file_name().unwrap_or(path.as_os_str());
        Module::File(name.to_string_lossy().into_owned())
    });
    Frame { function: symbol.name.to_string(), module }
}

fn add(stacks: &mut Vec<Stack>, stack: Stack) {
    if stack.frames.is_empty() {
        return;
    }
    if let Some(known) = stacks.iter_mut().find(|known| known.frames == stack.frames) {
        known.time_us = Micros(known.time_us.0.saturating_add(stack.time_us.0));
    } else if stacks.len() < KEPT {
        stacks.push(stack);
    }
}

/// Those with the most time, this first.
fn told(mut stacks: Vec<Stack>) -> Vec<Stack> {
    stacks.sort_by_key(|stack| Reverse(stack.time_us));
    stacks.truncate(TOLD);
    stacks
}

#[cfg(test)]
mod tests;
