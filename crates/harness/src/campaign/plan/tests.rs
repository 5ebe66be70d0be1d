use std::collections::BTreeSet;

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::{Seed, Slot, order};

proptest! {
    #[test]
    fn every_round_has_every_arm_once(arms in 1_usize..6, rounds in 0_u32..20, seed: u64) {
        let order = order(arms, rounds, Seed(seed));
        prop_assert_eq!(order.len(), arms * rounds as usize);
        for (round, block) in (0..).zip(order.chunks(arms)) {
            prop_assert!(block.iter().all(|slot| slot.round == round));
            let all: BTreeSet<usize> = block.iter().map(|slot| slot.arm).collect();
            prop_assert_eq!(all.len(), arms);
        }
    }
}

#[test]
fn the_order_is_the_seeds_and_not_always_the_same() {
    assert_eq!(order(3, 9, Seed(7)), order(3, 9, Seed(7)));
    let firsts: BTreeSet<usize> =
        order(2, 40, Seed(1)).chunks(2).filter_map(|b| b.first().map(|s: &Slot| s.arm)).collect();
    assert_eq!(firsts.len(), 2, "one arm always came first");
}
