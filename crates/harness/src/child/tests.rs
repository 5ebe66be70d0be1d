use std::path::Path;

use super::{by_hand, command};

#[test]
fn what_a_campaign_adds_is_not_what_people_typed() {
    let options = ["--reuseport", "--rcvbuf", "40960"].map(str::to_owned);
    let child = command(&options, Path::new("runs/x"));
    let typed = ["turnstile", "run", "--reuseport", "--rcvbuf", "40960"].map(str::to_owned);
    let args = child.get_args().map(|word| word.to_str().expect("text").to_owned());
    let words: Vec<String> = [typed[0].clone()].into_iter().chain(args).collect();
    assert!(words.iter().any(|word| word == "runs/x") && words.len() > typed.len(), "{words:?}");
    assert_eq!(by_hand(words), typed);
    assert_eq!(by_hand(typed.to_vec()), typed);
}
