//! Whole trials without a process: what happens is told, what is to be done is looked at.
//!
//! A case is a script: a line has what happens, and after the arrow what is to be done then.

use std::os::unix::process::ExitStatusExt;

use records::{
    Accepted, Bytes, Dialed, DownloadInterval, MonoNs, Record, ServerToggles, SlowOrder, from_words,
};

use super::*;

/// A trial whose children do what the script says, on a clock of its own.
struct Trial {
    phases: Phases<'static>,
    now: Instant,
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Until the mirror is up, the idle phase is over, and fetches are measured with no download.
const SET_UP: [&str; 3] = ["begin", "origin ready", "proxy ready"];
const LOADED: [&str; 2] = ["fast ready", "fast ends 0"];
const MEASURING: [&str; 1] = ["fast ready"];

impl Trial {
    /// A trial of these options in which all this has happened.
    fn after(words: &str, inputs: &[&[&str]]) -> Self {
        let words: Vec<&str> = words.split_whitespace().collect();
        let options: &'static TrialOptions = Box::leak(Box::new(from_words(&words)));
        let mut trial = Self { phases: Phases::new(options), now: Instant::now() };
        inputs.concat().iter().for_each(|input| drop(trial.on(input)));
        trial
    }

    fn measuring() -> Self {
        Self::after("--slow 0", &[&SET_UP, &LOADED, &MEASURING])
    }

