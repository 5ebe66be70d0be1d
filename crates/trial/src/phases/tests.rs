//! Whole trials without a process: what happens is told, what is to be done is looked at.

use std::os::unix::process::ExitStatusExt;

use records::{
    Accepted, Bytes, Dialed, DownloadInterval, MonoNs, Record, ServerToggles, SlowOrder, from_words,
};

use super::*;

/// A trial whose children do what the test says, on a clock of its own.
struct Trial {
    phases: Phases<'static>,
    now: Instant,
    done: Vec<Action>,
}

fn ended(code: i32) -> ExitStatus {
    ExitStatus::from_raw(code << 8)
}

fn killed() -> ExitStatus {
    ExitStatus::from_raw(9)
}

fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

impl Trial {
    fn of(words: &str) -> Self {
        let words: Vec<&str> = words.split_whitespace().collect();
        Self::of_arm(from_words(&words))
    }

    fn of_arm(arm: Arm) -> Self {
        let arm: &'static Arm = Box::leak(Box::new(arm));
        let now = Instant::now();
        let phases = Phases::new(arm, secs(3), secs(8));
        let mut trial = Self { phases, now, done: Vec::new() };
        trial.on(Input::Begin(Origin::Anywhere));
        trial
    }

    /// One whose mirror is up, and whose first fetches are to be started.
    fn set_up(words: &str) -> Self {
        let mut trial = Self::of(words);
        trial.on(Input::Ready(Role::Origin));
        trial.on(Input::ProxyReady(Visibility::Own, AcceptsTold::AtOnce, None));
        trial
    }

    /// One whose idle phase is over: the downloads, if there are any, are to be started.
    fn loaded(words: &str) -> Self {
        let mut trial = Self::set_up(words);
        trial.on(Input::Ready(Role::Fast));
        trial.on(Input::Ended(Role::Fast, ended(0)));
        trial
    }

    /// One that measures.
    fn measuring() -> Self {
        let mut trial = Self::loaded("--slow 0");
        trial.on(Input::Ready(Role::Fast));
        trial.done();
        trial
    }

    fn on(&mut self, input: Input) {
        let actions = self.phases.on(input, self.now);
        for action in &actions {
            if let Action::Start(start) = action {
                self.phases.started(start.role());
            }
        }
        self.done.extend(actions);
    }

    /// Lets the time run until the state is over.
    fn wait(&mut self) {
        self.now = self.phases.until().expect("something to wait for");
        self.on(Input::Deadline);
    }

    fn dialed(&mut self, slot: u32, client_port: u16) {
        let at_ns = MonoNs(0);
        self.on(Input::Record(Box::new(Record::Dialed(Dialed { slot, client_port, at_ns }))));
    }

    fn accepted(&mut self, client_port: u16, worker: u32) {
        let accepted = Accepted { worker, session: 0, client_port, at_ns: MonoNs(0) };
        self.on(Input::Record(Box::new(Record::Accepted(accepted))));
    }

    fn received(&mut self, bytes: &[u64]) {
        let bytes = bytes.iter().copied().map(Bytes).collect();
        let interval = DownloadInterval { start_ns: MonoNs(0), end_ns: MonoNs(1), bytes };
        self.on(Input::Record(Box::new(Record::DownloadInterval(interval))));
    }

    /// What was to be done since the last look.
    fn done(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.done)
    }

    /// What a role was blamed for since the last look.
    fn blamed(&mut self) -> Vec<(Role, String)> {
        let blamed = |action| match action {
            Action::Blame(role, what) => Some((role, what)),
            _ => None,
        };
        self.done().into_iter().filter_map(blamed).collect()
    }
}

fn begin(phase: Phase) -> Action {
    Action::Begin(phase, Before::Ended)
}

const IDLE: Action = Action::Start(Start::Fast(Phase::Idle, Duration::from_secs(3)));
const MEASURE: Action = Action::Start(Start::Fast(Phase::Measure, Duration::from_secs(8)));
const CUT_SHORT: Action = Action::Begin(Phase::Teardown, Before::CutShort);

