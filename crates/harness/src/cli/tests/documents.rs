//! Every command in the documents is one that this build understands: each is taken out of its page and
//! parsed. Those of docs/ci.md are run as well (tests/it/ci).

use std::fs;
use std::path::{Path, PathBuf};

use super::super::{Cli, Command};
use super::behind;
use crate::campaign::arm;
use crate::cases;
use clap::Parser;

/// All pages but those that tell of the past.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    for dir in ["docs", "docs/internals"] {
        let files = fs::read_dir(root.join(dir)).expect("a directory");
        pages.extend(files.map(|file| file.expect("a file").path()));
    }
    pages.retain(|page| page.extension().is_some_and(|is| is == "md"));
    pages
}

/// Lines of shell in a page: of its blocks, and what stands between backticks.
fn lines(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, part) in page.replace("\\\n", " ").split("```").enumerate() {
        if index % 2 == 0 {
            found.extend(part.split('`').skip(1).step_by(2).map(str::to_owned));
        } else if part.starts_with("sh\n") || part.starts_with("yaml\n") {
            found.extend(part.lines().map(str::to_owned));
        }
    }
    found
}

/// The words behind `turnstile` in a line; `None`: it calls another program.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.trim().trim_start_matches("sudo ");
    let (program, more) = match line.strip_prefix("cargo run -p harness -- ") {
        Some(more) => ("turnstile", more),
        None => line.split_once(' ')?,
    };
    if program != "turnstile" && !program.ends_with("/turnstile") {
        return None;
    }
    let mut words = shlex::split(more).unwrap_or_else(|| panic!("quotes do not close: {line}"));
    let end = words.iter().position(|word| matches!(word.as_str(), "|" | "||" | ">" | "&"));
    words.truncate(end.unwrap_or(words.len()));
    // A command that is spoken of, not typed.
    if let [command] = words.as_slice()
        && !command.starts_with('-')
    {
        return None;
    }
    // What a reader puts in by hand, and what a script has said before.
    words.retain(|word| word != "$trial");
    for word in &mut words {
        match word.as_str() {
            "$proxy" => "my-proxy".clone_into(word),
            "FIGURE" => "picture".clone_into(word),
            "PID" | "N" => "1".clone_into(word),
            "NAME" => "starvation-2023".clone_into(word),
            _ => {}
        }
    }
    Some(words)
}

/// What is wrong with the command, in the words that its user would see.
fn fault(words: &[String]) -> Result<(), String> {
    let line = std::iter::once("turnstile").chain(words.iter().map(String::as_str));
    let cli = Cli::try_parse_from(line).or_else(|error| match error.exit_code() {
        0 => Cli::try_parse_from(["turnstile"]).map_err(|error| error.to_string()),
        _ => Err(error.to_string()),
    })?;
    if let Some(Command::Case(options)) = &cli.command
        && options.name != "list"
    {
        cases::find(&options.name)?;
    }
    arm::from_words("all", behind(cli.command)).map(drop)
}

#[test]
fn every_command_of_the_documents_is_understood() {
    let (mut count, mut faults) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for words in lines(&text).iter().filter_map(|line| words(line)) {
            count += 1;
            if let Err(fault) = fault(&words) {
                faults.push(format!("{}: turnstile {}: {fault}", page.display(), words.join(" ")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 70, "only {count} commands were found");
}

#[test]
fn a_command_that_nobody_understands_is_found() {
    for (line, says) in [
        ("turnstile --rcvbuff 1", "--rcvbuff"),
        ("turnstile case nowhere", "no case \"nowhere\""),
        ("sudo turnstile check --fail-on starved --rcvbuf 1XB", "not a size"),
        ("turnstile compare --arm 'a: --rcvbuff 1' --arm 'b: ' | tee x", "--rcvbuff"),
        ("cargo run -p harness -- --reuseport --frobnicate # so", "--frobnicate"),
    ] {
        let fault = fault(&words(line).expect("a command")).expect_err(line);
        assert!(fault.contains(says), "{line}: {fault}");
    }
}
