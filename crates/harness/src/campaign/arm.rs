//! An arm as people type it: a name and the options of a trial.

use clap::Parser;
use clap::error::ErrorKind;
use records::ArmSpec;
use trial::TrialOptions;

/// A trial's options on a line of their own.
#[derive(Debug, Parser)]
#[command(name = "arm", no_binary_name = true, args_override_self = true)]
struct ArmLine {
    #[command(flatten)]
    trial: TrialOptions,
}

/// Letters of a name.
const NAME_MAX: usize = 40;

/// The arm that is written `name: --option value`, quoted as in a shell, or the options alone, which are their
/// own name then.
///
/// # Errors
/// The name is no name, the quotes do not close, or the options make no trial.
pub(crate) fn parse(text: &str) -> Result<ArmSpec, String> {
    let short: String = text.trim().chars().take(NAME_MAX).collect();
    let (name, line) = match text.split_once(':') {
        // `exec:COMMAND` has a colon too: a name has no dash at its front.
        Some((name, line)) if !name.trim_start().starts_with('-') => (name, line),
        _ if short.is_empty() => ("default", text),
        _ => (short.as_str(), text),
    };
    let args = shlex::split(line).ok_or_else(|| format!("the quotes in {line:?} do not close"))?;
    from_words(name, args)
}

/// The same of words that are split already.
///
/// # Errors
/// As [`parse`].
pub(crate) fn from_words(name: &str, args: Vec<String>) -> Result<ArmSpec, String> {
    let name = name.trim().to_owned();
    let fits = (1..=NAME_MAX).contains(&name.chars().count());
    if !fits || name.chars().any(char::is_control) {
        return Err(format!(
            "{name:?} is no name of an arm: 1 to {NAME_MAX} letters, as in 'drain: --reuseport'"
        ));
    }
    let arm = ArmSpec { name, args };
    options(&arm)?;
    Ok(arm)
}

/// The options of an arm, checked as far as they can be without running it.
///
/// # Errors
/// A word that is no option of an arm, or a value that does not fit.
pub(crate) fn options(arm: &ArmSpec) -> Result<TrialOptions, String> {
    ArmLine::try_parse_from(&arm.args).map(|line| line.trial).map_err(|error| {
        // Help and usage of the whole command would bury what is wrong.
        let text = error.to_string();
        let lines = text.lines().take_while(|line| !line.starts_with("Usage"));
        let said: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
        let said = said.join("; ");
        let where_else = match error.kind() {
            ErrorKind::UnknownArgument => {
                "; here stand options of a trial alone, all others before them"
            }
            _ => "",
        };
        format!("arm {}: {}{where_else}", arm.name, said.trim_start_matches("error: "))
    })
}

/// A name as a part of a file name.
pub(super) fn slug(name: &str) -> String {
    let safe = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    name.chars().map(safe).collect::<String>().trim_matches('-').to_owned()
}
