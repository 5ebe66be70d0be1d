use super::*;

fn shell(children: &mut Children, role: Role, script: &str) {
    let words = ["-c", script].map(str::to_owned);
    children.start(role, Path::new("/bin/sh"), &words).expect("start");
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
            Event::Ended(role) => {
                told.push(children.reap(role).to_string());
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
    shell(&mut children, Role::Slow, script);
    assert_eq!(told(&mut children), ["Diale", "garbled gibberish", "exit status: 3"]);
    assert_eq!(children.pid(Role::Slow), None, "reaped");
    shell(&mut children, Role::Proxy, "exec sleep 60");
    assert!(children.pid(Role::Proxy).is_some());
    children.dismiss(Role::Proxy);
    assert_eq!(told(&mut children), ["signal: 15 (SIGTERM)"]);
}

#[test]
fn orders_reach_the_downloads_and_dead_ones_do_not_matter() {
    let mut children = Children::default();
    shell(&mut children, Role::Slow, "read line; echo $line");
    children.order(SlowOrder::Go);
    assert_eq!(told(&mut children), ["garbled {\"order\":\"go\"}", "exit status: 0"]);
    children.order(SlowOrder::Go);
}
