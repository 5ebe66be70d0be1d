//! Commands that are run to their end, and what they said.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

use records::Record;

use crate::Running;

/// What a command said that has ended.
#[derive(Clone, Debug)]
pub struct Said {
    /// The command, in words.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// All of its standard output that was not taken before.
    pub stdout: String,
    /// The same of its standard error.
    pub stderr: String,
}

impl Said {
    /// Its exit code; a death by signal has none.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// What it said, if it ended well: with exit code 0.
    #[track_caller]
    pub fn ended_well(self) -> Self {
        assert!(self.status.success(), "{}", self.all());
        self
    }

    /// What it said on its standard error, if it ended with `code` and printed nothing.
    #[track_caller]
    pub fn refused(self, code: i32) -> String {
        assert_eq!((self.code(), &*self.stdout), (Some(code), ""), "{}", self.all());
        self.stderr
    }

    /// Its standard output as records, a line each.
    #[track_caller]
    pub fn records(&self) -> Vec<Record> {
        // Who was killed may have torn its last line.
        let is_torn = |line: &&str| self.status.signal().is_some() && !line.ends_with('\n');
        self.stdout.split_inclusive('\n').filter(|line| !is_torn(line)).map(record).collect()
    }

    /// Everything, for a test that failed.
    pub fn all(&self) -> String {
        let Self { command, status, stdout, stderr } = self;
        format!("{command}: {status}\n{stdout}\n{stderr}")
    }
}

#[track_caller]
pub(crate) fn record(line: &str) -> Record {
    match Record::from_line(line) {
        Ok(record) => record,
        Err(error) => panic!("{error}: {line:?}"),
    }
}

/// Runs a command to its end, with nothing on its standard input.
#[track_caller]
pub fn say(command: &mut Command) -> Said {
    Running::start(command).finish()
}
