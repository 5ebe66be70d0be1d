//! What a server's role says when it cannot do what it should.

use serde_json::json;
use testkit::{listen, say};

use crate::proxies::each;
use crate::support::{arm, command, origin};

#[test]
fn what_cannot_be_is_refused_by_its_name() {
    let (_taken, taken) = listen();
    let (origin, nobody) = (origin(), "127.0.0.1:1".parse().expect("an address"));
    let taken = taken.to_string();
    let bad = || json!({"directives": ["no_such_thing on;"]});
    for (proxy, changes, args, upstream, code, says) in [
        // A toggle that means nothing is a usage error.
        ("nginx", json!({"rcvbuf": 40_960}), vec![], origin, 2, ["--rcvbuf 40KiB", "--netns"]),
        ("nginx", json!({}), vec!["--proxy-bin", "/none/nginx"], origin, 2, ["/none/nginx", ""]),
        ("nginx", json!({}), vec![], nobody, 1, ["answered 502", "127.0.0.1:1"]),
        ("nginx", json!({}), vec!["--listen", &taken], origin, 1, [&taken, ""]),
        // In the program's own words.
        ("nginx", bad(), vec![], origin, 1, ["its last words", "no_such_thing"]),
        ("haproxy", bad(), vec![], origin, 1, ["its last words", "no_such_thing"]),
        ("apache", bad(), vec![], origin, 1, ["its last words", "no_such_thing"]),
    ] {
        each(&[proxy], |proxy| {
            let dir = tempfile::TempDir::new().expect("a directory");
            let arm = arm(proxy, changes.clone());
            let said = say(&mut command(&arm, dir.path(), upstream, &args)).refused(code);
            let last = said.lines().last().unwrap_or_default();
            assert!(says.iter().all(|part| last.contains(part)), "{proxy}: no {says:?} in {said}");
        });
    }
}
