//! The whole of it: pictures and words of every act, and what must never panic.

pub(crate) mod fixture;

use proptest::collection::vec;
use proptest::prelude::*;
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;
use records::{
    Bytes, Dialed, DownloadInterval, ListenerSample, Micros, MonoNs, Outcome, Phase, PhaseSpan,
    Record, SchedSample, Summary, Watched,
};
use report::Style;

use crate::words::{Hoped, judged, line};
use crate::{Key, Show, Side, draw};
use fixture::{START, at};

const PLAIN: Style = Style::Plain;

fn buffer(show: &Show, now: MonoNs, look: Style, (width, height): (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    terminal.draw(|frame| draw(show, now, look, frame.buffer_mut())).expect("drawn");
    terminal.backend().buffer().clone()
}

/// The letters of a picture, without the blanks at the ends of its lines.
fn picture(show: &Show, ms: u64, look: Style, size: (u16, u16)) -> String {
    let buffer = buffer(show, at(ms), look, size);
    let width = usize::from(size.0.max(1));
    let lines = buffer.content().chunks(width).map(|row| {
        let line: String = row.iter().map(ratatui_core::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_act_has_its_picture() {
    let judged = || fixture::judged("starved", 27, 53);
    for (name, show, ms, size) in [
        ("the_opening", fixture::show(), 2_000, (80, 24)),
        ("fetches_alone", fixture::idle(), 9_000, (80, 24)),
        ("starving", fixture::starving(), 16_500, (80, 24)),
        ("starving_on_a_large_screen", fixture::starving(), 16_500, (120, 40)),
        ("what_the_left_proved", judged(), 18_000, (80, 24)),
        ("curing", fixture::curing(), 45_000, (80, 24)),
        ("side_by_side", fixture::closing(), 60_000, (80, 24)),
        ("side_by_side_on_a_large_screen", fixture::closing(), 60_000, (120, 40)),
    ] {
        insta::assert_snapshot!(name, picture(&show, ms, PLAIN, size));
    }
}

#[test]
fn starving_on_small_screens() {
    let show = fixture::starving();
    let sizes = [(60, 16), (40, 12), (24, 8), (10, 3), (1, 1)];
    let pictures = sizes.map(|size| format!("{size:?}\n{}", picture(&show, 16_500, PLAIN, size)));
    insta::assert_snapshot!(pictures.join("\n\n"));
}

#[test]
fn a_left_that_proves_nothing() {
    let text = picture(&fixture::judged("inconclusive", 3, 77), 18_000, PLAIN, (80, 24));
    assert!(text.contains("This run proves nothing: the hypervisor took CPU time"), "{text}");
    assert!(text.contains("? INCONCLUSIVE"), "{text}");
}

#[test]
fn a_trial_that_could_not_be_run() {
    let mut show = fixture::idle();
    show.over(Side::Left, Err("failed to start the origin role".to_owned()));
    fixture::tick(&mut show, 9_500);
    insta::assert_snapshot!(picture(&show, 9_500, PLAIN, (80, 24)));
}

#[test]
fn a_picture_that_is_held_stands_still() {
    let mut show = fixture::starving();
    show.key(Key::Hold, at(16_500));
    let before = picture(&show, 16_500, PLAIN, (80, 24));
    assert!(before.contains("HELD"), "{before}");
    let more = (0..20).map(|n| fixture::hold(1, 1, 14_900 + n * 90, 14_980 + n * 90));
    fixture::take(&mut show, Side::Left, more);
    fixture::tick(&mut show, 17_400);
    let after = picture(&show, 17_400, PLAIN, (80, 24));
    // But for the clock.
    let without_title = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
    assert_eq!(without_title(&before), without_title(&after));
    show.key(Key::Hold, at(17_400));
    let released = picture(&show, 17_400, PLAIN, (80, 24));
    assert_ne!(without_title(&before), without_title(&released));
}

#[test]
fn without_colour_there_is_none() {
    let shows = [fixture::show(), fixture::idle(), fixture::starving(), fixture::closing()];
    for show in &shows {
        let buffer = buffer(show, at(60_000), PLAIN, (120, 40));
        let coloured =
            |cell: &&ratatui_core::buffer::Cell| (cell.fg, cell.bg) != (Color::Reset, Color::Reset);
        assert_eq!(buffer.content().iter().find(coloured), None);
    }
}

#[test]
fn colour_tells_nothing_that_glyphs_do_not() {
    // The same letters with colours and without.
    let show = fixture::starving();
    let size = (80, 24);
    assert_eq!(picture(&show, 16_500, PLAIN, size), picture(&show, 16_500, Style::Colour, size));
    // And what is coloured is: failed fetches in vermillion, downloads each in its own.
    let buffer = buffer(&show, at(16_500), Style::Colour, size);
    let colours_of = |letter: &str| {
        let cells = buffer.content().iter().filter(|cell| cell.symbol() == letter);
        let mut colours: Vec<Color> = cells.map(|cell| cell.fg).collect();
        colours.dedup();
        colours
    };
    assert!(colours_of("✗").contains(&Color::Indexed(202)), "{:?}", colours_of("✗"));
    assert!(!colours_of("✓").contains(&Color::Indexed(202)), "{:?}", colours_of("✓"));
}

/// What fits into the two lines of a screen of 80, with a blank on either side.
const ROOM: usize = 2 * 78;

fn said(show: &Show) -> String {
    let arms = [show.arm(Side::Left).clone(), show.arm(Side::Right).clone()];
    line(show.act(), &arms)
}

#[test]
fn every_act_has_a_line_that_fits() {
    let mut show = fixture::judged("starved", 127, 53);
    fixture::tick(&mut show, 26_000);
    let shows = [
        fixture::show(),
        fixture::idle(),
        fixture::starving(),
        fixture::judged("starved", 127, 53),
        fixture::judged("degraded", 170, 0),
        show,
        fixture::curing(),
        fixture::closing(),
    ];
    let lines: Vec<String> = shows.iter().map(said).collect();
    for line in &lines {
        assert!(line.chars().count() <= ROOM, "{}: {line}", line.chars().count());
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_line_promises_nothing_that_did_not_happen() {
    for (verdict, failed, hoped, says) in [
        ("starved", 53, Hoped::Starved, "Starved: 53 of 80"),
        ("degraded", 2, Hoped::Starved, "Not starved here: p99 under load"),
        ("healthy", 0, Hoped::Starved, "Not starved here: none of 80"),
        ("inconclusive", 70, Hoped::Starved, "This run proves nothing: the hypervisor"),
        ("degraded", 2, Hoped::Cured, "Degraded: p99 under load"),
        ("healthy", 0, Hoped::Cured, "Cured: none of 80"),
        ("starved", 53, Hoped::Cured, "Not cured here, still starved: 53 of 80"),
        ("inconclusive", 0, Hoped::Cured, "This run proves nothing: the hypervisor"),
    ] {
        let summary = fixture::summary(verdict, 80 - failed, failed, 61_000);
        let line = judged(&summary, hoped);
        assert!(line.starts_with(says), "{verdict}: {line}");
        // Every reason that the trial gives, and no other.
        let (_, reasons) = line.split_once(": ").expect("a lead");
        assert_eq!(reasons.trim_end_matches('.'), summary.verdict_reasons.join("; "));
    }
}

#[derive(Clone, Debug)]
enum Step {
    Key(Key),
    Later(u64),
    Record(Side, Box<Record>),
    Manifest(Side, Vec<PhaseSpan>),
    Over(Side, u8),
    Draw(u16, u16),
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Left), Just(Side::Right)]
}

/// Around the show, or anywhere.
fn time() -> impl Strategy<Value = MonoNs> {
    prop_oneof![
        4 => (0..120_000_000_000_u64).prop_map(|ns| MonoNs(START.0 + ns)),
        1 => any::<u64>().prop_map(MonoNs),
    ]
}

fn length() -> impl Strategy<Value = Micros> {
    prop_oneof![4 => (0..5_000_000_u64).prop_map(Micros), 1 => any::<u64>().prop_map(Micros)]
}

fn worker() -> impl Strategy<Value = u32> {
    prop_oneof![8 => 0..4_u32, 1 => any::<u32>()]
}

fn phase() -> impl Strategy<Value = Phase> {
    prop::sample::select(vec![
        Phase::Setup,
        Phase::Idle,
        Phase::Load,
        Phase::Measure,
        Phase::Drain,
        Phase::Teardown,
    ])
}

fn record() -> impl Strategy<Value = Record> {
    let outcome = prop::sample::select(Outcome::ALL.to_vec());
    prop_oneof![
        (phase(), time(), length(), outcome)
            .prop_map(|(phase, at, took, outcome)| fixture::fetch_of(phase, at, took, outcome)),
        (worker(), time(), time(), 0..6_u16, any::<u64>()).prop_map(
            |(worker, from, to, port, bytes)| fixture::hold_of(
                worker,
                port,
                (from, to),
                Bytes(bytes)
            )
        ),
        (worker(), time(), time(), length())
            .prop_map(|(worker, from, to, poll)| fixture::stretch_of(worker, (from, to), poll)),
        (worker(), time(), any::<u64>(), any::<u64>()).prop_map(
            |(worker, at_ns, run_ns, run_wait_ns)| Record::SchedSample(SchedSample {
                who: Watched::Worker(worker),
                at_ns,
                run_ns,
                run_wait_ns,
            })
        ),
        (time(), 0..300_u64, any::<u32>()).prop_map(|(at_ns, inode, queue)| {
            Record::ListenerSample(ListenerSample { at_ns, inode, queue, limit: 0 })
        }),
        (worker(), 0..6_u16, time()).prop_map(|(slot, client_port, at_ns)| {
            Record::Dialed(Dialed { slot, client_port, at_ns })
        }),
        (time(), time(), vec(any::<u64>(), 0..5)).prop_map(|(start_ns, end_ns, bytes)| {
            let bytes = bytes.into_iter().map(Bytes).collect();
            Record::DownloadInterval(DownloadInterval { start_ns, end_ns, bytes })
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let keys = vec![Key::Hold, Key::Next, Key::Quit, Key::Interrupt, Key::Other];
    let span = (phase(), time(), any::<bool>()).prop_map(|(phase, start_ns, ended)| PhaseSpan {
        phase,
        start_ns,
        end_ns: ended.then_some(start_ns),
    });
    prop_oneof![
        2 => prop::sample::select(keys).prop_map(Step::Key),
        2 => (0..20_000_000_000_u64).prop_map(Step::Later),
        6 => (side(), record()).prop_map(|(side, record)| Step::Record(side, Box::new(record))),
        1 => (side(), vec(span, 0..6)).prop_map(|(side, spans)| Step::Manifest(side, spans)),
        1 => (side(), 0..6_u8).prop_map(|(side, how)| Step::Over(side, how)),
        3 => (0..200_u16, 0..60_u16).prop_map(|(width, height)| Step::Draw(width, height)),
        1 => (1..6_u16, 1..6_u16).prop_map(|(width, height)| Step::Draw(width, height)),
    ]
}

fn ended(how: u8) -> Result<Box<Summary>, String> {
    let verdict = match how {
        0 => return Err("anything at all: ✗ \u{7} \u{1F600}".to_owned()),
        1 => "starved",
        2 => "degraded",
        3 => "healthy",
        _ => "inconclusive",
    };
    Ok(Box::new(fixture::summary(verdict, u64::from(how), u64::from(how % 2), 7)))
}

proptest! {
    // A picture costs milliseconds here.
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nothing_panics(steps in vec(step(), 0..80), many in any::<bool>()) {
        let mut show = fixture::show();
        let mut now = START;
        let style = if many { Style::Colour } else { PLAIN };
        for step in steps {
            match step {
                Step::Key(key) => show.key(key, now),
                Step::Later(ns) => now = MonoNs(now.0 + ns),
                Step::Record(side, record) => show.take(side, &record),
                Step::Manifest(side, phases) => {
                    let manifest = records::Manifest { phases, ..fixture::manifest(&[]) };
                    show.manifest(side, &manifest);
                }
                Step::Over(side, how) => show.over(side, ended(how)),
                Step::Draw(width, height) => {
                    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
                    draw(&show, now, style, &mut buffer);
                    prop_assert_eq!(buffer.area, Rect::new(0, 0, width, height));
                }
            }
            show.tick(now);
        }
    }
}
