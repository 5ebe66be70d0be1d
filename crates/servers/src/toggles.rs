//! What an arm asks of its proxy beyond the defaults, and what becomes of that.

use std::collections::BTreeMap;
use std::io;

use net::role::RoleError;
use records::{Arm, Micros, Placement, Rcvbuf, TraceMode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::build::{Build, Version};

/// Why a run with this proxy would not be what was asked for, and what to do instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub(crate) String);

impl From<Refusal> for RoleError {
    fn from(refusal: Refusal) -> Self {
        Self::Usage(format!("failed to take its place: {refusal}"))
    }
}

/// A toggle as an arm has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toggle {
    /// Its option: `--spool`.
    pub(crate) flag: String,
    /// What follows it on a command line, sizes in bytes; empty: nothing does.
    pub(crate) word: String,
    pub(crate) state: State,
}

/// Whether a toggle was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Set to something else than the mirror's default.
    Asked,
    /// At that default: the program's own stays.
    Default,
}

impl Toggle {
    /// Every toggle of `arm`: all that its records say of the proxy, so that none is forgotten.
    pub(crate) fn all(arm: &Arm) -> Vec<Self> {
        let fields = |arm: &Arm| {
            let mut fields = object(&arm.proxy);
            fields.extend(object(&arm.server));
            fields.insert("rcvbuf".to_owned(), arm.rcvbuf().map(|size| size.0).into());
            fields.insert("place".to_owned(), arm.place.to_string().into());
            fields.remove("proxy");
            fields
        };
        let mut usual = Arm::default();
        usual.proxy.rcvbuf = Rcvbuf::Auto;
        // None of these is more than any server can do.
        if arm.server.trace == TraceMode::Off {
            usual.server.trace = TraceMode::Off;
        }
        if arm.place != Placement::OneWorker {
            usual.place = arm.place;
        }
        let usual = fields(&usual);
        let toggle = |(key, value): (String, Value)| {
            let is_usual = usual.get(&key) == Some(&value);
            let word = match &value {
                Value::String(text) => text.clone(),
                Value::Number(us) if key.ends_with("_us") => {
                    Micros(us.as_u64().unwrap_or(u64::MAX)).to_string().replace(' ', "")
                }
                Value::Number(number) => number.to_string(),
                _ => String::new(),
            };
            let name = if key == "directives" { "directive" } else { key.trim_end_matches("_us") };
            let flag = format!("--{}", name.replace('_', "-"));
            Self { flag, word, state: if is_usual { State::Default } else { State::Asked } }
        };
        fields(arm).into_iter().map(toggle).collect()
    }

    /// Those that `arm` asks for.
    pub(crate) fn asked(arm: &Arm) -> impl Iterator<Item = Self> {
        Self::all(arm).into_iter().filter(|toggle| toggle.state == State::Asked)
    }

    /// As it is typed.
    pub(crate) fn typed(&self) -> String {
        format!("{} {}", self.flag, self.word).trim_end().to_owned()
    }

    /// Whether it is about a program that we start, whichever it is.
    pub(crate) fn is_about_starting(&self) -> bool {
        ["--env", "--server-dir", "--ready-path", "--ready-within"].contains(&self.flag.as_str())
    }

    /// What `rules` have for it, if anything.
    pub(crate) fn rule<'a>(&self, rules: &'a BTreeMap<String, Rule>) -> Option<&'a Rule> {
        match self.state {
            State::Asked => rules.get(&self.typed()).or_else(|| rules.get(&self.flag)),
            State::Default if self.word.is_empty() => None,
            State::Default => rules.get(&self.typed()),
        }
    }
}

/// The fields of a group of toggles, as records have them.
fn object(toggles: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(toggles) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// The toggles that a server's file can have rules for; others are not a program's own affair.
const FLAGS: &str = "--workers --reuseport --rcvbuf --buffer --backlog --multi-accept --accept \
                     --log-mode --content --buffering --spool --spool-max --directive";

/// Refuses names of toggles that there are none of.
pub(crate) fn check_keys(rules: &BTreeMap<String, Rule>) -> io::Result<()> {
    let is_known = |key: &&String| {
        key.split(' ').next().is_some_and(|flag| FLAGS.split(' ').any(|known| known == flag))
    };
    match rules.keys().find(|key| !is_known(key)) {
        Some(key) => Err(io::Error::other(format!("{key} is no toggle: there are {FLAGS}"))),
        None => Ok(()),
    }
}

/// What becomes of a toggle, or of a part of a configuration: a text, and when it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Rule {
    /// What stands in its place. `{value}`: the toggle's.
    pub(crate) text: String,
    /// What the documentation says of it; empty: that it is honoured.
    pub(crate) note: String,
    /// Why it is never honoured.
    pub(crate) refused: Option<String>,
    /// Why not where one of the following does not hold.
    why: String,
    /// What to do instead; empty: take the mirror.
    instead: String,
    /// From this version on.
    pub(crate) since: Option<Version>,
    /// Before this version.
    pub(crate) until: Option<Version>,
    /// The program does not have this in what it says of its build.
    lacks: Option<String>,
    /// The toggle's value is at least this.
    least: Option<u64>,
    /// One of the arguments, or of the variables of its environment, has this place in it.
    places: Option<String>,
    /// Of a part of a configuration: as whom we run. As root, a program would change its user unless told
    /// not to.
    pub(crate) when: Option<User>,
}

/// As whom we run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum User {
    Root,
    Other,
}

impl User {
    pub(crate) fn current() -> Self {
        if rustix::process::geteuid().is_root() { Self::Root } else { Self::Other }
    }
}

impl Rule {
    /// Whether this build of the program can do it.
    pub(crate) fn holds_for(&self, build: &Build) -> bool {
        self.since.is_none_or(|since| build.version >= since)
            && self.until.is_none_or(|until| build.version < until)
            && !self.lacks.as_ref().is_some_and(|text| build.about.contains(text))
    }

    /// Why the program cannot honour `toggle`, of which this is the rule, and the way out; `None`: it can.
    /// `words` is what the program is started with.
    pub(crate) fn refusal(&self, toggle: &Toggle, build: &Build, words: &[&str]) -> Option<String> {
        let has = |place: &String| words.iter().any(|word| word.contains(place.as_str()));
        let number: Option<u64> = toggle.word.parse().ok();
        let holds = self.refused.is_none()
            && self.holds_for(build)
            && self.least.is_none_or(|least| number.is_some_and(|number| number >= least))
            && self.places.as_ref().is_none_or(has);
        (!holds).then(|| self.reason())
    }

    /// Why it is refused, and the way out.
    pub(crate) fn reason(&self) -> String {
        let or = |text, other| if str::is_empty(text) { other } else { text };
        let why = or(self.refused.as_deref().unwrap_or(&self.why), "it has no setting for that");
        format!("{why}; {}", or(&self.instead, "leave it out, or take --proxy mirror"))
    }
}
