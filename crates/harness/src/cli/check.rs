//! `turnstile check`: trials held against thresholds and a baseline, for a machine to act upon.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use analysis::guard::baseline::{BaselineHost, Conditions, MIN_ROUNDS, Origin};
use analysis::guard::check::{Asked, Save};
use analysis::guard::rounds::{FailOn, Ran};
use analysis::guard::{Baseline, Check, Threshold};
use anyhow::Context;
use records::{ArmSpec, Verdict};
use trial::{TrialPlan, host, run_dir, signals};

use super::campaign::planned;
use super::common::{OutputOptions, TrialsOptions, look_at};
use super::config::ConfigOptions;
use super::output;
use crate::campaign::{Campaign, Journal};

/// What must hold, how often it is tried, and who is told.
#[derive(Debug, clap::Args)]
pub(super) struct CheckOptions {
    /// Options of the trial, behind all others
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
    pub(super) trial: Vec<String>,

    #[command(flatten)]
    config: ConfigOptions,

    /// What must hold, as 'p99<100ms', 'failed_share<=0.01' or 'p99/idle_p99<5'; may be repeated
    #[arg(long = "threshold", value_name = "FIGURE<LIMIT")]
    thresholds: Vec<Threshold>,

    /// Breached when the verdict of any round is that bad, or worse
    #[arg(long, value_enum, value_name = "VERDICT")]
    fail_on: Option<FailOn>,

    /// Breached when a metric is worse than in this file, which --save-baseline has made
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,

    /// Save the rounds there, if everything held
    #[arg(long, value_name = "FILE")]
    save_baseline: Option<PathBuf>,

    /// Compare also with a baseline of another kernel, CPU, setting or arm
    #[arg(long, requires = "baseline")]
    cross_host: bool,

    /// Rounds that are wanted [default: 1; 5 with a baseline]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,

    /// Attempts at each round, until a trial is conclusive; none after a failure of the proxy itself
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: u32,

    /// Write a JUnit report there: a test case for each threshold and each metric of the baseline
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,

    /// Write the report as Markdown there
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    trials: TrialsOptions,

    #[command(flatten)]
    output: OutputOptions,
}

/// The examples of its help.
pub(super) const EXAMPLES: &str = "\
Examples:
  turnstile check --threshold 'failed_share<=0.01' --threshold 'p99<100ms' -- --rcvbuf 40960
  turnstile check --fail-on starved -- --proxy nginx
  turnstile check --threshold 'p99<100ms' -- \\
    --proxy 'exec:./my-proxy --listen {listen} --upstream {origin}'
  turnstile check --save-baseline main.json -- --reuseport
  turnstile check --baseline main.json --junit check.xml -- --reuseport

Exit codes: 0 everything held; 10 something is breached; 11 nothing is breached, and something is
not known; 12 there is no such baseline; 2 usage, or a baseline that cannot be used; 1 error, also
when a file could not be written that was asked for (10 if something is breached as well).";

/// Names of what is written beside the journal.
const CHECK: &str = "check.json";
/// Rounds, where none are asked for.
const ROUNDS: u32 = 1;
/// The same with a baseline: what `docs/internals/statistics.md` was made with.
const ROUNDS_COMPARED: u32 = 5;
/// The exit code for a baseline that is not there.
const NO_BASELINE: u8 = 12;

/// Runs the trials, tells everybody, and ends as the gate says.
pub(super) fn check(options: &CheckOptions) -> anyhow::Result<ExitCode> {
    let (arm, origin, rounds) = plan(options).unwrap_or_else(|error| super::usage_text(&error));
    let mut baseline = None;
    if let Some(path) = &options.baseline {
        let name = path.display();
        let file = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                output::say(&format!(
                    "turnstile: there is no baseline {name}: make one with --save-baseline"
                ));
                return Ok(ExitCode::from(NO_BASELINE));
            }
            file => file.with_context(|| format!("failed to read the baseline {name}"))?,
        };
        baseline = Some(
            Baseline::read(&file)
                .unwrap_or_else(|error| super::usage_text(&format!("--baseline: {name} {error}"))),
        );
    }
    let differs = baseline.as_ref().map_or_else(Vec::new, |then| then.origin.differences(&origin));
    if !differs.is_empty() && !options.cross_host {
        super::usage_text(&format!(
            "--baseline: it was made otherwise ({}): make a new one, or add --cross-host",
            differs.join("; ")
        ));
    }

    let (records, trials, interrupted) = run(options, arm.clone(), rounds)?;
    let file = options.baseline.clone().unwrap_or_default();
    let accepted = options.cross_host.then_some(differs);
    let asked = Asked {
        thresholds: &options.thresholds,
        fail_on: options.fail_on,
        baseline: baseline.as_ref().map(|baseline| (baseline, file, accepted)),
        save: if options.save_baseline.is_some() { Save::Wanted } else { Save::No },
        rounds: rounds as usize,
        attempts: options.attempts,
    };
    let name = interrupted.map(signals::name);
    let mut check = Check::of(asked, arm, records, &trials, name);
    if let Some(path) = &options.save_baseline
        && let Some(baseline) = check.new_baseline(origin, &trials)
    {
        match run_dir::replace(path, report::json(&baseline).as_bytes()) {
            Ok(()) => check.saved = Some(path.clone()),
            Err(error) => check.could_not_write(unwritten("the baseline", path, &error)),
        }
    }
    tell(&mut check, options);
    if let Some(signal) = interrupted {
        signals::die_by(signal);
    }
    Ok(ExitCode::from(check.exit_code))
}

