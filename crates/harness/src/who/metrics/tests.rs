use super::*;
use crate::who::tests::three_seconds;
use serde_json::Value;
use testkit::connect;

const PANEL: &str = include_str!("../../../../../docs/who-grafana.json");

#[test]
fn the_document_follows_the_convention() {
    let text = metrics(&three_seconds());
    // 35 buckets of one histogram differ in nothing but their numbers.
    let short: Vec<&str> = text.lines().filter(|line| !line.contains("le=\"0.0000")).collect();
    insta::assert_snapshot!("metrics", short.join("\n"));
    let mut block = "";
    for line in text.lines().filter(|line| *line != "# EOF") {
        match line.strip_prefix("# TYPE ") {
            Some(head) => block = head.split(' ').next().expect("a name"),
            None => {
                let name = line.trim_start_matches("# UNIT ").trim_start_matches("# HELP ");
                assert!(name.starts_with(block), "{line} stands in the block of {block}");
            }
        }
    }
    assert!(text.ends_with("# EOF\n"));
}

#[test]
fn the_panel_asks_for_what_there_is() {
    let text = metrics(&three_seconds());
    let panel: Value = serde_json::from_str(PANEL).expect("JSON");
    let panels = panel["panels"].as_array().expect("panels");
    let asked = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let mut names = 0;
    for target in asked {
        let expr = target["expr"].as_str().expect("an expression");
        let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        for word in expr.split(|c| !letter(c)).filter(|word| word.starts_with("turnstile_")) {
            let is_there = text.lines().any(|line| line.starts_with(&format!("{word}{{")));
            assert!(is_there, "{word} is not among the metrics");
            names += 1;
        }
    }
    assert!(names >= 5, "{names}");
}

fn ask(addr: SocketAddr, request: &str) -> String {
    let mut stream = connect(addr);
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn a_scraper_is_told_how_things_are_now() {
    let door = Door::open("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    let mut ledger = three_seconds();
    for _ in 0..2 {
        door.show(&ledger);
        let answer = ask(door.addr, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics-text;"));
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        assert_eq!(body, metrics(&ledger));
        ledger.finish();
    }
    for other in
        ["GET /else HTTP/1.1\r\n\r\n", "POST /metrics HTTP/1.1\r\n\r\n", &"x".repeat(REQUEST)]
    {
        assert!(ask(door.addr, other).starts_with("HTTP/1.1 404 "), "{other}");
    }
}
