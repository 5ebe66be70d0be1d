//! A against A: it must say `NoChange`, on a host that is fit for trials.

use stats::Change;

use crate::host::{ARMS, Source, rounds};
use crate::noise::chance;
use crate::tally::{TIMES, Tally};

#[test]
fn false_alarms_on_the_quiet_host() {
    for count in [5, 7, 10, 20] {
        let mut sum = 0.0;
        for arm in ARMS {
            let source = Source::new("quiet", arm);
            let mut chance = chance(1);
            let tally = Tally::of(*TIMES, || rounds(&source, &source, count, &mut chance));
            println!("| {arm} | {count} | {} |", tally.row());
            let silent = tally.share(Change::NoChange);
            assert!(silent >= 0.91, "{arm}, {count} rounds: {}", tally.row());
            sum += silent;
        }
        let mean = sum / ARMS.len() as f64;
        println!("| all six | {count} | no change {mean:.3} | |");
        assert!(mean >= 0.965, "{count} rounds: {mean}");
    }
}

/// What is drawn here was robbed by the hypervisor in one trial of four: many rounds are left out,
/// but those that remain must not be believed more than they deserve.
#[test]
fn false_alarms_on_the_robbed_host() {
    for count in [5, 10, 20] {
        for arm in ARMS {
            let source = Source::new("busy", arm);
            let mut chance = chance(1);
            let tally = Tally::of(*TIMES, || rounds(&source, &source, count, &mut chance));
            println!("| {arm} | {count} | {} |", tally.row());
            let alarms = tally.share(Change::Improved) + tally.share(Change::Regressed);
            assert!(alarms <= 0.05, "{arm}, {count} rounds: {}", tally.row());
        }
    }
}
