//! No key, record, time or size may panic the show, its picture or its lines.

use proptest::collection::vec;
use proptest::prelude::*;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use records::{
    Bytes, Dialed, DownloadInterval, ListenerSample, Micros, MonoNs, Outcome, Phase, PhaseSpan,
    Record, SchedSample, Summary, Watched,
};

use super::fixture::{self, START};
use crate::{Colours, Key, Plain, Side, draw};

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
    #[test]
    fn nothing_panics(steps in vec(step(), 0..80), many in any::<bool>()) {
        let mut show = fixture::show();
        let mut plain = Plain::default();
        let mut now = START;
        let colours = if many { Colours::Many } else { Colours::None };
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
                    draw(&show, now, colours, &mut buffer);
                    prop_assert_eq!(buffer.area, Rect::new(0, 0, width, height));
                }
            }
            show.tick(now);
            plain.lines(&show, now);
        }
    }
}
