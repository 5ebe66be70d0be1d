//! Where threads were in their holds: stacks that the programs took, with names, gathered by turn.
//!
//! Not for: walking stacks. The kernel does that by frame pointers: of a program without them, the frames
//! beyond the innermost may be missing.

use std::collections::HashMap;
use std::fmt;

use records::{Micros, MonoNs};
use serde::{Serialize, Serializer};

use crate::engine::HELD;
use crate::symbols::Symbols;
use crate::wire::{StackSample, Thread};

/// Stacks of one hold that are told, those with the most time.
const TOLD: usize = 5;
/// Different stacks of one turn that are kept apart; more are of a turn that has none to name.
const KEPT: usize = 256;
/// Stacks of a turn that is over and was no hold are forgotten after this time.
const FORGOTTEN_NS: u64 = 1_000_000_000;

/// Where a thread was for some time of a hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stack {
    /// How long, as far as was sampled.
    pub time_us: Micros,
    /// The innermost first; those in the kernel before those of the process.
    pub frames: Vec<Frame>,
}

/// A function that was on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name; its address in hex where nothing names it.
    pub function: String,
    /// Where its code is.
    pub module: Module,
}

/// Where code is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Module {
    /// In the kernel.
    Kernel,
    /// In a file of this name.
    File(String),
    /// Made while the program ran, and named in its perf map (`/tmp/perf-PID.map`).
    Generated,
    /// Nothing says so.
    Unknown,
}

/// `clock_nanosleep (libc.so.6)`.
impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = &self.function;
        match &self.module {
            Module::Kernel => write!(f, "{function} (kernel)"),
            Module::File(file) => write!(f, "{function} ({file})"),
            Module::Generated | Module::Unknown => f.write_str(function),
        }
    }
}

/// As it is printed.
impl Serialize for Frame {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Stack {
    /// The function that says most of what the program did: the innermost that was named at run time, by an
    /// interpreter or a compiler; else the innermost with a name outside of the C library and the kernel;
    /// `None`: there is none.
    pub fn top(&self) -> Option<&Frame> {
        let is_of_program = |frame: &&Frame| match &frame.module {
            Module::File(file) => !is_c_library(file),
            Module::Kernel | Module::Generated | Module::Unknown => false,
        };
        let generated = self.frames.iter().find(|frame| frame.module == Module::Generated);
        generated.or_else(|| self.frames.iter().find(is_of_program))
    }
}

fn is_c_library(file: &str) -> bool {
    ["libc.", "libc-", "libpthread", "ld-", "[vdso]"].iter().any(|start| file.starts_with(start))
}

/// Stacks of the turns under way.
#[derive(Default)]
pub(crate) struct Stacks {
    symbols: Symbols,
    /// By thread and start of the turn.
    turns: HashMap<(u32, u64), Turn>,
}

#[derive(Default)]
struct Turn {
    last: u64,
    stacks: Vec<Stack>,
}

impl Stacks {
    /// Takes in a sample.
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
        let of = |key: &(u32, u64), turn: &mut Turn| {
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
            self.symbols = Symbols::default();
        }
    }

    fn stack(&mut self, sample: &StackSample, time: u64) -> Stack {
        let mut frames = self.symbols.kernel(&sample.kernel);
        // Of one that sleeps the innermost are the scheduler's, and ours.
        let way = frames.iter().rposition(is_scheduler).map_or(0, |last| last + 1);
        frames.drain(..way);
        frames.extend(self.symbols.process(sample.pid, &sample.user));
        Stack { time_us: Micros(time / 1_000), frames }
    }
}

fn is_scheduler(frame: &Frame) -> bool {
    matches!(&*frame.function, "schedule" | "__schedule")
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
    stacks.sort_by_key(|stack| std::cmp::Reverse(stack.time_us));
    stacks.truncate(TOLD);
    stacks
}

#[cfg(test)]
mod tests;