#[test]
fn phases_follow_each_other_to_the_end() {
    let mut trial = Trial::of("--slow 1");
    assert_eq!(trial.done(), [begin(Phase::Setup), Action::Start(Start::Origin)]);
    trial.on(Input::Ready(Role::Origin));
    assert_eq!(trial.done(), [Action::Start(Start::Proxy)]);
    trial.on(Input::ProxyReady(Visibility::Own, AcceptsTold::AtOnce, None));
    assert_eq!(trial.done(), [IDLE], "still within the setup");
    trial.on(Input::Ready(Role::Fast));
    assert_eq!(trial.done(), [begin(Phase::Idle)]);
    trial.on(Input::Ended(Role::Fast, ended(0)));
    assert_eq!(trial.done(), [begin(Phase::Load), Action::Start(Start::Slow(Requests::AtOnce))]);
    trial.on(Input::Ready(Role::Slow));
    trial.dialed(0, 40_000);
    trial.accepted(40_000, 1);
    assert_eq!(trial.done(), [], "it does not move yet");
    trial.received(&[1]);
    assert_eq!(trial.done(), [MEASURE]);
    trial.on(Input::Ready(Role::Fast));
    assert_eq!(trial.done(), [begin(Phase::Measure)]);
    trial.wait();
    assert_eq!(trial.done(), [begin(Phase::Drain)]);
    trial.on(Input::Ended(Role::Fast, ended(0)));
    assert_eq!(trial.done(), [begin(Phase::Teardown), Action::Dismiss(Role::Slow)]);
    for (role, next) in [(Role::Slow, Some(Role::Proxy)), (Role::Proxy, Some(Role::Origin))] {
        trial.on(Input::Ended(role, ended(0)));
        assert_eq!(trial.done(), next.map(Action::Dismiss).into_iter().collect::<Vec<_>>());
    }
    trial.on(Input::Ended(Role::Origin, ended(0)));
    assert_eq!((trial.done(), trial.phases.until()), (Vec::new(), None));
    assert_eq!(trial.phases.interrupted(), None);
}

#[test]
fn a_proxy_that_runs_already_and_one_that_is_none_are_not_started() {
    for kind in ["url:127.0.0.1:80", "direct"] {
        let mut arm: Arm = from_words(&["--reuseport"]);
        arm.server.kind = kind.parse().expect("a proxy");
        let mut trial = Trial::of_arm(arm);
        trial.on(Input::Ready(Role::Origin));
        assert_eq!(trial.done().pop(), Some(IDLE), "{kind}");
        trial.on(Input::Ready(Role::Fast));
        trial.on(Input::Ended(Role::Fast, ended(0)));
        let downloads = Action::Start(Start::Slow(Requests::AtOnce));
        assert_eq!(trial.done().pop(), Some(downloads), "nobody tells who accepted them");
    }
}

#[test]
fn downloads_are_steered_and_one_that_is_sent_off_must_move_anew() {
    let mut trial = Trial::loaded("--slow 2 --reuseport");
    assert_eq!(trial.done().pop(), Some(Action::Start(Start::Slow(Requests::Held))));
    trial.on(Input::Ready(Role::Slow));
    for (slot, port) in [(0, 40_000), (1, 40_001)] {
        trial.dialed(slot, port);
        trial.accepted(port, 0);
    }
    let redial = Action::Order(SlowOrder::Redial { client_port: 40_001 });
    assert_eq!(trial.done(), [redial]);
    trial.dialed(1, 40_002);
    trial.accepted(40_002, 1);
    assert_eq!(trial.done(), [Action::Order(SlowOrder::Go)]);
    trial.received(&[1, 0]);
    assert_eq!(trial.done(), []);
    trial.received(&[0, 1]);
    assert_eq!(trial.done(), [MEASURE]);
}

#[test]
fn neither_placement_nor_motion_is_waited_for_for_ever() {
    let mut trial = Trial::loaded("--slow 2 --reuseport");
    trial.on(Input::Ready(Role::Slow));
    trial.done();
    let start = trial.now;
    trial.wait();
    assert_eq!(trial.done(), [Action::Order(SlowOrder::Go)], "with what there is");
    trial.wait();
    assert_eq!(trial.done(), [MEASURE]);
    assert_eq!(trial.now, start + STEERING + MOTION);
}

