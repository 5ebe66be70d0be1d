//! The pages of campaigns: what they hold, and that they are made again as they were.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::campaigns::trials;
use crate::support::{Said, say, turnstile};

/// What the page in `dir` holds is what `run` printed and what stands in the trials; `pair` is from
/// `comparison.json`.
pub(crate) fn says_what_was_said(dir: &Path, run: &Said, pair: &Value, rounds: u32) {
    let page = page_of(dir);
    assert_eq!(page["cut_short"], Value::Null);
    let of_page = &page["pairs"][0];
    assert_eq!(of_page["change"], pair["judgement"]["change"]);
    assert_eq!(of_page["b"], pair["b"]);
    for metric in of_page["metrics"].as_array().expect("metrics") {
        let line = run.stdout.lines().find(|line| {
            line.split_whitespace().next() == metric["name"].as_str() && line.contains('/')
        });
        let line = line.unwrap_or_else(|| panic!("no {} in {}", metric["name"], run.stdout));
        for cell in ["a", "b", "change", "interval", "said"] {
            let cell = metric[cell].as_str().expect("text");
            assert!(line.contains(cell), "no {cell:?} in {line}");
        }
    }
    for (arm, of_arm) in page["arms"].as_array().expect("arms").iter().enumerate() {
        let told = of_arm["trials"].as_array().expect("trials");
        assert_eq!(told.len(), rounds as usize);
        for trial in told {
            let path = dir.join(trial["page"].as_str().expect("a path"));
            assert!(path.is_file(), "{} leads nowhere", path.display());
            let summary = fs::read_to_string(path.with_file_name("summary.json")).expect("summary");
            let summary: records::Summary = serde_json::from_str(&summary).expect("a summary");
            assert_eq!(trial["failed"], summary.measure.outcomes.failed(), "arm {arm}");
            assert_eq!(trial["latency"][1]["us"], summary.measure.latency_us.p50, "arm {arm}");
            assert_eq!(trial["verdict"], summary.verdict.name(), "arm {arm}");
        }
    }
}

/// What the page of a campaign holds.
pub(crate) fn page_of(dir: &Path) -> Value {
    let page = fs::read_to_string(dir.join("report.html")).expect("report.html");
    let (_, rest) = page.split_once("id=\"data\">").expect("a data element");
    let (json, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(json).expect("JSON")
}

/// `turnstile report` makes of a campaign's directory what stood there at its end.
pub(crate) fn is_reported_again(dir: &Path, json: &str) {
    let report = |words: &[&str]| say(turnstile().arg("report").arg(dir).args(words));
    let path = dir.join("report.html");
    let page = fs::read(&path).expect("report.html");
    fs::remove_file(&path).expect("removed");
    let made = report(&["--html"]);
    assert_eq!((made.code(), made.stdout), (Some(0), format!("{}\n", path.display())));
    assert_eq!(fs::read(&path).expect("report.html"), page, "the same records, the same bytes");
    assert_eq!(report(&["--json"]).stdout, json);
    let text = report(&[]);
    assert!(text.stdout.contains("own against shared: "), "{}", text.stdout);
    for figure in ["latency", "failures", "survival", "differences"] {
        let drawn = report(&["--svg", figure]);
        // Two rounds are few, but each has fetches.
        assert_eq!(drawn.code(), Some(0), "{figure}: {}", drawn.stderr);
        assert!(drawn.stdout.starts_with("<svg xmlns"), "{figure}");
    }
    // These trials have no downloads, and a campaign has no lanes.
    for (figure, why) in [("throughput", "no download moved"), ("picture", "one of its trials")] {
        let refused = report(&["--svg", figure]);
        assert_eq!((refused.code(), refused.stdout.as_str()), (Some(1), ""), "{figure}");
        assert!(refused.stderr.contains(why), "{figure}: {}", refused.stderr);
    }
    let usage = report(&["--svg", "pie"]);
    assert_eq!(usage.code(), Some(2));
    assert!(usage.stderr.contains("differences"), "{}", usage.stderr);
    let trial = trials(dir).pop().expect("a trial");
    let run = fs::read_dir(trial).expect("read_dir").next().expect("a run").expect("entry").path();
    let refused = say(turnstile().arg("report").arg(run).args(["--svg", "differences"]));
    assert_eq!(refused.code(), Some(1));
    assert!(refused.stderr.contains("only a campaign"), "{}", refused.stderr);
}
