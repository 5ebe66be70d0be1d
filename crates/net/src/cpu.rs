//! Which CPUs a thread may run on: `sched_setaffinity(2)`.

use std::fmt;
use std::io;
use std::str::FromStr;

use records::ParseUnitError;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// CPU numbers, written `0`, `0,2` or `0-3`. Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<usize>", try_from = "Vec<usize>")]
pub struct CpuList(Vec<usize>);

impl CpuList {
    /// The CPUs in `cpus`, in that order; `None` when there are none.
    pub fn new(cpus: Vec<usize>) -> Option<Self> {
        (!cpus.is_empty()).then_some(Self(cpus))
    }

    /// The CPU for the `index`-th thread, going round.
    pub fn in_turn(&self, index: usize) -> usize {
        self.0.get(index % self.0.len()).copied().unwrap_or(0)
    }

    /// The CPU numbers.
    pub fn as_slice(&self) -> &[usize] {
        &self.0
    }
}

fn no_list(text: &str) -> ParseUnitError {
    ParseUnitError::new(text, "a list of CPUs", "0, 0,2 or 0-3")
}

impl From<CpuList> for Vec<usize> {
    fn from(list: CpuList) -> Self {
        list.0
    }
}

impl TryFrom<Vec<usize>> for CpuList {
    type Error = ParseUnitError;
    fn try_from(cpus: Vec<usize>) -> Result<Self, Self::Error> {
        Self::new(cpus).ok_or_else(|| no_list(""))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.pad(&list.join(","))
    }
}

impl FromStr for CpuList {
    type Err = ParseUnitError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || no_list(text);
        let number = |text: &str| {
            text.trim().parse::<usize>().ok().filter(|&cpu| cpu < CpuSet::MAX_CPU).ok_or_else(wrong)
        };
        let mut cpus = Vec::new();
        for part in text.split(',') {
            match part.split_once('-') {
                None => cpus.push(number(part)?),
                Some((first, last)) => cpus.extend(number(first)?..=number(last)?),
            }
        }
        Self::new(cpus).ok_or_else(wrong)
    }
}

/// The CPUs the calling thread may run on.
///
/// # Errors
/// As `sched_getaffinity(2)`.
pub fn allowed() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

/// Puts the calling thread on `cpus`; threads it starts later inherit that.
///
/// # Errors
/// None of them is there or allowed (EINVAL), as `sched_setaffinity(2)`; the message names those that
/// are.
pub fn pin_current_thread(cpus: &[usize]) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|&cpu| set.set(cpu));
    sched_setaffinity(None, &set).map_err(|errno| {
        let source = io::Error::from(errno);
        let list = |cpus: &[usize]| CpuList(cpus.to_vec());
        let allowed = allowed().map(|cpus| format!("; this process may run on {}", list(&cpus)));
        let message =
            format!("cannot run on CPUs {}: {source}{}", list(cpus), allowed.unwrap_or_default());
        io::Error::new(source.kind(), message)
    })
}
