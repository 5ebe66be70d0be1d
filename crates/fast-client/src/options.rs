//! The fast client's command line: its toggles, and what the harness says about a phase.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use net::role::RoleOptions;
use net::target::TargetOptions;
use records::{Arrivals, Bytes, Coding, Micros, Phase};

/// The toggles: what makes one stream of fetches differ from another.
#[derive(Clone, Copy, Debug, PartialEq, clap::Args)]
#[command(next_help_heading = "Fetches")]
pub struct FetchToggles {
    /// When fetches start: a rate as 10/s, or closed (the next when the last has ended)
    #[arg(long, value_name = "ARRIVALS", default_value_t)]
    pub arrivals: Arrivals,

    /// Size of the object that is fetched
    #[arg(long, value_name = "SIZE", default_value = "3MiB")]
    pub fetch_size: Bytes,

    /// Give a fetch up after this long, 1ms to 1m
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = cap)]
    pub cap: Micros,

    /// Ask for answers in this coding: identity, or gzip; whatever its length, a whole one is good
    #[arg(long, value_name = "CODING", default_value_t)]
    pub fetch_coding: Coding,
}

impl FetchToggles {
    /// The same toggles as arguments of a command line.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        let mut set = |name: &str, value: String| args.extend([format!("--{name}"), value]);
        set("arrivals", self.arrivals.to_string());
        set("fetch-size", self.fetch_size.exact());
        set("cap", exact_time(self.cap));
        set("fetch-coding", self.fetch_coding.to_string());
        args
    }
}

impl Default for FetchToggles {
    fn default() -> Self {
        Self {
            arrivals: Arrivals::default(),
            fetch_size: Bytes::mib(3),
            cap: Micros(1_000_000),
            fetch_coding: Coding::Identity,
        }
    }
}

/// Everything the fast client needs.
#[derive(Clone, Debug, clap::Args)]
pub struct FastOptions {
    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub target: TargetOptions,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub toggles: FetchToggles,

    /// Start N fetches together at each arrival; needs --arrivals with a rate
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000), help_heading = "Fetches")]
    pub burst: u32,

    /// Start fetches for this long; the last ones still run to their end
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = duration)]
    pub duration: Micros,

    /// The part of the trial that the records belong to
    #[arg(long, value_name = "PHASE", default_value = "measure", value_parser = phase())]
    pub phase: Phase,

    #[command(flatten)]
    #[expect(missing_docs, reason = "clap would take it for the help of the whole group")]
    pub role: RoleOptions,
}

impl FastOptions {
    /// The same options as arguments of a command line.
    pub fn to_args(&self) -> Vec<String> {
        let mut args = vec![self.target.target.to_string()];
        args.extend(self.toggles.to_args());
        args.extend(["--burst".to_owned(), self.burst.to_string()]);
        args.extend(["--duration".to_owned(), exact_time(self.duration)]);
        args.extend(["--phase".to_owned(), self.phase.name().to_owned()]);
        if self.target.allow_remote {
            args.push("--allow-remote".to_owned());
        }
        args.extend(self.role.to_args());
        args
    }
}

/// A time spelt so that it reads back as the same number.
fn exact_time(time: Micros) -> String {
    format!("{}us", time.0)
}

fn cap(text: &str) -> Result<Micros, String> {
    let cap: Micros = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if (Micros(1_000)..=Micros(60_000_000)).contains(&cap) {
        Ok(cap)
    } else {
        Err("a cap is 1 ms to 1 minute".to_owned())
    }
}

fn duration(text: &str) -> Result<Micros, String> {
    let length: Micros = text.parse().map_err(|e: records::ParseUnitError| e.to_string())?;
    if length > Micros(0) { Ok(length) } else { Err("it must be longer than nothing".to_owned()) }
}

/// Only two phases have fetches.
fn phase() -> impl TypedValueParser<Value = Phase> {
    PossibleValuesParser::new([Phase::Idle.name(), Phase::Measure.name()])
        .map(|name| if name == Phase::Idle.name() { Phase::Idle } else { Phase::Measure })
}

#[cfg(test)]
mod tests;
