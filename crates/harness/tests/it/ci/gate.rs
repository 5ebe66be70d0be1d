//! A foreign proxy whose fairness was removed turns the gate red; the same with it stays green.

use crate::ci::support::{GATE, Place, Proxy, Said, conclusive, in_turn, say};

fn gate(proxy: Proxy) -> Option<Said> {
    let place = Place::new(proxy);
    conclusive(|| say(&mut place.check(&GATE)))
}

#[test]
fn a_fair_proxy_passes() {
    let _turn = in_turn();
    let Some(said) = gate(Proxy::Fair) else { return };
    assert_eq!(said.code(), Some(0), "{}", said.all());
    // On a host with other work it may have been tried twice, and says so.
    let first = said.stdout.lines().next().unwrap_or_default();
    let passed = ["check       passed (exit 0)", "check       passed (flaky) (exit 0)"];
    assert!(passed.contains(&first), "{}", said.stdout);
    assert!(said.stdout.contains("records     runs/"), "{}", said.stdout);
}

#[test]
fn a_proxy_that_lost_its_fairness_is_stopped() {
    let _turn = in_turn();
    let Some(said) = gate(Proxy::Unfair) else { return };
    assert_eq!(said.code(), Some(10), "{}", said.all());
    assert!(said.stdout.starts_with("check       breached (exit 10)\n"), "{}", said.stdout);
}

/// As the figures of the page were made: traced, where that can be.
const PUBLISHED: [&str; 4] = ["--idle=1.5s", "--duration=2.5s", "--arrivals=20/s", "--trace=auto"];

#[test]
#[ignore = "ten times each: five minutes; --nocapture shows the counts"]
fn ten_of_ten() {
    let _turn = in_turn();
    let mut counts = Vec::new();
    for (proxy, wanted) in [(Proxy::Fair, 0), (Proxy::Unfair, 10)] {
        let place = Place::new(proxy);
        let mut codes = Vec::new();
        for time in 1..=10 {
            let check = || say(place.check(&GATE).args(PUBLISHED));
            let Some(said) = conclusive(check) else {
                codes.push(Some(11));
                continue;
            };
            println!("{proxy:?} {time}: exit {:?}: {}", said.code(), found(&said.stdout));
            codes.push(said.code());
        }
        let as_wanted = codes.iter().filter(|code| **code == Some(wanted)).count();
        println!("{proxy:?}: {as_wanted} of 10 with exit {wanted}; all: {codes:?}");
        counts.push(as_wanted);
    }
    assert_eq!(counts, [10, 10]);
}

/// The lines of thresholds, in one.
fn found(stdout: &str) -> String {
    let lines = stdout.lines().filter(|line| line.contains('<') && !line.starts_with(' '));
    lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn a_baseline_of_a_fair_proxy_stops_an_unfair_one() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    let rounds = |option| [option, "base.json", "--rounds", "3"];
    let save = || say(&mut place.check(&rounds("--save-baseline")));
    let Some(saved) = conclusive(save) else { return };
    assert_eq!(saved.code(), Some(0), "{}", saved.all());
    assert!(saved.stdout.contains("saved       base.json"), "{}", saved.stdout);

    place.put(Proxy::Unfair);
    let against = || say(&mut place.check(&rounds("--baseline")));
    let Some(said) = conclusive(against) else { return };
    // All of its fetches fail, none did: three rounds are enough for that.
    assert_eq!(said.code(), Some(10), "{}", said.all());
    assert!(said.stdout.contains("baseline    base.json of 20"), "{}", said.stdout);
    assert!(
        said.stdout.contains("against the baseline: failed_share regressed"),
        "{}",
        said.stdout
    );

    let mut other = place.command("turnstile");
    let other = say(other.args(["check", "--baseline", "base.json", "--", "--reuseport"]));
    assert_eq!((other.code(), other.stdout.as_str()), (Some(2), ""), "{}", other.stderr);
    assert!(other.stderr.contains("arm.proxy was \"exec:"), "{}", other.stderr);
    assert!(other.stderr.contains("--cross-host"), "{}", other.stderr);
}