    /// What is to be done when that happens.
    fn on(&mut self, input: &str) -> String {
        let (first, rest) = input.split_once(' ').unwrap_or((input, ""));
        let (second, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let role = [Role::Origin, Role::Proxy, Role::Slow, Role::Fast];
        let role = role.into_iter().find(|role| role.name() == first);
        let number = |text: &str| text.parse::<u32>().expect("a number");
        let port = |text: &str| u16::try_from(number(text)).expect("a port");
        let record = |record| Input::Record(Box::new(record));
        let at_ns = MonoNs(0);
        let input = match (role, first, second) {
            (Some(Role::Proxy), _, "ready") => {
                Input::ProxyReady(Visibility::Own, None, Requests::Held)
            }
            (Some(role), _, "ready") => Input::Ready(role),
            (Some(role), _, "ends") => {
                let code = i32::try_from(number(rest)).expect("a code");
                Input::Ended(role, ExitStatus::from_raw(code << 8))
            }
            (Some(role), _, "dies") => Input::Ended(role, ExitStatus::from_raw(9)),
            (Some(role), ..) => Input::Fault(role, second.to_owned()),
            (_, "begin", _) => Input::Begin(Origin::Ours),
            (_, "dialed", slot) => {
                let (slot, client_port) = (number(slot), port(rest));
                record(Record::Dialed(Dialed { slot, client_port, at_ns }))
            }
            (_, "accepted", client_port) => {
                let (client_port, worker) = (port(client_port), number(rest));
                record(Record::Accepted(Accepted { worker, session: 0, client_port, at_ns }))
            }
            (_, "received", bytes) => {
                let bytes = bytes.split(',').map(|bytes| Bytes(number(bytes).into())).collect();
                let interval = DownloadInterval { start_ns: at_ns, end_ns: MonoNs(1), bytes };
                record(Record::DownloadInterval(interval))
            }
            (_, "signal", _) => Input::Signal(second.parse().expect("a number")),
            (_, "go-on", _) => Input::GoOn,
            (_, "broken", _) => Input::Broken,
            // Time runs until the state is over.
            (_, "wait", _) => {
                self.now = self.phases.until().expect("something to wait for");
                Input::Deadline
            }
            (_, "overdue", _) => Input::Deadline,
            _ => panic!("{input:?} cannot happen"),
        };
        let actions = self.phases.on(input, self.now);
        let told = actions.iter().map(|action| match action {
            Action::Begin(phase, Before::Ended) => phase.name().to_owned(),
            Action::Begin(phase, Before::CutShort) => format!("{} at once", phase.name()),
            Action::Start(start) => {
                self.phases.started(start.role());
                match start {
                    Start::Slow(requests) => format!("start slow {requests:?}"),
                    Start::Fast(phase) => format!("start fast {}", phase.name()),
                    Start::Origin | Start::Proxy => format!("start {}", start.role()),
                }
            }
            Action::Order(SlowOrder::Go) => "order go".to_owned(),
            Action::Order(SlowOrder::Redial { client_port }) => format!("redial {client_port}"),
            Action::Dismiss(role) => format!("stop {role}"),
            Action::Kill(role) => format!("kill {role}"),
            Action::Blame(role, what) => format!("blame {role}: {what}"),
        });
        told.collect::<Vec<_>>().join(", ")
    }

    /// Plays a script, whose lines are `what happens -> what is to be done`.
    fn plays(mut self, script: &str) -> Self {
        for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (input, actions) = line.split_once("->").expect("an arrow");
            assert_eq!(self.on(input.trim()), actions.trim(), "after {input}in\n{script}");
        }
        self
    }
}

#[test]
fn phases_follow_each_other_to_the_end() {
    let trial = Trial::after("--slow 1", &[]).plays(
        "begin -> setup, start origin
         origin ready -> start proxy
         proxy ready -> start fast idle
         fast ready -> idle
         fast ends 0 -> load, start slow AtOnce
         slow ready ->
         dialed 0 40000 ->
         accepted 40000 1 ->
         received 1 -> start fast measure
         fast ready -> measure
         wait -> drain
         fast ends 0 -> teardown, stop slow
         slow ends 0 -> stop proxy
         proxy ends 0 -> stop origin
         origin ends 0 ->",
    );
    assert_eq!((trial.phases.until(), trial.phases.interrupted()), (None, None));
}

#[test]
fn a_proxy_that_runs_already_and_one_that_is_none_are_not_started() {
    for kind in ["url:127.0.0.1:80", "direct"] {
        // Nobody tells who accepted the downloads.
        Trial::after(&format!("--reuseport --proxy {kind}"), &[]).plays(
            "begin -> setup, start origin
             origin ready -> start fast idle
             fast ready -> idle
             fast ends 0 -> load, start slow AtOnce",
        );
    }
}

#[test]
fn downloads_are_steered_and_one_that_is_sent_off_must_move_anew() {
    Trial::after("--slow 2 --reuseport", &[&SET_UP, &["fast ready"]]).plays(
        "fast ends 0 -> load, start slow Held
         slow ready ->
         dialed 0 40000 ->
         accepted 40000 0 ->
         dialed 1 40001 ->
         accepted 40001 0 -> redial 40001
         dialed 1 40002 ->
         accepted 40002 1 -> order go
         received 1,0 ->
         received 0,1 -> start fast measure",
    );
    // Neither placement nor motion is waited for for ever: with what there is.
    let trial = Trial::after("--slow 2 --reuseport", &[&SET_UP, &LOADED, &["slow ready"]]);
    let start = trial.now;
    let trial = trial.plays("wait -> order go\n wait -> start fast measure");
    assert_eq!(trial.now, start + STEERING + MOTION);
}

#[test]
fn what_happens_does_not_make_the_measure_phase_longer() {
    let trial = Trial::measuring();
    let end = trial.now + secs(8);
    assert!(!trial.phases.is_overdue(end - secs(1)) && trial.phases.is_overdue(end));
    let idle = Trial::after("", &[&SET_UP, &["fast ready"]]);
    let late = idle.phases.until().expect("a deadline") + secs(1);
    assert!(!idle.phases.is_overdue(late), "what is there is heard first");
}

#[test]
fn the_last_fetches_are_drained_and_who_is_asked_to_go_on_ends_them() {
    Trial::measuring().plays("fast ends 0 -> drain, teardown, stop proxy");
    let trial = Trial::measuring().plays("wait -> drain");
    let drain = trial.now;
    let trial = trial.plays(
        "wait -> blame fast: did not end after the cap of its last fetch, teardown at once, stop fast",
    );
    assert_eq!(trial.now, drain + secs(1) + LINGER, "their cap, and more");
    // Before the idle phase there is nothing to end.
    Trial::after("--slow 0", &[&SET_UP]).plays(
        "go-on ->
         fast ready -> idle
         go-on -> stop fast
         fast ends 0 -> load, start fast measure
         fast ready -> measure
         go-on -> stop fast",
    );
}

#[test]
fn a_role_that_ends_unasked_is_late_or_says_nonsense_ends_the_trial() {
    let within = roles::timeouts(Role::Origin, &ServerToggles::default()).ready.as_secs();
    Trial::after("", &[&["begin"]])
        .plays("origin ends 0 -> blame origin: ended unasked (exit status: 0), teardown at once");
    Trial::after("", &[&["begin"]]).plays(&format!(
        "wait -> blame origin: was not ready within {within} s, teardown at once, stop origin"
    ));
    Trial::after("", &[&SET_UP]).plays(
        "fast ends 0 -> blame fast: ended unasked (exit status: 0), teardown at once, stop proxy",
    );
    Trial::measuring().plays(
        "fast ends 1 -> blame fast: ended unasked (exit status: 1), teardown at once, stop proxy",
    );
    // The proxy is dead already.
    Trial::measuring().plays(
        "proxy dies -> blame proxy: ended unasked (signal: 9 (SIGKILL)), teardown at once, stop fast
         fast ends 0 -> stop origin",
    );
    // Who was blamed is not blamed again; of others a record is lost.
    Trial::measuring().plays(
        "slow nonsense -> blame slow: nonsense, teardown at once, stop fast
         slow nonsense ->
         proxy nonsense -> blame proxy: nonsense",
    );
}

#[test]
fn a_trial_that_cannot_go_on_stops_what_runs() {
    Trial::measuring().plays("broken -> teardown at once, stop fast\n broken ->");
    // A role of which no process could be made is not waited for.
    let mut phases = Trial::after("", &[]).phases;
    phases.on(Input::Begin(Origin::Ours), Instant::now());
    let cut_short = Action::Begin(Phase::Teardown, Before::CutShort);
    assert_eq!(phases.on(Input::Broken, Instant::now()), [cut_short]);
    assert_eq!(phases.until(), None);
}

#[test]
fn who_does_not_end_when_asked_is_killed() {
    let within = roles::timeouts(Role::Proxy, &ServerToggles::default()).end.as_secs();
    let trial = Trial::after("--slow 0", &[&SET_UP, &LOADED, &MEASURING, &["fast ends 0"]]);
    let trial = trial.plays(&format!(
        "wait -> blame proxy: did not end within {within} s and was killed, kill proxy"
    ));
    assert_eq!(trial.phases.until(), Some(trial.now + DEATH));
    // Not even the kernel can end it.
    let trial = trial.plays(
        "wait -> stop origin
         origin ends 1 -> blame origin: did not end well (exit status: 1)",
    );
    assert_eq!(trial.phases.until(), None);
}

#[test]
fn a_signal_cuts_the_trial_short_and_more_of_them_hurry_it() {
    let trial = Trial::measuring();
    let start = trial.now;
    let trial = trial.plays("signal 2 -> teardown at once, stop fast");
    let hasty = trial.phases.until().expect("a deadline");
    assert!(hasty < start + secs(1), "all of them together");
    let trial = trial.plays("signal 15 ->");
    assert_eq!(trial.phases.until(), Some(start), "at once");
    assert!(trial.phases.is_overdue(start));
    // Nobody is to blame.
    let trial = trial.plays("overdue -> kill fast\n fast dies -> stop proxy");
    assert_eq!(trial.phases.interrupted(), Some(2), "the first of them");
}

#[test]
fn requests_wait_only_where_idle_workers_share_nothing() {
    use ListenerMode::{Reuseport, Shared};
    use Requests::{AtOnce, Held};
    for (place, mode, may, expected) in [
        (Placement::Spread, Reuseport, Held, Held),
        (Placement::OneWorker, Reuseport, Held, Held),
        (Placement::Hash, Reuseport, Held, AtOnce),
        (Placement::Spread, Shared, Held, AtOnce),
        (Placement::Spread, Reuseport, AtOnce, AtOnce),
    ] {
        assert_eq!(requests(place, mode, may), expected, "{place} {mode:?} {may:?}");
    }
}