#[test]
fn what_happens_does_not_make_the_measure_phase_longer() {
    let trial = Trial::measuring();
    let end = trial.now + secs(8);
    assert!(!trial.phases.is_overdue(end - secs(1)));
    assert!(trial.phases.is_overdue(end));
    let mut idle = Trial::set_up("");
    idle.on(Input::Ready(Role::Fast));
    let late = idle.phases.until().expect("a deadline") + secs(1);
    assert!(!idle.phases.is_overdue(late), "what is there is heard first");
}

#[test]
fn fetches_that_ended_early_leave_nothing_to_drain() {
    let mut trial = Trial::measuring();
    trial.on(Input::Ended(Role::Fast, ended(0)));
    let drained = [begin(Phase::Drain), begin(Phase::Teardown), Action::Dismiss(Role::Proxy)];
    assert_eq!(trial.done(), drained);
}

#[test]
fn fetches_that_do_not_end_are_a_fault() {
    let mut trial = Trial::measuring();
    trial.wait();
    let drain = trial.now;
    trial.wait();
    assert_eq!(trial.now, drain + secs(1) + LINGER, "their cap, and more");
    let what = "did not end after the cap of its last fetch".to_owned();
    let actions = [
        begin(Phase::Drain),
        Action::Blame(Role::Fast, what),
        CUT_SHORT,
        Action::Dismiss(Role::Fast),
    ];
    assert_eq!(trial.done(), actions);
}

#[test]
fn who_is_asked_to_go_on_ends_the_fetches_of_the_phase() {
    let mut trial = Trial::set_up("--slow 0");
    trial.done();
    trial.on(Input::GoOn);
    assert_eq!(trial.done(), [], "the idle phase has not begun");
    trial.on(Input::Ready(Role::Fast));
    trial.on(Input::GoOn);
    assert_eq!(trial.done(), [begin(Phase::Idle), Action::Dismiss(Role::Fast)]);
    trial.on(Input::Ended(Role::Fast, ended(0)));
    trial.on(Input::Ready(Role::Fast));
    trial.on(Input::GoOn);
    assert_eq!(trial.done().pop(), Some(Action::Dismiss(Role::Fast)));
}

#[test]
fn a_role_that_ends_unasked_ends_the_trial() {
    let unasked = |role, status| (role, format!("ended unasked ({status})"));
    let mut trial = Trial::of("");
    trial.on(Input::Ended(Role::Origin, ended(0)));
    assert_eq!(trial.blamed(), [unasked(Role::Origin, ended(0))]);

    let mut trial = Trial::set_up("");
    trial.on(Input::Ended(Role::Fast, ended(0)));
    assert_eq!(trial.blamed(), [unasked(Role::Fast, ended(0))], "before it was ready");

    let mut trial = Trial::measuring();
    trial.on(Input::Ended(Role::Fast, ended(1)));
    assert_eq!(trial.blamed(), [unasked(Role::Fast, ended(1))]);

    let mut trial = Trial::measuring();
    trial.on(Input::Ended(Role::Proxy, killed()));
    assert_eq!(
        trial.done(),
        [
            Action::Blame(Role::Proxy, format!("ended unasked ({})", killed())),
            CUT_SHORT,
            Action::Dismiss(Role::Fast),
        ]
    );
    trial.on(Input::Ended(Role::Fast, ended(0)));
    assert_eq!(trial.done(), [Action::Dismiss(Role::Origin)], "the proxy is dead already");
}

