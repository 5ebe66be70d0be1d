use proptest::prelude::*;

use super::marker;
use crate::{HolderOptions, Program};

fn cmdline(words: &[String]) -> Vec<u8> {
    let words = [&["/proc/1/exe".to_owned()], words].concat();
    words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect()
}

#[test]
fn a_holder_is_known_by_its_arguments() {
    let rmem = "net.ipv4.tcp_rmem=1 2 3".parse().expect("a setting");
    let options = HolderOptions { name: "proxy".into(), owner: 4711, sysctl: vec![rmem] };
    let words = [vec![Program::HOLD.to_owned()], options.to_args()].concat();
    assert_eq!(marker(&cmdline(&words)), Some(("proxy".to_owned(), 4711)));
}

#[test]
fn what_is_not_a_holder_is_let_alone() {
    for words in [
        "",
        "hold",
        "x netns-hold --name a --owner 1",
        "netns-hold",
        "netns-hold --name a",
        "netns-hold --owner --name a",
        "netns-exec --name a --owner 1",
    ] {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        assert_eq!(marker(&cmdline(&words)), None, "{words:?}");
    }
}

proptest! {
    #[test]
    fn no_command_line_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = marker(&bytes);
        let _ = marker(&[b"x\0netns-hold\0", bytes.as_slice()].concat());
    }
}
