//! The whole of it: pictures and words of every act, and what must never panic.

pub(crate) mod fixture;

use proptest::collection::vec;
use proptest::prelude::*;
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;
use records::{MonoNs, Outcome, Record, Summary, Verdict};
use report::Style;
use testkit::fixture::Run;

use crate::words::{Hoped, judged, line};
use crate::{Key, Show, Side, draw};
use fixture::{at, starved, summary};

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
        let line: String = row.iter().map(Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Eighty fetches under load, so many of which failed, others in `us`.
fn came_to(failed: u64, us: u64) -> Summary {
    let good = (80 - failed, Outcome::Ok, us);
    summary(&Run::loaded(&[good, (failed, Outcome::TimeoutNoByte, 1_001_000)]))
}

/// A run that proves nothing.
fn nothing() -> Summary {
    summary(&Run::loaded(&[(7, Outcome::Ok, 5_000)]))
}

#[test]
fn each_act_has_its_picture() {
    for (name, show, ms, size) in [
        ("the_opening", fixture::show(), 2_000, (80, 24)),
        ("fetches_alone", fixture::idle(), 9_000, (80, 24)),
        ("starving", fixture::starving(), 16_500, (80, 24)),
        ("what_the_left_proved", fixture::judged(summary(&starved())), 20_500, (80, 24)),
        ("curing", fixture::curing(), 47_000, (80, 24)),
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
fn a_trial_that_proves_nothing_or_could_not_be_run_says_so() {
    let text = picture(&fixture::judged(nothing()), 20_500, PLAIN, (80, 24));
    assert!(text.contains("This run proves nothing: only 7 fetches"), "{text}");
    assert!(text.contains("? INCONCLUSIVE"), "{text}");

    let mut show = fixture::idle();
    show.over(Side::Left, Err("failed to start the origin role".to_owned()));
    fixture::tick(&mut show, 9_500);
    let text = picture(&show, 9_500, PLAIN, (80, 24));
    assert!(text.contains("The trial could not be run: failed to start the origin role"), "{text}");
    assert!(text.contains("did not run"), "{text}");
}

#[test]
fn a_picture_that_is_held_stands_still() {
    let mut show = fixture::starving();
    show.key(Key::Hold, at(16_500));
    let before = picture(&show, 16_500, PLAIN, (80, 24));
    assert!(before.contains("HELD"), "{before}");
    fixture::trial(&mut show, Side::Left, &starved(), (6_000, 17_400));
    let after = picture(&show, 17_400, PLAIN, (80, 24));
    // But for the clock.
    let without_title = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
    assert_eq!(without_title(&before), without_title(&after));
    show.key(Key::Hold, at(17_400));
    let released = picture(&show, 17_400, PLAIN, (80, 24));
    assert_ne!(without_title(&before), without_title(&released));
}

#[test]
fn colour_tells_nothing_that_glyphs_do_not() {
    let (show, size) = (fixture::starving(), (80, 24));
    let plain = buffer(&show, at(16_500), PLAIN, size);
    let is_coloured = |cell: &&Cell| (cell.fg, cell.bg) != (Color::Reset, Color::Reset);
    assert_eq!(plain.content().iter().find(is_coloured), None);
    // The same letters; and what is coloured is: failed fetches in vermillion.
    let coloured = buffer(&show, at(16_500), Style::Colour, size);
    let of_letter = |letter| coloured.content().iter().filter(move |cell| cell.symbol() == letter);
    let vermillion = |cell: &Cell| cell.fg == Color::Indexed(202);
    assert!(of_letter("✗").any(vermillion) && !of_letter("✓").any(vermillion));
    let letters = |buffer: &Buffer| -> Vec<String> {
        buffer.content().iter().map(|cell| cell.symbol().to_owned()).collect()
    };
    assert_eq!(letters(&plain), letters(&coloured));
}

/// What fits into the two lines of a screen of 80, with a blank on either side.
const ROOM: usize = 2 * 78;

#[test]
fn every_act_has_a_line_that_fits() {
    let mut change = fixture::judged(summary(&starved()));
    fixture::tick(&mut change, 29_000);
    let shows = [
        fixture::show(),
        fixture::idle(),
        fixture::starving(),
        fixture::judged(summary(&starved())),
        fixture::judged(came_to(0, 118_000)),
        change,
        fixture::curing(),
        fixture::closing(),
    ];
    let lines = shows.map(|show| {
        line(show.act(), &[show.arm(Side::Left).clone(), show.arm(Side::Right).clone()])
    });
    for line in &lines {
        assert!(line.chars().count() <= ROOM, "{}: {line}", line.chars().count());
    }
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_line_promises_nothing_that_did_not_happen() {
    use Hoped::{Cured, Starved};
    for (summary, verdict, starved, cured) in [
        (
            came_to(53, 30_000),
            Verdict::Starved,
            "Starved: 53 of 80",
            "Not cured here, still starved: 53",
        ),
        (came_to(0, 118_000), Verdict::Degraded, "Not starved here: ", "Degraded: "),
        (came_to(0, 5_000), Verdict::Healthy, "Not starved here: none of 80", "Cured: none of 80"),
        (
            nothing(),
            Verdict::Inconclusive,
            "This run proves nothing: ",
            "This run proves nothing: ",
        ),
    ] {
        assert_eq!(summary.verdict, verdict, "{:?}", summary.verdict_reasons);
        for (hoped, says) in [(Starved, starved), (Cured, cured)] {
            let line = judged(&summary, hoped);
            assert!(line.starts_with(says), "{line}");
            // Reasons that the trial gives, and no others.
            let (_, reasons) = line.split_once(": ").expect("a lead");
            let all = summary.verdict_reasons.join("; ");
            assert!(all.starts_with(reasons.trim_end_matches('.')), "{line}");
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Key(Key),
    Later(u64),
    /// One of the records of a run, with other numbers in it.
    Record(Side, usize, Vec<u64>),
    /// The phases up to this one, from these times on.
    Manifest(Side, usize, u64),
    Over(Side, usize),
    Draw(u16, u16),
}

fn step() -> impl Strategy<Value = Step> {
    let keys = vec![Key::Hold, Key::Next, Key::Quit, Key::Interrupt, Key::Other];
    let side = || prop_oneof![Just(Side::Left), Just(Side::Right)];
    // Small, around the show, or anything.
    let number = || prop_oneof![0..4_u64, 0..120_000_000_000_u64, any::<u64>()];
    let time = prop_oneof![(0..120_000_u64).prop_map(|ms| at(ms).0), any::<u64>()];
    prop_oneof![
        2 => prop::sample::select(keys).prop_map(Step::Key),
        2 => (0..20_000_000_000_u64).prop_map(Step::Later),
        6 => (side(), any::<usize>(), vec(number(), 0..12))
            .prop_map(|(side, which, numbers)| Step::Record(side, which, numbers)),
        1 => (side(), 0..7_usize, time).prop_map(|(side, to, ns)| Step::Manifest(side, to, ns)),
        1 => (side(), 0..3_usize).prop_map(|(side, how)| Step::Over(side, how)),
        3 => (0..200_u16, 0..60_u16).prop_map(|(width, height)| Step::Draw(width, height)),
        1 => (1..6_u16, 1..6_u16).prop_map(|(width, height)| Step::Draw(width, height)),
    ]
}

/// The same kind of record with these numbers in place of its own, as far as they fit.
fn garbled(record: &Record, numbers: Vec<u64>) -> Record {
    let mut all = serde_json::to_value(record).expect("JSON");
    let names: Vec<String> = all.as_object().expect("an object").keys().cloned().collect();
    for (name, number) in names.iter().zip(numbers) {
        let before = all[name].clone();
        if before.is_u64() {
            all[name] = number.into();
            if serde_json::from_value::<Record>(all.clone()).is_err() {
                all[name] = before;
            }
        }
    }
    serde_json::from_value(all).expect("a record")
}

proptest! {
    // A picture costs milliseconds here.
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nothing_panics(steps in vec(step(), 0..80), coloured in any::<bool>()) {
        let (mut show, mut now, run) = (fixture::show(), at(0), starved());
        let records = fixture::records(&run);
        let style = if coloured { Style::Colour } else { PLAIN };
        for step in steps {
            match step {
                Step::Key(key) => show.key(key, now),
                Step::Later(ns) => now = MonoNs(now.0 + ns),
                Step::Record(side, which, numbers) => {
                    let (_, record) = &records[which % records.len()];
                    show.take(side, &garbled(record, numbers));
                }
                Step::Manifest(side, to, ns) => {
                    let mut manifest = run.records.manifest.clone();
                    manifest.phases.truncate(to);
                    manifest.phases.iter_mut().for_each(|span| span.start_ns = MonoNs(ns));
                    show.manifest(side, &manifest);
                }
                Step::Over(side, how) => show.over(side, match how {
                    0 => Err("anything at all: ✗ \u{7} \u{1F600}".to_owned()),
                    1 => Ok(Box::new(came_to(53, 30_000))),
                    _ => Ok(Box::new(nothing())),
                }),
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
