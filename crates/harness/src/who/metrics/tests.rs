use super::*;
use crate::who::tests::three_seconds;
use serde_json::Value;

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
