use clap::{Args, Command, FromArgMatches};
use records::{Micros, SlowToggles};

use super::SlowOptions;

#[test]
fn a_target_is_all_that_is_needed() {
    let command = SlowOptions::augment_args(Command::new("slow").no_binary_name(true));
    let matches = command.try_get_matches_from(["127.0.0.1:8000"]).expect("a target");
    let options = SlowOptions::from_arg_matches(&matches).expect("a target");
    assert!(!options.hold && !options.orders);
    assert_eq!(options.interval, Micros(200_000));
    assert_eq!(options.duration, None);
    assert_eq!(options.toggles, SlowToggles::default());
    let same = SlowOptions::to("127.0.0.1:8000".parse().expect("an address"));
    assert_eq!(format!("{options:?}"), format!("{same:?}"));
}
