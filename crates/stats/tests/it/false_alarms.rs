//! A against A: no change may be seen, on a host that is fit for trials and on one that is not.

use stats::{Change, Judgement, Round};

use crate::host::{ARMS, Source, rounds};
use crate::noise::chance;
use crate::tally::{Tally, judged, judged_apart};

/// The rule allows 2 % of false alarms. Of 100 draws at that rate 9 or more come in one cell of ten
/// thousand, so none may have more than 8 %; of the six arms together (600) 28 come once in twenty
/// thousand, so no row may have more than 4.5 %. A rule without a family (six metrics at 5 % each:
/// one judgement in five) stays below that in one row of 10^24.
fn has_no_more_alarms(host: &str, judgement: fn(&[Round]) -> Judgement) -> String {
    let mut table = String::new();
    for count in [3, 5, 10, 20] {
        let (mut alarms, mut silent) = (0.0, 0.0);
        for arm in ARMS {
            let source = Source::new(host, arm);
            let mut chance = chance(1);
            let tally = Tally::by(|| judgement(&rounds(&source, &source, count, &mut chance)));
            table += &format!("| {arm} | {count} | {} |\n", tally.row());
            let of_arm = tally.share(Change::Improved) + tally.share(Change::Regressed);
            assert!(of_arm <= 0.08, "{arm}, {count} rounds: {}", tally.row());
            alarms += of_arm / ARMS.len() as f64;
            silent += tally.share(Change::NoChange) / ARMS.len() as f64;
        }
        table += &format!("| all six | {count} | alarms {alarms:.4}, no change {silent:.3} |\n");
        assert!(alarms <= 0.045, "{count} rounds: {alarms}");
    }
    table
}

#[test]
fn false_alarms_on_the_quiet_host() {
    println!("{}", has_no_more_alarms("quiet", judged));
}

/// What is drawn here was robbed by the hypervisor in one trial of four: many rounds are left out,
/// but those that remain must not be believed more than they deserve.
#[test]
fn false_alarms_on_the_robbed_host() {
    println!("{}", has_no_more_alarms("busy", judged));
}

/// Rounds of a baseline, and rounds of another day that were the same.
#[test]
fn false_alarms_against_a_baseline() {
    println!("{}", has_no_more_alarms("quiet", judged_apart));
    println!("{}", has_no_more_alarms("busy", judged_apart));
}
