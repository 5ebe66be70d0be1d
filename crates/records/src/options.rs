//! What can be set, stated once: each option with its flag, its default, its range and its key in
//! records.
//!
//! An option is typed (clap), handed to a role as part of a JSON document, and kept in the manifest of
//! a run (serde). All three read the struct in which it stands; [`crate::Arm`] puts the structs together.
//!
//! Not for: where a role listens, whom it talks to, and what else only that role knows; those options
//! stand in its own crate.

mod load;
mod proxy;
mod request;
mod server;

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};

pub use load::{Arrivals, FaultToggles, FetchToggles, SlowToggles};
pub use proxy::{
    AcceptMode, BufferingMode, Congestion, ListenerMode, LogMode, ProxyToggles, ReadPolicy, Spool,
    ToggleError,
};
pub use request::{Asking, Connection, Header, RequestLine};
pub use server::{Content, ProxyKind, Rcvbuf, ServerToggles, TraceMode};

use crate::{Micros, ParseUnitError, Phase};

/// The options that these words of a command line give, the others at their defaults. Wrong words end
/// the process as they would on a command line.
pub fn from_words<T: clap::Args>(words: &[&str]) -> T {
    let command = T::augment_args(clap::Command::new("options").no_binary_name(true));
    let matches = command.get_matches_from(words);
    T::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The help of these options explains each word that may be chosen, so it need not list them.
pub(crate) fn words_in_help(arg: clap::Arg) -> clap::Arg {
    if arg.get_action().takes_values() { arg.hide_possible_values(true) } else { arg }
}

/// Reads a value that lies in `range`; another is refused by `rule`.
pub fn within<T>(range: RangeInclusive<T>, rule: &'static str) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = ParseUnitError> + PartialOrd + Clone + Send + Sync + 'static,
{
    move |text: &str| {
        let value: T = text.parse().map_err(|error: ParseUnitError| error.to_string())?;
        if range.contains(&value) { Ok(value) } else { Err(rule.to_owned()) }
    }
}

/// Reads a phase that has fetches.
pub fn fetch_phase() -> impl TypedValueParser<Value = Phase> {
    PossibleValuesParser::new([Phase::Idle.name(), Phase::Measure.name()])
        .map(|name| if name == Phase::Idle.name() { Phase::Idle } else { Phase::Measure })
}

/// Reads a length of time above zero.
pub fn some_time() -> impl TypedValueParser<Value = Micros> {
    within(Micros(1)..=Micros(u64::MAX), "it must be longer than nothing")
}

/// Reads an address with its port, as `127.0.0.1:8000` or `[::1]:8000`. Names are not looked up: what
/// is under load must not depend on a resolver.
///
/// # Errors
/// Another text; the message says how to write it.
pub fn socket_addr(text: &str) -> Result<SocketAddr, String> {
    let form = "is not an address with a port: write it as 127.0.0.1:8000 or [::1]:8000";
    text.parse().map_err(|_| format!("{text:?} {form}"))
}

/// Prints an option that is a choice of words by the word that its flag takes.
macro_rules! words {
    ($($choice:ty),+ $(,)?) => {$(
        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let word = clap::ValueEnum::to_possible_value(self);
                f.pad(word.as_ref().map_or("", clap::builder::PossibleValue::get_name))
            }
        }
    )+};
}

/// Gives a group of options the defaults that its flags have.
macro_rules! default_of_flags {
    ($($options:ty),+ $(,)?) => {$(
        impl Default for $options {
            fn default() -> Self {
                $crate::options::from_words(&[])
            }
        }
    )+};
}

/// Keeps an option in records as the text that its flag takes.
macro_rules! as_text {
    ($($option:ty),+ $(,)?) => {$(
        impl serde::Serialize for $option {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $option {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

pub(crate) use {as_text, default_of_flags, words};

#[cfg(test)]
mod tests;
