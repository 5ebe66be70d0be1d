//! Absences made of looks.

use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

fn at(ms: u64) -> MonoNs {
    MonoNs(ms * MS)
}

#[test]
fn a_worker_away_for_long_is_told_once_it_is_back() {
    let mut absences = Absences::of(3, Micros(20_000));
    for ms in 0..30 {
        let doing = if ms < 20 { Doing::Ready } else { Doing::Blocked };
        let told = absences.looked(at(ms), Some(doing), Times::default);
        assert_eq!(told, None);
    }
    let times = || Times { ran: 15 * MS, waited: 5 * MS };
    let told = absences.looked(at(30), Some(Doing::Polling), times).expect("30 ms");
    assert_eq!((told.start_ns, told.end_ns, told.worker), (at(0), at(30), 3));
    assert_eq!((told.looks, told.running, told.waiting, told.blocked), (30, 15, 5, 10));
    assert_eq!(absences.looked(at(31), Some(Doing::Polling), times), None);
}

#[test]
fn a_worker_that_is_away_at_the_end_is_told() {
    let mut absences = Absences::of(0, Micros(20_000));
    for ms in 0..21 {
        absences.looked(at(ms), Some(Doing::Ready), Times::default);
    }
    let told = absences.finish(at(21), Times::default).expect("21 ms");
    assert_eq!((told.looks, told.running), (21, 21));
    assert_eq!(absences.finish(at(22), Times::default), None);
}

proptest! {
    #[test]
    fn no_look_is_lost_and_none_is_told_twice(
        looks in proptest::collection::vec((0..3_u8, 1..40_u64), 1..200),
        ran in 0..u64::MAX,
        waited in 0..u64::MAX,
    ) {
        let mut absences = Absences::of(0, Micros(20_000));
        let mut now = 0;
        let mut told = Vec::new();
        for (look, passed) in looks {
            now += passed;
            let doing = match look {
                0 => Doing::Polling,
                1 => Doing::Ready,
                _ => Doing::Blocked,
            };
            told.extend(absences.looked(at(now), Some(doing), || Times { ran, waited }));
        }
        told.extend(absences.finish(at(now + 1), || Times { ran, waited }));
        for pair in told.windows(2) {
            prop_assert!(pair[0].end_ns <= pair[1].start_ns);
        }
        for absence in told {
            prop_assert!(absence.length_us() >= Micros(20_000));
            prop_assert_eq!(absence.looks, absence.running + absence.waiting + absence.blocked);
            prop_assert!(absence.looks > 0);
        }
    }
}
