//! `turnstile demo` as a room sees it: in a terminal of tmux.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::screen::Screen;
use records::{Manifest, Summary};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::{document, family, in_turn, kill, only, say, those_of, turnstile, until};
use crate::tmux::Tmux;

/// Trials that end only when they are told to, with little to move: 20 fetches take a quarter of a second.
const ENDLESS: &str = "--idle 50s --duration 50s --arrivals 80/s --fetch-size 64KiB --slow 2";
const ACTS: usize = 6;

/// A show in a terminal.
struct Stage {
    tmux: Tmux,
    dir: TempDir,
}

impl Stage {
    fn new(size: (u16, u16)) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let turnstile = turnstile();
        let program = Path::new(turnstile.get_program());
        let own = std::env::current_exe().expect("this test");
        let vars = [("TURNSTILE", program), ("PLACE", dir.path()), ("TESTS", own.as_path())];
        Some(Self { tmux: Tmux::start(size, &vars)?, dir })
    }

    fn runs(&self) -> PathBuf {
        self.dir.path().join("runs")
    }

    /// Starts a show whose trials do not end by themselves.
    fn begin(&self, before: &str) {
        let line =
            format!("{before} $TURNSTILE demo --cure quota --runs-dir $PLACE/runs -- {ENDLESS}");
        self.tmux.line(line.trim_start());
        self.await_act(1);
    }

    fn await_act(&self, act: usize) -> String {
        self.tmux.await_text(&format!("act {act} of {ACTS}"))
    }

    /// Goes on, act by act, to this one: one key for each act, and for each phase of a trial.
    fn go_to(&self, act: usize) {
        let pressed = RefCell::new(String::new());
        self.tmux.await_screen(&format!("act {act}"), |screen| {
            let there = (1..=ACTS).find(|act| screen.contains(&format!("act {act} of")));
            let phase = ["fetches alone", "fetches beside"].map(|text| screen.contains(text));
            let now = format!("{there:?} {phase:?}");
            if there < Some(act) && now != *pressed.borrow() {
                self.tmux.key("n");
                pressed.replace(now);
            }
            there >= Some(act)
        });
    }

    /// Everybody who runs because of the show.
    fn family(&self) -> Vec<u32> {
        family(self.tmux.shell())
    }

    /// Waits for the shell, and checks that all is as it was: the screen, the cursor, the keys, and
    /// nobody left of `family`. Returns the exit code.
    fn assert_restored(&self, family: &[u32]) -> i32 {
        let tmux = &self.tmux;
        until("the end of the show", || (tmux.knows("pane_current_command") == "sh").then_some(()));
        testkit::await_gone(family.iter().copied());
        let left = those_of(self.dir.path());
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(tmux.knows("alternate_on"), "0", "the other screen");
        assert_eq!(tmux.knows("cursor_flag"), "1", "the cursor");
        tmux.line("echo left=$?=; stty -a");
        let screen = tmux.await_screen("the keys", |screen| {
            screen.contains("left=") && screen.contains("extproc")
        });
        // What was typed has words of its own.
        let told = screen.rsplit("speed").next().unwrap_or_default();
        let has = |word: &str| told.split([' ', ';', '\n']).any(|there| there == word);
        assert!(has("echo") && has("icanon") && has("isig") && has("opost"), "{screen}");
        let code = screen.rsplit("left=").find_map(|rest| rest.split_once('=')?.0.parse().ok());
        code.expect("an exit code")
    }

    /// The trials of the one show that ran, left and right, as far as they came.
    fn trials(&self) -> Vec<(Manifest, Option<Summary>)> {
        let show = only(&self.runs()).expect("a show");
        let places = ["left-starved", "right-cured"].map(|place| show.join(place));
        let runs = places.iter().filter_map(|place| only(place));
        let told = |run: PathBuf| {
            let manifest = document(&run.join("manifest.json")).expect("a manifest");
            (manifest, document(&run.join("summary.json")))
        };
        runs.map(told).collect()
    }
}

