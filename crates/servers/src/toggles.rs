//! What an arm asks of its proxy beyond the defaults, and what becomes of that.

use std::collections::BTreeMap;
use std::io;

use records::{
    AcceptMode, Arm, BufferingMode, Bytes, Congestion, Content, LogMode, Placement, ProxyToggles,
    ReadPolicy, Spool, TraceMode,
};
use serde::Deserialize;

use crate::build::{Build, Version};
use crate::configuration::User;

/// A toggle as an arm has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toggle {
    /// Its option: `--spool`.
    pub(crate) flag: &'static str,
    /// What follows it on a command line; empty: nothing does.
    word: String,
    /// The same in numbers, without units.
    pub(crate) value: String,
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
    /// Every toggle of `arm`.
    pub(crate) fn all(arm: &Arm) -> Vec<Self> {
        let usual = ProxyToggles::default();
        let buffer = (arm.proxy.buffer != usual.buffer).then_some(arm.proxy.buffer);
        let is_traced = matches!(arm.server.trace, TraceMode::Probe | TraceMode::Sample);
        vec![
            Self::of("--read-policy", &arm.proxy.read_policy, &ReadPolicy::default()),
            Self::of("--congestion", &arm.proxy.congestion, &Congestion::default()),
            Self::of("--workers", &arm.proxy.workers, &usual.workers),
            Self::switch("--reuseport", arm.proxy.reuseport),
            Self::size("--rcvbuf", arm.rcvbuf()),
            Self::size("--buffer", buffer),
            Self::of("--backlog", &arm.proxy.backlog, &usual.backlog),
            Self::switch("--multi-accept", arm.proxy.multi_accept),
            Self::of("--accept", &arm.proxy.accept, &AcceptMode::default()),
            Self::of("--log-mode", &arm.proxy.log_mode, &LogMode::default()),
            Self::of("--content", &arm.server.content, &Content::default()),
            Self::of("--buffering", &arm.proxy.buffering, &BufferingMode::default()),
            Self::of("--spool", &arm.proxy.spool, &Spool::default()),
            Self::size("--spool-max", arm.proxy.spool_max),
            Self::switch("--directive", !arm.server.directives.is_empty()),
            Self::switch("--env", !arm.server.env.is_empty()),
            Self::switch("--server-dir", arm.server.server_dir.is_some()),
            Self::switch("--ready-path", arm.server.ready_path.is_some()),
            Self::switch("--ready-within", arm.server.ready_within.is_some()),
            Self { word: arm.server.trace.to_string(), ..Self::switch("--trace", is_traced) },
            Self {
                word: arm.place.to_string(),
                ..Self::switch("--place", arm.place == Placement::OneWorker)
            },
        ]
    }

    /// Those that `arm` asks for.
    pub(crate) fn asked(arm: &Arm) -> impl Iterator<Item = Self> {
        Self::all(arm).into_iter().filter(|toggle| toggle.state == State::Asked)
    }

    /// One that is asked for where it differs from `default`.
    fn of<T: PartialEq + ToString>(flag: &'static str, value: &T, default: &T) -> Self {
        let value_text = value.to_string();
        Self { word: value_text.clone(), value: value_text, ..Self::switch(flag, value != default) }
    }

    /// One without a value.
    fn switch(flag: &'static str, is_on: bool) -> Self {
        let state = if is_on { State::Asked } else { State::Default };
        Self { flag, word: String::new(), value: String::new(), state }
    }

    fn size(flag: &'static str, size: Option<Bytes>) -> Self {
        let word = size.map_or_else(String::new, Bytes::exact);
        let value = size.unwrap_or_default().0.to_string();
        Self { word, value, ..Self::switch(flag, size.is_some()) }
    }

    /// As it is typed.
    pub(crate) fn typed(&self) -> String {
        format!("{} {}", self.flag, self.word).trim_end().to_owned()
    }

    /// Whether it is about a program that we start, whichever it is.
    pub(crate) fn is_about_starting(&self) -> bool {
        ["--env", "--server-dir", "--ready-path", "--ready-within"].contains(&self.flag)
    }

    /// What `rules` have for it, if anything.
    pub(crate) fn rule<'a>(&self, rules: &'a BTreeMap<String, Rule>) -> Option<&'a Rule> {
        match self.state {
            State::Asked => rules.get(&self.typed()).or_else(|| rules.get(self.flag)),
            State::Default if self.word.is_empty() => None,
            State::Default => rules.get(&self.typed()),
        }
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
        let number: Option<u64> = toggle.value.parse().ok();
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
