use analysis::Analysis;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use records::{ArmSpec, ListenerSample, MonoNs, RunRecords};
use testkit::fixture::{Run, at_ms};

use super::*;

/// A run that starves: steps of 0.4 s on one worker, of 1.2 s on the other, while queues grow.
fn starved() -> Run {
    let mut run = Run::held();
    run.records.manifest.listeners = vec![1, 2];
    for ms in (0..13_000).step_by(25) {
        let loaded = ms >= 4_200;
        for (inode, step) in [(1, 402), (2, 1_202)] {
            let waits = if loaded { (ms - 4_200) % step / 97 } else { 0 };
            let queue = u32::try_from(waits).expect("few");
            run.records.listeners.push(ListenerSample {
                at_ns: at_ms(ms),
                inode,
                queue,
                limit: 511,
            });
        }
    }
    run
}

/// Hands over what its trial has told by `until`; records take half a second.
fn tell(arm: &mut ArmView, run: &Run, until: MonoNs) {
    arm.records = run.records.clone();
    let RunRecords { manifest, fetches, holds, stretches, listeners, .. } = &mut arm.records;
    let told = until - Duration::from_millis(500);
    manifest.phases.retain(|span| span.start_ns <= until);
    fetches.retain(|one| one.start_ns + one.total_us.as_duration() <= told);
    holds.retain(|one| one.end_ns <= told);
    stretches.retain(|one| one.end_ns <= told);
    listeners.retain(|one| one.at_ns <= told);
    arm.stage = Stage::Running;
}

fn show(act: usize) -> Show {
    let arm = |name: &str, options: &str, says| {
        let spec = ArmSpec { name: name.to_owned(), args: Vec::new() };
        ArmView::new(spec, options.to_owned(), says, records::from_words(&["--reuseport"]))
    };
    let cure = "The buffer runs empty, so the worker comes back.";
    let drain = "A worker reads one until its socket is empty.";
    let arms = [arm("starved", "--reuseport", drain), arm("cured", "--rcvbuf 40960", cure)];
    let cpus = OwnCpus::new(None).expect("any CPU");
    let began = at_ms(0) - Duration::from_secs(6);
    Show { began, act, ..Show::new(arms, Timing::STAGE, cpus, PathBuf::new()) }
}

fn picture(show: &Show, now: MonoNs, (width, height): (u16, u16)) -> String {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    picture::draw(show, now, Style::Plain, &mut buf);
    let cells: Vec<&str> = buf.content().iter().map(|cell| cell.symbol()).collect();
    let rows = cells.chunks(usize::from(width.max(1)));
    rows.map(|row| row.concat().trim_end().to_owned() + "\n").collect()
}

#[test]
fn a_trial_that_starves_and_both_side_by_side() {
    let run = starved();
    let mut running = show(1);
    tell(&mut running.arms[0], &run, at_ms(10_000));
    insta::assert_snapshot!("starving", picture(&running, at_ms(10_000), (80, 24)));

    // Held, it stands still, but for the clock and what the keys do now.
    running.held = Some(at_ms(10_000));
    let held = picture(&running, at_ms(12_000), (80, 24));
    assert!(held.contains("HELD") && held.contains("0:18") && held.contains("lets go"), "{held}");

    let mut over = show(5);
    for arm in &mut over.arms {
        tell(arm, &run, at_ms(14_000));
        arm.stage = Stage::Over(Ok(Box::new(Analysis::of(&run.records).summary)));
    }
    over.arms[1].stage = Stage::Over(Err("no origin".to_owned()));
    insta::assert_snapshot!("side_by_side", picture(&over, at_ms(60_000), (120, 40)));
}

#[test]
fn every_act_can_be_drawn_at_any_size_and_time() {
    let run = starved();
    for act in 0..ACTS.len() {
        for until in [500, 10_000, 20_000] {
            let mut show = show(act);
            tell(&mut show.arms[0], &run, at_ms(until));
            for width in [0, 1, 12, 40, 300] {
                for height in [0, 1, 5, 6, 24, 100] {
                    picture(&show, at_ms(until), (width, height));
                    picture(&show, MonoNs(0), (width, height));
                }
            }
        }
        let lines = picture(&show(act), at_ms(0), (80, 24));
        assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
    }
}