#[test]
fn every_key_does_what_it_says_in_colour_and_in_any_size() {
    let _turn = in_turn();
    let Some(stage) = Stage::new((80, 24)) else { return };
    let tmux = &stage.tmux;
    stage.begin("");
    assert_eq!((tmux.knows("alternate_on"), tmux.knows("cursor_flag")), ("1".into(), "0".into()));
    tmux.key("x");
    // It would be over in 6 s: held, it is still there when the clock has gone on.
    tmux.key("Space");
    let held = tmux.await_text("HELD");
    let clock = |screen: &str| screen.lines().next().map(|title| title.contains("0:08"));
    tmux.await_screen("the clock", |screen| clock(screen) == Some(true));
    assert!(tmux.text().contains("act 1 of 6"), "{held}");
    tmux.key("Space");
    tmux.await_screen("the end of the hold", |screen| !screen.contains("HELD"));

    stage.go_to(2);
    // The records of a trial that runs at this moment.
    tmux.await_text("served, half in");
    assert_ne!(colours(tmux), 0);
    tmux.key("n");
    tmux.await_text("fetches beside downloads");
    tmux.await_text("fetches failed.");
    for (width, height) in [(121, 41), (2, 2), (80, 24)] {
        tmux.resize((width, height));
        if height > 2 {
            tmux.await_screen(&format!("{width} columns"), |screen| {
                let widest = screen.lines().map(|line| line.chars().count()).max();
                let both = screen.contains("starved: ") && screen.contains("cured: ");
                let size = (widest, screen.lines().count());
                both && size == (Some(width.into()), height.into())
            });
        }
    }
    assert!(tmux.text().contains("act 2 of 6"));
    tmux.key("Space");
    tmux.await_text("the trial goes on behind the picture");
    let family = stage.family();
    stage.go_to(ACTS);
    let last = tmux.await_text("side by side");
    tmux.key("q");
    assert_eq!(stage.assert_restored(&family), 0);
    let farewell = tmux.text();
    assert!(farewell.contains("--open"), "{farewell}");

    // `n` ended each phase early and spoilt no trial: they can carry a conclusion.
    let trials = stage.trials();
    assert_eq!(trials.len(), 2);
    assert_eq!(trials[1].0.arm.proxy.read_policy.to_string(), "bytes:64KiB", "the cure");
    // What the last act and the farewell say is what the reports say.
    for (name, (_, summary)) in ["starved", "cured"].into_iter().zip(&trials) {
        let told = report::headline(summary.as_ref().expect("a summary"));
        // Whatever a terminal breaks; of long reasons it may have no room for the end.
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let told: String = bare(&format!("{name} {told}")).chars().take(60).collect();
        let has = |screen: &str| bare(screen).contains(&told);
        assert!(has(&last) && has(&farewell), "{told}: {last}{farewell}");
    }
    for (manifest, summary) in trials {
        let summary = summary.expect("a summary");
        assert_eq!((manifest.interrupted, manifest.faults), (None, Vec::new()));
        let attempts = [summary.idle.attempts, summary.measure.attempts];
        assert!(attempts.iter().all(|attempts| (20..1_000).contains(attempts)), "{attempts:?}");
        assert!(summary.measured_us.as_secs() < 40.0, "{}", summary.measured_us);
    }
}

