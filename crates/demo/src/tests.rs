//! The whole of it: pictures of every act, lines, and what must never panic.

mod anything;
pub(crate) mod fixture;

use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::style::Color;
use ratatui_core::terminal::Terminal;
use records::MonoNs;

use crate::{Colours, Key, Plain, Show, Side, draw};
use fixture::at;

const PLAIN: Colours = Colours::None;

fn buffer(show: &Show, now: MonoNs, look: Colours, (width, height): (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
    terminal.draw(|frame| draw(show, now, look, frame.buffer_mut())).expect("drawn");
    terminal.backend().buffer().clone()
}

/// The letters of a picture, without the blanks at the ends of its lines.
fn picture(show: &Show, ms: u64, look: Colours, size: (u16, u16)) -> String {
    let buffer = buffer(show, at(ms), look, size);
    let width = usize::from(size.0.max(1));
    let lines = buffer.content().chunks(width).map(|row| {
        let line: String = row.iter().map(ratatui_core::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_opening() {
    insta::assert_snapshot!(picture(&fixture::show(), 2_000, PLAIN, (80, 24)));
}

#[test]
fn fetches_alone() {
    insta::assert_snapshot!(picture(&fixture::idle(), 9_000, PLAIN, (80, 24)));
}

#[test]
fn starving() {
    insta::assert_snapshot!(picture(&fixture::starving(), 16_500, PLAIN, (80, 24)));
}

#[test]
fn starving_on_a_large_screen() {
    insta::assert_snapshot!(picture(&fixture::starving(), 16_500, PLAIN, (120, 40)));
}

#[test]
fn starving_on_small_screens() {
    let show = fixture::starving();
    let sizes = [(60, 16), (40, 12), (24, 8), (10, 3), (1, 1)];
    let pictures = sizes.map(|size| format!("{size:?}\n{}", picture(&show, 16_500, PLAIN, size)));
    insta::assert_snapshot!(pictures.join("\n\n"));
}

#[test]
fn what_the_left_proved() {
    insta::assert_snapshot!(picture(&fixture::judged("starved", 27, 53), 18_000, PLAIN, (80, 24)));
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
fn curing() {
    insta::assert_snapshot!(picture(&fixture::curing(), 45_000, PLAIN, (80, 24)));
}

#[test]
fn side_by_side() {
    insta::assert_snapshot!(picture(&fixture::closing(), 60_000, PLAIN, (80, 24)));
}

#[test]
fn side_by_side_on_a_large_screen() {
    insta::assert_snapshot!(picture(&fixture::closing(), 60_000, PLAIN, (120, 40)));
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
    assert_eq!(picture(&show, 16_500, PLAIN, size), picture(&show, 16_500, Colours::Many, size));
    // And what is coloured is: failed fetches in vermillion, downloads each in its own.
    let buffer = buffer(&show, at(16_500), Colours::Many, size);
    let colours_of = |letter: &str| {
        let cells = buffer.content().iter().filter(|cell| cell.symbol() == letter);
        let mut colours: Vec<Color> = cells.map(|cell| cell.fg).collect();
        colours.dedup();
        colours
    };
    assert!(colours_of("✗").contains(&Color::Indexed(202)), "{:?}", colours_of("✗"));
    assert!(!colours_of("✓").contains(&Color::Indexed(202)), "{:?}", colours_of("✓"));
}

#[test]
fn what_a_terminal_can_do_is_read_from_its_environment() {
    for (no_color, term, colours) in [
        (None, Some("xterm-256color"), Colours::Many),
        (Some("1"), Some("xterm-256color"), Colours::None),
        (Some(""), Some("tmux-256color"), Colours::Many),
        (None, Some("linux"), Colours::Many),
        (None, Some("vt100"), Colours::None),
        (None, Some("xterm-mono"), Colours::None),
        (None, Some("dumb"), Colours::None),
        (None, None, Colours::None),
    ] {
        assert_eq!(Colours::of(no_color, term), colours, "{term:?}");
    }
}

#[test]
fn each_act_is_announced_once() {
    let mut plain = Plain::default();
    let mut said = plain.lines(&fixture::show(), at(0));
    said.extend(plain.lines(&fixture::show(), at(3_000)));
    said.extend(plain.lines(&fixture::idle(), at(9_000)));
    said.extend(plain.lines(&fixture::idle(), at(10_900)));
    said.extend(plain.lines(&fixture::idle(), at(11_000)));
    said.extend(plain.lines(&fixture::starving(), at(16_500)));
    said.extend(plain.lines(&fixture::starving(), at(18_500)));
    said.extend(plain.lines(&fixture::judged("starved", 27, 53), at(18_600)));
    said.extend(plain.lines(&fixture::closing(), at(60_000)));
    insta::assert_snapshot!(said.join("\n"));
}
