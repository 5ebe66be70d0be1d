use std::time::Duration;

use super::*;

fn shell(script: &str) -> Vec<OsString> {
    ["/bin/sh", "-c", script].map(OsString::from).to_vec()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Everything until the child has ended, in words.
fn told(children: &mut Children) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        match children.next(soon()).expect("an event before the deadline") {
            Event::Record(_, record) => told.push(format!("{record:?}").chars().take(5).collect()),
            Event::Garbled(_, line) => told.push(format!("garbled {line}")),
            Event::Said(_, line) => told.push(format!("said {line}")),
            Event::Ended(_, status) => {
                told.push(status.to_string());
                return told;
            }
            other => panic!("unexpected: {other:?}"),
        }
    }
}

#[test]
fn everything_said_is_told_before_the_end() {
    let mut children = Children::default();
    let script =
        r#"echo '{"record":"dialed","slot":0,"client_port":1,"at_ns":2}'; echo gibberish; exit 3"#;
    children.start(Role::Slow, &shell(script)).expect("start");
    assert_eq!(told(&mut children), ["Diale", "garbled gibberish", "exit status: 3"]);
    assert_eq!(children.pid(Role::Slow), None, "reaped");
}

#[test]
fn a_torn_last_line_is_not_a_record() {
    let mut children = Children::default();
    children.start(Role::Slow, &shell(r#"printf '{"record":"dia'"#)).expect("start");
    assert_eq!(told(&mut children), ["exit status: 0"]);
}

#[test]
fn orders_reach_the_downloads_and_dead_ones_do_not_matter() {
    let mut children = Children::default();
    children.start(Role::Slow, &shell("read line; echo $line")).expect("start");
    children.order(SlowOrder::Go);
    assert_eq!(told(&mut children), ["garbled {\"order\":\"go\"}", "exit status: 0"]);
    children.order(SlowOrder::Go);
}

#[test]
fn a_dismissed_child_ends_and_a_stubborn_one_is_killed() {
    let mut children = Children::default();
    children.start(Role::Slow, &shell("exec sleep 60")).expect("start");
    children.dismiss(Role::Slow);
    assert_eq!(told(&mut children), ["signal: 15 (SIGTERM)"]);

    let script = "trap '' TERM; echo up >&2; exec sleep 60";
    children.start(Role::Proxy, &shell(script)).expect("start");
    assert!(matches!(children.next(soon()), Some(Event::Said(..))), "its trap is set");
    children.dismiss(Role::Proxy);
    assert!(children.pid(Role::Proxy).is_some(), "not reaped");
    children.kill(Role::Proxy);
    assert_eq!(told(&mut children), ["signal: 9 (SIGKILL)"]);
}
