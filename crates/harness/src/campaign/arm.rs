//! An arm as people type it: a name and the options of a trial.

use std::fmt;
use std::str::FromStr;

use clap::Parser;
use serde::{Deserialize, Serialize};

use crate::trial::TrialOptions;

/// One setting of all toggles, by the words that set it. Written `name: --option value`, or the
/// options alone, which are their own name then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArmSpec {
    /// How tables call it.
    pub name: String,
    /// The options, as words.
    pub args: Vec<String>,
}

/// A trial's options on a line of their own.
#[derive(Debug, Parser)]
#[command(name = "arm", no_binary_name = true, args_override_self = true)]
struct ArmLine {
    #[command(flatten)]
    trial: TrialOptions,
}

/// Letters of a name.
const NAME_MAX: usize = 40;
/// What belongs to the trial as a whole and would differ between arms for no good.
const NOT_FOR_ARMS: [&str; 8] =
    ["--runs-dir", "--label", "--json", "--access-log", "--color", "--parent-pid", "--quiet", "-q"];

impl ArmSpec {
    /// The arm `name` with the options in `line`, quoted as in a shell.
    ///
    /// # Errors
    /// The name is no name, the quotes do not close, or the options make no trial.
    pub fn new(name: &str, line: &str) -> Result<Self, ArmError> {
        let args = shlex::split(line).ok_or_else(|| ArmError::Quotes(line.to_owned()))?;
        Self::from_words(name, args)
    }

    /// The same of words that are split already.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn from_words(name: &str, args: Vec<String>) -> Result<Self, ArmError> {
        let name = name.trim().to_owned();
        let fits = (1..=NAME_MAX).contains(&name.chars().count());
        if !fits || name.chars().any(char::is_control) {
            return Err(ArmError::Name(name));
        }
        let arm = Self { name, args };
        arm.options()?;
        Ok(arm)
    }

    /// Its options, checked as far as they can be without running it.
    ///
    /// # Errors
    /// A word that is no option, a value that does not fit, or one that arms do not have.
    pub fn options(&self) -> Result<TrialOptions, ArmError> {
        let foreign = self
            .args
            .iter()
            .find(|word| NOT_FOR_ARMS.iter().any(|option| word.split('=').next() == Some(option)));
        if let Some(option) = foreign {
            return Err(ArmError::NotForArms { arm: self.name.clone(), option: option.clone() });
        }
        ArmLine::try_parse_from(&self.args).map(|line| line.trial).map_err(|error| {
            // Help and usage of the whole command would bury what is wrong.
            let text = error.to_string();
            let lines = text.lines().take_while(|line| !line.starts_with("Usage"));
            let said: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
            let said = said.join("; ").trim_start_matches("error: ").to_owned();
            ArmError::Options { arm: self.name.clone(), said }
        })
    }

    /// The name as a part of a file name.
    pub fn slug(&self) -> String {
        let safe = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        self.name.chars().map(safe).collect::<String>().trim_matches('-').to_owned()
    }
}

impl FromStr for ArmSpec {
    type Err = ArmError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `exec:COMMAND` has a colon too: a name has no dash at its front.
        match text.split_once(':') {
            Some((name, line)) if !name.trim_start().starts_with('-') => Self::new(name, line),
            _ => {
                let short: String = text.trim().chars().take(NAME_MAX).collect();
                let name = if short.is_empty() { "default".to_owned() } else { short };
                Self::new(&name, text)
            }
        }
    }
}

impl fmt::Display for ArmSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.args.iter().map(String::as_str);
        let line = shlex::try_join(words).unwrap_or_else(|_| self.args.join(" "));
        write!(f, "{}: {line}", self.name)
    }
}

/// A text that makes no arm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArmError {
    /// Empty, too long, or with control characters.
    #[error("{0:?} is no name of an arm: 1 to {NAME_MAX} letters, as in 'drain: --reuseport'")]
    Name(String),
    /// Quotes that do not close.
    #[error("the quotes in {0:?} do not close")]
    Quotes(String),
    /// Options that clap refuses.
    #[error("arm {arm}: {said}")]
    Options {
        /// Which arm.
        arm: String,
        /// What clap said.
        said: String,
    },
    /// An option of the whole, not of an arm.
    #[error("arm {arm}: {option} does not belong to an arm; every trial has its own place")]
    NotForArms {
        /// Which arm.
        arm: String,
        /// The option.
        option: String,
    },
}

#[cfg(test)]
mod tests;