#[test]
fn a_role_that_is_not_ready_or_says_nonsense_is_a_fault() {
    let mut trial = Trial::of("");
    trial.wait();
    let within = roles::timeouts(Role::Origin, &ServerToggles::default()).ready.as_secs();
    let late = (Role::Origin, format!("was not ready within {within} s"));
    assert_eq!(trial.blamed(), [late]);

    let mut trial = Trial::measuring();
    trial.on(Input::Fault(Role::Slow, "printed nonsense".to_owned()));
    assert_eq!(trial.blamed(), [(Role::Slow, "printed nonsense".to_owned())]);
    trial.on(Input::Fault(Role::Slow, "printed nonsense".to_owned()));
    assert_eq!(trial.done(), [], "it was blamed");
    trial.on(Input::Fault(Role::Proxy, "printed nonsense".to_owned()));
    assert_eq!(trial.blamed(), [(Role::Proxy, "printed nonsense".to_owned())], "a record is lost");
}

#[test]
fn a_trial_that_cannot_go_on_stops_what_runs() {
    let mut trial = Trial::measuring();
    trial.on(Input::Broken);
    assert_eq!(trial.done(), [CUT_SHORT, Action::Dismiss(Role::Fast)]);
    trial.on(Input::Broken);
    assert_eq!(trial.done(), [], "it is being stopped");

    // A role of which no process could be made is not waited for.
    let arm = Arm::default();
    let mut phases = Phases::new(&arm, secs(3), secs(8));
    phases.on(Input::Begin(Origin::Anywhere), Instant::now());
    assert_eq!(phases.on(Input::Broken, Instant::now()), [CUT_SHORT]);
    assert_eq!(phases.until(), None);
}

#[test]
fn who_does_not_end_when_asked_is_killed() {
    let mut trial = Trial::measuring();
    trial.wait();
    trial.on(Input::Ended(Role::Fast, ended(0)));
    trial.done();
    trial.wait();
    let within = roles::timeouts(Role::Proxy, &ServerToggles::default()).end.as_secs();
    let what = format!("did not end within {within} s and was killed");
    assert_eq!(trial.done(), [Action::Blame(Role::Proxy, what), Action::Kill(Role::Proxy)]);
    let dead = trial.now + DEATH;
    assert_eq!(trial.phases.until(), Some(dead));
    trial.wait();
    assert_eq!(trial.done(), [Action::Dismiss(Role::Origin)], "not even the kernel can end it");
    trial.on(Input::Ended(Role::Origin, ended(1)));
    let unwell = (Role::Origin, format!("did not end well ({})", ended(1)));
    assert_eq!(trial.blamed(), [unwell]);
    assert_eq!(trial.phases.until(), None);
}

#[test]
fn a_signal_cuts_the_trial_short_and_more_of_them_hurry_it() {
    let mut trial = Trial::measuring();
    let start = trial.now;
    trial.on(Input::Signal(2));
    assert_eq!(trial.done(), [CUT_SHORT, Action::Dismiss(Role::Fast)]);
    let hasty = trial.phases.until().expect("a deadline");
    assert!(hasty < start + secs(1), "all of them together");
    trial.on(Input::Signal(15));
    assert_eq!(trial.phases.until(), Some(start), "at once");
    assert!(trial.phases.is_overdue(start));
    trial.on(Input::Deadline);
    assert_eq!(trial.done(), [Action::Kill(Role::Fast)], "nobody is to blame");
    trial.on(Input::Ended(Role::Fast, killed()));
    assert_eq!(trial.done(), [Action::Dismiss(Role::Proxy)]);
    assert_eq!(trial.phases.interrupted(), Some(2), "the first of them");
}

#[test]
fn requests_wait_only_where_idle_workers_share_nothing() {
    use AcceptsTold::{AtOnce, WithRequest};
    use ListenerMode::{Reuseport, Shared};
    for (place, mode, accepts, expected) in [
        (Placement::Spread, Reuseport, AtOnce, Requests::Held),
        (Placement::OneWorker, Reuseport, AtOnce, Requests::Held),
        (Placement::Hash, Reuseport, AtOnce, Requests::AtOnce),
        (Placement::Spread, Shared, AtOnce, Requests::AtOnce),
        (Placement::Spread, Reuseport, WithRequest, Requests::AtOnce),
    ] {
        assert_eq!(requests(place, mode, accepts), expected, "{place} {mode:?} {accepts:?}");
    }
}
