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
fn what_is_said_is_told_before_the_end_and_who_is_dismissed_ends() {
    let mut children = Children::default();
    let script =
        r#"echo '{"record":"dialed","slot":0,"client_port":1,"at_ns":2}'; echo gibberish; exit 3"#;
    children.start(Role::Slow, &shell(script)).expect("start");
    assert_eq!(told(&mut children), ["Diale", "garbled gibberish", "exit status: 3"]);
    assert_eq!(children.pid(Role::Slow), None, "reaped");

    for (end, last) in [
        (Children::dismiss as fn(&mut Children, Role), "signal: 15 (SIGTERM)"),
        (Children::kill, "signal: 9 (SIGKILL)"),
    ] {
        children.start(Role::Proxy, &shell("exec sleep 60")).expect("start");
        assert!(children.pid(Role::Proxy).is_some());
        end(&mut children, Role::Proxy);
        assert_eq!(told(&mut children), [last]);
    }
}

#[test]
fn orders_reach_the_downloads_and_dead_ones_do_not_matter() {
    let mut children = Children::default();
    children.start(Role::Slow, &shell("read line; echo $line")).expect("start");
    children.order(SlowOrder::Go);
    assert_eq!(told(&mut children), ["garbled {\"order\":\"go\"}", "exit status: 0"]);
    children.order(SlowOrder::Go);
}
