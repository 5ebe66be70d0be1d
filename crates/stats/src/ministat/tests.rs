use std::collections::BTreeMap;

use super::*;
use crate::{Reading, Trial};

#[test]
fn columns_are_pairs_of_plain_numbers() {
    let trial = |value: Option<f64>| Trial {
        readings: BTreeMap::from_iter(
            value.map(|v| ("p50".to_owned(), Reading::exact(v).unwrap())),
        ),
        ..Trial::default()
    };
    let mut rounds: Vec<Round> =
        [(Some(5_400.0), Some(0.25)), (None, Some(1.0)), (Some(1e21), Some(1e-7))]
            .into_iter()
            .map(|(a, b)| Round { number: 1, a: trial(a), b: trial(b) })
            .collect();
    rounds.push(Round {
        number: 4,
        a: trial(Some(1.0)),
        b: Trial { inconclusive: Some("robbed".to_owned()), ..trial(Some(2.0)) },
    });
    let metric = &Metric::of_a_trial()[1];
    let a = ministat_column(&rounds, metric, Arm::A);
    assert_eq!(a, "# p50 us\n5400\n1000000000000000000000\n");
    assert_eq!(ministat_column(&rounds, metric, Arm::B), "# p50 us\n0.25\n0.0000001\n");
}
