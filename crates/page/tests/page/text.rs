//! The page and the figures as text: what they hold, how large they are, what they never let in.

use page::{Figure, PageData, SvgError, html, svg};
use records::{Caveat, CaveatCode, Outcome};

use crate::fixture::{Run, Shape};

fn json_of(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("a data element");
    let (json, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn the_page_holds_the_summary_as_it_is() {
    let run = Run::of(Shape::STARVED);
    let page = html(&run.data()).expect("a page");
    let data = json_of(&page);
    assert_eq!(data["summary"], serde_json::to_value(&run.summary).expect("a summary"));
    assert_eq!(data["fetches"]["outcome"].as_array().map(Vec::len), Some(run.fetches.len()));
    assert_eq!(data["holds"]["bytes"].as_array().map(Vec::len), Some(run.holds.len()));
    assert!(page.len() < 1_000_000, "an ordinary run takes {} bytes", page.len());
    assert!(!page.contains("{{"), "a part of the template has no text");
}

#[test]
fn the_page_loads_nothing() {
    let page = html(&Run::of(Shape::STARVED).data()).expect("a page");
    for word in ["src=", "@import", "http://", "https://", "fetch(", "url("] {
        assert!(!page.contains(word), "{word} would load something");
    }
}

#[test]
fn the_same_records_make_the_same_bytes() {
    let page = || html(&Run::of(Shape::STARVED).data()).expect("a page");
    assert_eq!(page(), page());
}

#[test]
fn foreign_text_stays_text() {
    let evil = "</script><script>alert(1)</script><!-- {{data}} \" onload='x' &";
    let mut run = Run::of(Shape::STARVED);
    run.manifest.command = vec!["turnstile".into(), evil.into()];
    run.manifest.host.cpu_model = evil.into();
    run.summary.verdict_reasons = vec![evil.into()];
    let message = evil.to_owned();
    run.summary.caveats = vec![Caveat { code: CaveatCode::FewFetches, message }];
    let data = run.data();
    let page = html(&data).expect("a page");
    assert_eq!(page.matches("</script>").count(), 2, "the data's and the script's");
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("alert(1)</script>"));
    assert_eq!(json_of(&page)["summary"]["verdict_reasons"][0], evil);
    for figure in Figure::ALL {
        if let Ok(svg) = svg(&data, figure) {
            assert!(!svg.contains("<script"), "{figure}");
        }
    }
}

#[test]
fn a_fetch_names_the_holds_that_it_waited_in() {
    let data = Run::of(Shape::STARVED).data();
    let (fetches, holds) = (&data.fetches, &data.holds);
    let mut failed = 0;
    for (i, held) in fetches.held.iter().enumerate() {
        let (start, end) = (fetches.start_us[i], fetches.start_us[i] + fetches.total_us[i]);
        for &(hold, waited) in held {
            assert_eq!(i64::from(holds.worker[hold]), fetches.worker[i]);
            let from = holds.start_us[hold].max(start);
            let to = (holds.start_us[hold] + holds.length_us[hold]).min(end);
            assert_eq!(waited, to - from);
        }
        assert!(held.is_sorted_by_key(|(_, waited)| std::cmp::Reverse(*waited)));
        failed += usize::from(fetches.outcome[i] != 0 && !held.is_empty());
    }
    assert!(failed > 5, "the fixture starves: {failed}");
    let blamed: u64 = data.blame.iter().map(|blame| blame.led_failed).sum();
    assert_eq!(blamed, failed as u64);
    assert!(data.sentence.contains("behind download"), "{}", data.sentence);
}

#[test]
fn fetches_in_one_row_do_not_overlap() {
    let data = Run::of(Shape::STARVED).data();
    let fetches = &data.fetches;
    let mut ends = std::collections::BTreeMap::new();
    for i in 0..fetches.len() {
        let key = (fetches.worker[i], fetches.row[i]);
        let end = fetches.start_us[i] + fetches.total_us[i];
        assert!(ends.insert(key, end).is_none_or(|before| before <= fetches.start_us[i]));
    }
}

/// Runs of every kind, each with a word its page must have.
fn kinds() -> Vec<(&'static str, Run, &'static str)> {
    let starved = || Run::of(Shape::STARVED);
    let none = |outcome, verdict| starved().all_end(outcome, verdict);
    let mut inconclusive = starved();
    inconclusive.summary = inconclusive.summarised("inconclusive");
    vec![
        ("starved", starved(), "Starved"),
        ("healthy", none(Outcome::Ok, "healthy"), "all 80 fetches were served"),
        ("all failed", none(Outcome::Refused, "starved"), "80 of 80"),
        ("interrupted", starved().interrupted(), "cut short by SIGINT"),
        ("inconclusive", inconclusive, "they prove nothing"),
        ("unseen", starved().unseen(), "workers of this proxy were not seen"),
    ]
}

#[test]
fn every_kind_of_run_has_a_page_that_says_so() {
    for (name, run, word) in kinds() {
        let page = html(&run.data()).expect("a page");
        assert!(page.contains(word), "{name} lacks {word:?}");
        assert!(!page.contains("NaN") && !page.contains("inf s"), "{name}");
    }
}

#[test]
fn no_figure_has_a_place_that_is_no_number() {
    for (name, run, _) in kinds() {
        let data = run.data();
        for figure in Figure::ALL {
            match svg(&data, figure) {
                Ok(svg) => {
                    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {figure}");
                    assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
                }
                Err(SvgError::OfCampaigns { .. }) => assert!(!figure.is_of_a_run(), "{figure}"),
                Err(error) => assert_eq!(error, SvgError::Nothing { figure }),
            }
        }
    }
}

#[test]
fn an_empty_run_has_a_page() {
    let mut run = Run::of(Shape::STARVED).interrupted();
    run.fetches.clear();
    run.stretches.clear();
    run.accepted.clear();
    run.listeners.clear();
    run.manifest.phases.clear();
    run.summary = run.summarised("inconclusive");
    let data: PageData = run.data();
    assert!(data.end_us > 0);
    html(&data).expect("a page");
    assert!(svg(&data, Figure::Latency).is_err());
}

#[test]
fn a_figure_is_named_as_it_is_written() {
    for figure in Figure::ALL {
        assert_eq!(figure.name().parse(), Ok(figure));
    }
    assert!("pie".parse::<Figure>().is_err());
}

#[test]
fn a_large_run_stays_a_few_megabytes() {
    let run = Run::of(Shape::LARGE);
    assert!(run.holds.len() > 90_000, "{} steps", run.holds.len());
    let page = html(&run.data()).expect("a page");
    assert!(page.len() < 8_000_000, "{} bytes", page.len());
    let picture = svg(&run.data(), Figure::Picture).expect("a picture");
    assert!(picture.len() < 4_000_000, "{} bytes", picture.len());
}
