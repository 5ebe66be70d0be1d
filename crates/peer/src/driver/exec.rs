//! Any program: a command with places to be filled in. No shell sees it.

use records::Arm;

use super::{Driver, LogPlace, PortCare, Reason, Tracing, Workers};
use crate::build::Build;
use crate::entry::{Entry, Read};
use crate::hop::LastSignal;
use crate::refusal::Refusal;
use crate::setting::{ConfigFile, Invocation, Setting};
use crate::toggle::Toggle;

/// A command template, split into words.
#[derive(Debug)]
pub(super) struct Exec {
    words: Vec<String>,
}

const LISTEN: &str = "{listen}";
const ORIGIN: &str = "{origin}";
const WORKERS: &str = "{workers}";

impl Exec {
    pub(super) fn parse(template: &str) -> Result<Self, Refusal> {
        let words = split(template).map_err(|why| Refusal::Command(why.to_owned()))?;
        if words.is_empty() {
            return Err(Refusal::Command("it is empty: write exec:COMMAND".to_owned()));
        }
        let exec = Self { words };
        if exec.has(LISTEN) {
            Ok(exec)
        } else {
            Err(Refusal::Command(format!(
                "it does not say where {LISTEN} goes: the program must accept on the address that \
                 is put there, as in exec:myproxy --listen {LISTEN} --origin {ORIGIN}"
            )))
        }
    }

    fn has(&self, place: &str) -> bool {
        self.words.iter().skip(1).any(|word| word.contains(place))
    }
}

impl Driver for Exec {
    fn name(&self) -> &'static str {
        "exec"
    }

    fn commands(&self) -> Vec<String> {
        self.words.iter().take(1).cloned().collect()
    }

    fn package(&self) -> &'static str {
        ""
    }

    fn version_args(&self) -> &'static [&'static str] {
        &[]
    }

    fn find(&self, bin: Option<&std::path::Path>) -> Result<std::path::PathBuf, Refusal> {
        if bin.is_some() {
            return Err(Refusal::NeedlessBinary("exec"));
        }
        let name = self.words.first().map(std::path::PathBuf::from).unwrap_or_default();
        crate::build::look_up(&name).ok_or(Refusal::NoProgram { path: name })
    }

    fn refuses(&self, toggle: &Toggle, _: &Arm, _: &Build) -> Option<Reason> {
        match toggle {
            Toggle::Workers(_) if self.has(WORKERS) => None,
            Toggle::Workers(_) => Some(Reason::new(
                format!("the command does not say where {WORKERS} goes"),
                format!("put {WORKERS} where the program takes their number"),
            )),
            _ => Some(Reason::new(
                "we know nothing of a program that is given as a command",
                "set it by an argument of the command",
            )),
        }
    }

    fn configuration(&self, _: &Setting<'_>) -> Vec<ConfigFile> {
        Vec::new()
    }

    fn invocation(&self, setting: &Setting<'_>) -> Invocation {
        let fill = |word: &String| {
            word.replace(LISTEN, &setting.listen.to_string())
                .replace(ORIGIN, &setting.upstream.to_string())
                .replace(WORKERS, &setting.arm.workers.to_string())
        };
        Invocation { args: self.words.iter().skip(1).map(fill).collect(), env: Vec::new() }
    }

    fn workers(&self) -> Workers {
        Workers::Whatever
    }

    fn tracing(&self) -> Tracing {
        Tracing::Fits
    }

    fn log(&self) -> LogPlace {
        LogPlace::None
    }

    fn read(&self, _: Read<'_>) -> Option<Entry> {
        None
    }

    fn last_signal(&self) -> LastSignal {
        // It may have children that only it can end.
        LastSignal::Term
    }

    fn port(&self) -> PortCare {
        PortCare::Leave
    }
}

/// Splits a command into words as a POSIX shell would quote them: `'...'` as it stands, `"..."` with
/// `\"` and `\\`, and `\` before any other character. Nothing is expanded.
fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or("a ' is not closed")? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next().ok_or("a \" is not closed")? {
                        '"' => break,
                        '\\' => match chars.next().ok_or("a \" is not closed")? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => {
                word.get_or_insert_default().push(chars.next().ok_or("it ends with a \\")?);
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests;
