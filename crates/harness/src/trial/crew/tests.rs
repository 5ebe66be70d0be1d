use std::path::PathBuf;
use std::time::Duration;

use super::*;

fn shell(script: &str) -> Vec<OsString> {
    ["/bin/sh", "-c", script].map(OsString::from).to_vec()
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Everything until the child has ended, in words.
fn told(crew: &mut Crew) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        match crew.next(soon()).expect("news before the deadline") {
            News::Record(_, record) => told.push(format!("{record:?}").chars().take(5).collect()),
            News::Garbled(_, line) => told.push(format!("garbled {line}")),
            News::Said(_, line) => told.push(format!("said {line}")),
            News::Ended(_, status) => {
                told.push(status.to_string());
                return told;
            }
            other => panic!("unexpected: {other:?}"),
        }
    }
}

fn exists(pid: u32) -> bool {
    PathBuf::from(format!("/proc/{pid}")).exists()
}

#[test]
fn everything_said_is_told_before_the_end() {
    let mut crew = Crew::default();
    let script =
        r#"echo '{"record":"dialed","slot":0,"client_port":1,"at_ns":2}'; echo gibberish; exit 3"#;
    let id = crew.start(Role::Slow, &shell(script), Orders::None).expect("start");
    assert_eq!(told(&mut crew), ["Diale", "garbled gibberish", "exit status: 3"]);
    assert!(matches!(crew.life(id), Life::Ended(_)));
    assert_eq!(crew.living(Role::Slow), []);
}

#[test]
fn the_tail_of_its_standard_error_can_be_quoted() {
    let mut crew = Crew::default();
    let script = "for i in $(seq 30); do echo line $i >&2; done; echo >&2";
    let id = crew.start(Role::Proxy, &shell(script), Orders::None).expect("start");
    told(&mut crew);
    assert_eq!(crew.stderr_tail(id).as_deref(), Some("line 30"));
}

#[test]
fn a_torn_last_line_is_not_a_record() {
    let mut crew = Crew::default();
    crew.start(Role::Slow, &shell(r#"printf '{"record":"dia'"#), Orders::None).expect("start");
    assert_eq!(told(&mut crew), ["exit status: 0"]);
}

#[test]
fn orders_reach_a_child_and_a_dead_one_does_not_matter() {
    let mut crew = Crew::default();
    let id = crew.start(Role::Slow, &shell("read line; echo $line"), Orders::Piped).expect("start");
    crew.order(id, SlowOrder::Go);
    assert_eq!(told(&mut crew), ["garbled {\"order\":\"go\"}", "exit status: 0"]);
    crew.order(id, SlowOrder::Go);
}

#[test]
fn a_dismissed_child_ends_and_a_stubborn_one_is_killed() {
    let mut crew = Crew::default();
    let polite = crew.start(Role::Slow, &shell("exec sleep 60"), Orders::None).expect("start");
    crew.dismiss(polite);
    assert_eq!(told(&mut crew), ["signal: 15 (SIGTERM)"]);

    let stubborn = crew
        .start(Role::Proxy, &shell("trap '' TERM; echo up >&2; exec sleep 60"), Orders::None)
        .expect("start");
    assert!(matches!(crew.next(soon()), Some(News::Said(..))), "its trap is set");
    crew.dismiss(stubborn);
    assert_eq!(crew.living(Role::Proxy), [stubborn]);
    crew.kill(stubborn);
    assert_eq!(told(&mut crew), ["signal: 9 (SIGKILL)"]);
}

#[test]
fn nobody_survives_the_crew() {
    let mut crew = Crew::default();
    let id = crew.start(Role::Origin, &shell("exec sleep 60"), Orders::None).expect("start");
    let pid = crew.pid(id).expect("a pid");
    assert!(exists(pid));
    drop(crew);
    assert!(!exists(pid), "dead and reaped");
}
