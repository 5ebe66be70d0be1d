//! `turnstile doctor`: what this machine can show, what it cannot, and what to do about it.
//!
//! Each check is a pure function of what was read, so that every answer can be tested; reading
//! stands in `facts`.
//!
//! Not for: what a trial says by itself when it starts, as a directory that cannot be written.
//!
//! Invariant: nothing on the machine is changed.

mod checks;
mod facts;

use std::process::ExitCode;

use anyhow::Context;
use serde::Serialize;

use crate::output::print;
use facts::Facts;

#[cfg(test)]
mod tests;

/// How to tell the findings.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  turnstile doctor
  turnstile doctor --json | jq '.[] | select(.level != \"ok\")'

Exit codes: 0 every check could be made, whatever it found; 1 one could not.")]
pub struct DoctorOptions {
    /// Print the findings as JSON
    #[arg(long)]
    pub json: bool,
}

/// The answer of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which check, for programs.
    pub check: &'static str,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub finding: String,
    /// What that means for a trial.
    pub meaning: String,
    /// What to do, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// As it should be.
    Ok,
    /// Trials run, and some of what they show differs.
    Note,
    /// Trials cannot run, or prove nothing.
    Problem,
    /// The check could not be made.
    Unknown,
}

impl Level {
    /// The word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
            Self::Unknown => "unknown",
        }
    }
}

/// Makes every check and prints the findings.
///
/// # Errors
/// Standard output cannot be written.
pub fn doctor(options: &DoctorOptions) -> anyhow::Result<ExitCode> {
    let findings = checks::all(&Facts::read());
    let text = if options.json {
        serde_json::to_string_pretty(&findings).context("failed to write JSON")? + "\n"
    } else {
        text(&findings)
    };
    print(text.as_bytes()).context("failed to print the findings")?;
    let unknown = findings.iter().any(|finding| finding.level == Level::Unknown);
    Ok(if unknown { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Three lines a finding: what, what it means, what to do.
fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { check, level, finding, meaning, advice } in findings {
        text += &format!("{:8} {check}: {finding}\n         {meaning}\n", level.name());
        if let Some(advice) = advice {
            text += &format!("         -> {advice}\n");
        }
    }
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    text + &format!(
        "{} checks: ok {}, note {}, problem {}, unknown {}\n",
        findings.len(),
        count(Level::Ok),
        count(Level::Note),
        count(Level::Problem),
        count(Level::Unknown)
    )
}
