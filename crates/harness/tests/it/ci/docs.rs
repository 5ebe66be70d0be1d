//! The examples of `docs/ci.md`, taken from its fenced blocks and run.
//!
//! What differs from the page: phases are shorter, there is one download, nothing is traced, rounds are 3,
//! ports are free ones; of a pipeline only the check is run.

use testkit::{listen, skip};

use crate::ci::{Place, Proxy, SHORT, Said, busy, conclusive, in_turn, say};

const PAGE: &str = include_str!("../../../../../docs/ci.md");

/// The blocks of a language, in the order of the page.
fn blocks(language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = PAGE.lines();
    while let Some(line) = lines.next() {
        if let Some(found) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if found == language {
                blocks.push(block.join("\n") + "\n");
            }
        }
    }
    blocks
}

/// The one block of a language that has this in it.
fn block(language: &str, with: &str) -> String {
    let mut found = blocks(language).into_iter().filter(|block| block.contains(with));
    let block = found.next().unwrap_or_else(|| panic!("no {language} block with {with}"));
    assert_eq!(found.next(), None, "two {language} blocks with {with}");
    block
}

/// The call of `turnstile` in a block, with the lines that go on.
fn call(block: &str) -> String {
    let from = block.find("turnstile check").expect("a check");
    let goes_on = |line: &&str| line.ends_with('\\');
    let lines: Vec<&str> = block[from..].lines().map(str::trim_start).collect();
    let end = lines.iter().take_while(|line| goes_on(line)).count();
    lines[..=end].join("\n") + "\n"
}

fn shortened(script: &str) -> String {
    let short = script
        .replace("--idle 3s --duration 8s --arrivals 20/s", &SHORT.join(" "))
        .replace("--rounds 5", "--rounds 3");
    assert_ne!(short, script, "nothing was shortened: does the page still say it so?");
    // Both are held until both are known: else they could be the same.
    let ((_one, proxy), (_other, origin)) = (listen(), listen());
    short
        .replace("127.0.0.1:8080", &proxy.to_string())
        .replace("127.0.0.1:9000", &origin.to_string())
}

/// Runs a script as GitHub and GitLab do: it ends with the first command that fails.
fn script(place: &Place, script: &str) -> Said {
    let mut command = place.command("bash");
    command.args(["-e", "-o", "pipefail", "-c", &shortened(script)]);
    say(command.env("GITHUB_STEP_SUMMARY", place.path().join("summary.md")))
}

/// Red for an unfair proxy, green for a fair one: what each of these said in its place. A busy host shows
/// nothing, and leaves one out.
fn each<const N: usize>(
    proxies: [Proxy; N],
    run: impl Fn(&Place) -> Said,
) -> Vec<(Place, Proxy, Said)> {
    let _turn = in_turn();
    let place = |proxy| {
        let place = Place::new(proxy);
        let said = conclusive(|| run(&place))?;
        let code = if proxy == Proxy::Fair { 0 } else { 10 };
        assert_eq!(said.code(), Some(code), "{proxy:?}: {}", said.all());
        Some((place, proxy, said))
    };
    proxies.into_iter().filter_map(place).collect()
}

#[test]
fn pipelines() {
    let commands = call(&block("yaml", "runs-on:"));
    for (place, ..) in each([Proxy::Fair, Proxy::Unfair], |place| script(place, &commands)) {
        assert!(place.read("summary.md").starts_with("### turnstile check: "));
        assert!(place.read("check.xml").contains("<testsuites"));
        assert!(place.read("check.md").starts_with("### turnstile check: "));
    }
    let commands = call(&block("yaml", "artifacts:\n    when:"));
    for (place, ..) in each([Proxy::Unfair], |place| script(place, &commands)) {
        assert!(place.read("check.md").starts_with("### turnstile check: "));
    }
}