/// The arm, where and of what a baseline would be, and how many rounds.
fn plan(options: &CheckOptions) -> Result<(ArmSpec, Origin, u32), String> {
    let compared = options.baseline.is_some() || options.save_baseline.is_some();
    if options.thresholds.is_empty() && options.fail_on.is_none() && !compared {
        return Err(
            "nothing to check: add --threshold 'p99<100ms', --fail-on starved, --baseline FILE, \
             --save-baseline FILE, or a --config with one of them"
                .to_owned(),
        );
    }
    let rounds = options.rounds.unwrap_or(if compared { ROUNDS_COMPARED } else { ROUNDS });
    if compared && (rounds as usize) < MIN_ROUNDS {
        return Err(format!("a baseline takes {MIN_ROUNDS} rounds or more, not {rounds}"));
    }
    // One is written beside the earlier one, and takes its place.
    let beside = options.save_baseline.as_ref().map(|path| path.with_extension("part"));
    if let Some(path) =
        options.save_baseline.as_ref().filter(|path| path.exists() && !path.is_file())
    {
        return Err(format!("--save-baseline {}: {}", path.display(), run_dir::NOT_A_FILE));
    }
    look_at(&[
        ("--save-baseline", &beside),
        ("--junit", &options.junit),
        ("--markdown", &options.markdown),
        ("--output", &options.output.file),
    ])?;
    let (arm, plan) = planned("check", options.trial.clone())?;
    Ok((arm, origin(&plan), rounds))
}

/// Where and of what a baseline is, of a trial that is about to be run here.
fn origin(plan: &TrialPlan) -> Origin {
    let machine = host::read(&plan.cpus);
    // The plan was made from them: the kernel tells again what it told then.
    let allowed_cpus = net::cpu::allowed().unwrap_or_default();
    Origin {
        host: BaselineHost {
            kernel: machine.kernel,
            cpu_model: machine.cpu_model,
            cpus: machine.cpus,
        },
        arm: plan.trial.arm.clone(),
        idle_us: plan.trial.idle,
        measure_us: plan.trial.duration,
        hold_us: plan.trial.hold,
        conditions: Conditions {
            recording: plan.trial.recording,
            allowed_cpus,
            sysctls: machine.sysctls,
        },
    }
}

/// Runs rounds until enough are conclusive, or none may be tried again: where they are kept, what each
/// showed, and the signal that cut them short, if one did. An inconclusive trial stays in the journal; its
/// next attempt is a round of its own there. A proxy that failed is not tried again: that is what the check
/// is to find.
fn run(
    options: &CheckOptions,
    arm: ArmSpec,
    rounds: u32,
) -> anyhow::Result<(PathBuf, Vec<Ran>, Option<i32>)> {
    let TrialsOptions { runs_dir, quiet } = &options.trials;
    // One arm has one order, whatever it is drawn from.
    let journal = Journal::new("check", rounds, 1, vec![arm]);
    let mut campaign = Campaign::create(runs_dir, journal).context("failed to begin the check")?;
    let mut attempt = 1;
    loop {
        let signal = campaign.run(*quiet).context("failed to run the check")?;
        let trials = campaign.ran()?;
        let proves_nothing =
            |ran: &&Ran| ran.summary.verdict == Verdict::Inconclusive && ran.proxy_fault.is_none();
        let proved = trials.len() - trials.iter().filter(proves_nothing).count();
        let missing = rounds.saturating_sub(u32::try_from(proved).unwrap_or(u32::MAX));
        if signal.is_some() || missing == 0 || attempt >= options.attempts {
            return Ok((campaign.dir, trials, signal));
        }
        attempt += 1;
        campaign.journal.rounds += missing;
        if !quiet {
            output::say(&format!("turnstile: {missing} more, attempt {attempt}"));
        }
    }
}

/// Writes the check in every form that was asked for, and prints it. What cannot be written keeps
/// nothing else from being written: it is told by all that come after it, the exit code among them.
fn tell(check: &mut Check, options: &CheckOptions) {
    type Made = fn(&Check) -> String;
    let files: [(&str, &Option<PathBuf>, Made); 2] = [
        ("the JUnit report", &options.junit, report::junit),
        ("the Markdown", &options.markdown, report::check_markdown),
    ];
    for (what, path, made) in files {
        if let Some(path) = path
            && let Err(error) = fs::write(path, made(check))
        {
            check.could_not_write(unwritten(what, path, &error));
        }
    }
    let path = check.records.join(CHECK);
    if let Err(error) = run_dir::replace(&path, report::json(check).as_bytes()) {
        check.could_not_write(unwritten("the check", &path, &error));
    }
    let text = if options.output.json {
        report::json(check)
    } else {
        report::check(check, options.output.style())
    };
    if let Err(error) = options.output.print(&text) {
        check.could_not_write(format!("{error:#}"));
    }
    github(check);
    check.errors.iter().for_each(|error| output::say(&format!("turnstile: {error}")));
}

fn unwritten(what: &str, path: &Path, error: &io::Error) -> String {
    format!("failed to write {what} to {}: {error}", path.display())
}

/// Where GitHub's runner listens: the step's output and a file. A summary that cannot be written
/// changes nothing.
fn github(check: &Check) {
    if std::env::var_os("GITHUB_ACTIONS").is_some_and(|set| set == "true") {
        // Standard output is for data; the runner reads both.
        output::say(report::annotations(check).trim_end());
    }
    let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return;
    };
    let text = report::check_markdown(check);
    let file = OpenOptions::new().append(true).create(true).open(&path);
    if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
        let path = Path::new(&path).display();
        output::say(&format!("turnstile: failed to write the step summary {path}: {error}"));
    }
}