#[test]
fn however_it_is_ended_nothing_is_left() {
    let _turn = in_turn();
    // In the first trial, idle and under load, and in the second; before and after them `demo` tells.
    for (signal, act, text) in [
        (Signal::HUP, 2, "fetches alone"),
        (Signal::INT, 2, "fetches beside downloads"),
        (Signal::TERM, 5, "fetches alone"),
        (Signal::KILL, 2, "served, half in"),
    ] {
        let Some(stage) = Stage::new((80, 24)) else { return };
        stage.begin(if signal == Signal::KILL { "NO_COLOR=1" } else { "" });
        stage.go_to(act);
        if signal == Signal::INT {
            stage.tmux.key("n");
        }
        stage.tmux.await_text(text);
        let family = stage.family();
        match signal {
            Signal::INT => stage.tmux.key("C-c"),
            // The eldest: the show itself.
            _ => kill(family.iter().copied().min().expect("a show"), signal),
        }
        if signal == Signal::KILL {
            // Who is killed gives no terminal back; what it drew is still there.
            assert_eq!(colours(&stage.tmux), 0);
            testkit::await_gone(family);
            continue;
        }
        assert_eq!(stage.assert_restored(&family), 128 + signal.as_raw(), "in act {act}");
        if signal == Signal::INT {
            // What it had is kept, and says that it is a part.
            let trials = stage.trials();
            assert!(trials.iter().all(|(manifest, _)| manifest.interrupted.is_some()), "{act}");
        }
    }
}

#[test]
fn a_show_ends_with_its_terminal() {
    let _turn = in_turn();
    // Told of it by a signal, and one of a session of its own, which is sent none.
    for before in ["", "setsid --wait "] {
        let Some(stage) = Stage::new((80, 24)) else { return };
        let show = format!("$TURNSTILE demo --runs-dir $PLACE/runs -- {ENDLESS}");
        // The shell around it outlives the terminal, and leaves its exit code.
        stage.tmux.line(&format!("{before}sh -c \"trap : HUP; {show}; echo \\$? > $PLACE/code\""));
        stage.await_act(1);
        stage.go_to(2);
        stage.tmux.await_text("served, half in");
        let family = stage.family();
        stage.tmux.end();
        testkit::await_gone(family);
        until("the end of all", || those_of(stage.dir.path()).is_empty().then_some(()));
        let code = fs::read_to_string(stage.dir.path().join("code")).expect("an exit code");
        assert_eq!(code.trim(), "129", "{before}");
        // What it had is kept, and says that it is a part.
        assert!(stage.trials().iter().all(|(trial, _)| trial.interrupted.is_some()), "{before}");
    }
}

/// How many of the screen's sequences colour letters or their ground: ECMA-48, SGR. 39 and 49 are the
/// terminal's own.
fn colours(tmux: &Tmux) -> usize {
    let is_colour = |code: &str| {
        let number: u32 = code.parse().unwrap_or(0);
        matches!(number, 30..=38 | 40..=48 | 90..=97 | 100..=107)
    };
    let screen = tmux.coloured();
    let codes = screen.split("\u{1b}[").skip(1).filter_map(|rest| rest.split_once('m'));
    codes.filter(|(codes, _)| codes.split([';', ':']).any(is_colour)).count()
}

#[test]
fn a_panic_restores_the_terminal_and_can_be_read() {
    let _turn = in_turn();
    let Some(stage) = Stage::new((80, 24)) else { return };
    let tmux = &stage.tmux;
    tmux.line("$TESTS --ignored --exact demo::panics_on_the_screen --nocapture");
    until("the other screen", || (tmux.knows("alternate_on") == "1").then_some(()));
    tmux.key("x");
    tmux.await_text("a panic on purpose");
    assert_eq!(stage.assert_restored(&[]), 0, "it was expected to panic");
}

/// For the test above, which runs it in a terminal.
#[test]
#[ignore = "takes a terminal over and panics: run by another test"]
#[should_panic(expected = "a panic on purpose")]
fn panics_on_the_screen() {
    let mut screen = Screen::enter().expect("a terminal: run it in one");
    until("a key", || {
        let keys = screen.keys(Duration::from_millis(50)).expect("keys");
        (!keys.is_empty()).then_some(())
    });
    panic!("a panic on purpose");
}

#[test]
fn without_a_terminal_there_is_no_show() {
    let dir = tempfile::tempdir().expect("a directory");
    let said = say(turnstile().args(["demo", "--fast"]).current_dir(dir.path())).refused(1);
    assert!(said.contains("a show needs a terminal"), "{said}");
    assert!(!dir.path().join("runs").exists());
}