#[test]
fn a_proxy_that_runs_already() {
    let commands = block("sh", "--proxy url:");
    for (_, proxy, said) in each([Proxy::Fair, Proxy::Unfair], |place| script(place, &commands)) {
        let first = said.stdout.lines().next().unwrap_or_default();
        // On a host with other work it may have been tried twice, and says so.
        let says: &[&str] = match proxy {
            Proxy::Fair => &["check       passed (exit 0)", "check       passed (flaky) (exit 0)"],
            Proxy::Unfair => &["check       breached (exit 10)"],
        };
        assert!(says.contains(&first), "{proxy:?}: {}", said.stdout);
        assert!(said.stdout.contains("records     runs/"), "{proxy:?}: {}", said.stdout);
    }
}

#[test]
fn a_baseline_in_a_pipeline() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Fair);
    let commands = block("sh", "--save-baseline");
    let Some(first) = conclusive(|| script(&place, &commands)) else { return };
    assert_eq!(first.code(), Some(0), "{}", first.all());
    assert!(first.stderr.contains("there is no baseline main.json"), "{}", first.stderr);
    assert!(first.stdout.contains("saved       main.json"), "{}", first.stdout);
    assert!(place.path().join("main.json").is_file());
    // A look at the same proxy, a second where it raises an alarm. By chance one says that it got worse in
    // two of a hundred (docs/internals/statistics.md), so both do in one of two thousand; a gate that is stuck
    // always does.
    let look = || {
        let said = script(&place, &commands);
        if said.code() == Some(11) && busy(&said) {
            skip("others keep this host busy; nothing can be shown on it now");
            return None;
        }
        assert!(said.stdout.contains("baseline    main.json of 20"), "{}", said.stdout);
        Some(said)
    };
    let is_calm = |said: &Said| match said.code() {
        Some(10) => false,
        Some(0) => true,
        // Three rounds may be too few to see a change by a factor of four: it says of what.
        Some(11) if said.stdout.contains("could only have shown a change by") => true,
        _ => panic!("{}", said.all()),
    };
    let Some(first) = look() else { return };
    if !is_calm(&first) {
        let Some(second) = look() else { return };
        assert!(is_calm(&second), "the gate says twice that the same proxy got worse");
    }

    place.put(Proxy::Unfair);
    let Some(said) = conclusive(|| script(&place, &commands)) else { return };
    // All of its fetches fail, none did: three rounds are enough for that.
    assert_eq!(said.code(), Some(10), "{}", said.all());
    let regressed = "against the baseline: failed_share regressed";
    assert!(said.stdout.contains(regressed), "{}", said.stdout);

    let mut other = place.command("turnstile");
    let other = say(other.args(["check", "--baseline", "main.json", "--", "--reuseport"]));
    assert_eq!((other.code(), other.stdout.as_str()), (Some(2), ""), "{}", other.stderr);
    assert!(other.stderr.contains("arm.proxy was \"exec:"), "{}", other.stderr);
    assert!(other.stderr.contains("--cross-host"), "{}", other.stderr);
}

#[test]
fn two_builds_in_turn() {
    let _turn = in_turn();
    let place = Place::new(Proxy::Unfair);
    place.put_in("main", Proxy::Fair);
    let commands = block("sh", "turnstile compare --gate");
    let Some(said) = conclusive(|| script(&place, &commands)) else { return };
    assert_eq!(said.code(), Some(10), "{}", said.all());
    assert!(said.stdout.ends_with("gate        breached (exit 10)\n"), "{}", said.stdout);
    assert!(said.stdout.contains("branch against main: regressed"), "{}", said.stdout);
}

#[test]
fn no_block_is_left_out() {
    let known = ["sh", "yaml", "text", ""];
    let opened = PAGE.lines().filter_map(|line| line.strip_prefix("```"));
    for language in opened {
        assert!(known.contains(&language), "{language}");
    }
    assert_eq!((blocks("sh").len(), blocks("yaml").len()), (3, 2));
}
