//! The show in lines, where there is no terminal: one as each act begins, one every two seconds while
//! a trial runs.

use std::time::Duration;

use records::{MonoNs, Phase};

use crate::act::Act;
use crate::arm::{ArmView, Stage};
use crate::show::Show;
use crate::words;

/// What was said already.
#[derive(Clone, Debug, Default)]
pub struct Plain {
    act: Option<Act>,
    said: Option<MonoNs>,
}

/// Time between two lines about a trial.
const EVERY: Duration = Duration::from_secs(2);

impl Plain {
    /// The lines that are due at `now`, without their ends.
    pub fn lines(&mut self, show: &Show, now: MonoNs) -> Vec<String> {
        let act = show.act();
        if self.act != Some(act) {
            (self.act, self.said) = (Some(act), Some(now));
            return vec![announce(show, now)];
        }
        let due = self.said.is_none_or(|said| now.since(said) >= EVERY);
        let Some(side) = act.trial().filter(|_| due) else { return Vec::new() };
        self.said = Some(now);
        progress(show.arm(side), now).map(|line| format!("        {line}")).into_iter().collect()
    }
}

fn announce(show: &Show, now: MonoNs) -> String {
    let act = show.act();
    let (arms, _) = show.picture(now);
    let whose = match act {
        Act::Idle(side) | Act::Load(side) | Act::Result(side) => {
            format!(", {}", show.arm(side).plan().name)
        }
        Act::Opening | Act::Change | Act::Closing => String::new(),
    };
    format!(
        "[{:>4} s] {}/{} {}{whose}: {}",
        show.elapsed(now).as_secs(),
        act.number(),
        Act::ALL.len(),
        act.title(),
        words::line(act, arms)
    )
}

fn progress(arm: &ArmView, now: MonoNs) -> Option<String> {
    let Stage::Running(phase) = arm.stage() else { return None };
    let counts = if *phase <= Phase::Idle { arm.idle() } else { arm.load() };
    let mut line = format!("{}: {} good, {} failed", phase.name(), counts.good, counts.failed);
    let queued: Vec<String> = arm.queued(now).iter().map(u32::to_string).collect();
    if !queued.is_empty() {
        line += &format!("; accept queues {}", queued.join(" "));
    }
    if let Some(longest) = arm.longest() {
        line += &format!("; longest step {}", words::short(longest.length));
    }
    if let Some(rate) = arm.rate() {
        line += &format!("; downloads {rate}");
    }
    Some(line)
}
