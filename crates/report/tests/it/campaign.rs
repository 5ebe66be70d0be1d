//! The page of a campaign as text: what it holds, what it says of what is missing.

use records::{Micros, Verdict};
use report::{Figure, SvgError, campaign_html, campaign_svg};
use stats::{Count, Settings, wilson};

use crate::trials::Trials;

fn json_of(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("a data element");
    let (json, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn every_round_of_every_arm_is_in_it_as_its_summary_says() {
    let trials = Trials::two_arms(5);
    let data = trials.data();
    for (arm, runs) in data.arms.iter().zip(trials.runs()) {
        assert_eq!(arm.trials.len(), 5);
        for (trial, run) in arm.trials.iter().zip(runs) {
            let measure = &run.summary.measure;
            assert_eq!(trial.verdict, run.summary.verdict);
            assert_eq!(trial.failed, measure.outcomes.failed());
            let l = &measure.latency_us;
            let percentiles = [run.summary.idle.latency_us.p50, l.p50, l.p90, l.p99, l.max];
            assert_eq!(trial.latency.map(|at| at.map(|at| at.us)), percentiles.map(Some));
            let count = Count::new(trial.failed, trial.tried).expect("attempts");
            let wilson = wilson(count, Settings::default().confidence);
            let share = trial.failed_share.expect("a share");
            assert_eq!((share.low, share.high), (wilson.interval.low, wilson.interval.high));
        }
    }
    // A median at the cap is one that was given up; a fetch of a cured arm never is.
    let given_up = |arm: usize| {
        let slowest = data.arms[arm].trials.iter().filter_map(|trial| trial.latency[4]);
        slowest.filter(|at| at.given_up).count()
    };
    assert_eq!((given_up(0), given_up(1)), (5, 0));
    let page = campaign_html(&data);
    assert_eq!(json_of(&page), serde_json::to_value(&data).expect("JSON"));
    assert!(!page.contains("{{") && !page.contains("NaN"));
    for word in ["src=", "@import", "http://", "https://", "fetch(", "url("] {
        assert!(!page.contains(word), "{word} would load something");
    }
}

#[test]
fn every_trial_is_linked_by_a_relative_path() {
    let page = campaign_html(&Trials::two_arms(2).data());
    for place in 0..2 {
        for round in 0..2 {
            let path = format!("href=\"trials/{round:02}-{place}%20%22a%22/report.html\"");
            // In the table, and at the points of the figures.
            assert!(page.matches(&path).count() > 3, "{path}");
        }
    }
    assert!(!page.contains("href=\"/"), "a link from the root");
}

#[test]
fn a_comparison_says_what_became_of_each_pair() {
    let data = Trials::two_arms(5).data();
    let said =
        "rcvbuf 40 KiB against drain: improved (failed fetches, p50, p90, p99, longest step).";
    assert_eq!(data.sentence, said);
    let page = campaign_html(&data);
    for word in ["x0.06", "x0.06 to x0.07", "0/10/0", "too small to count"] {
        assert!(page.contains(word), "no {word}");
    }
    let forest = campaign_svg(&data, Figure::Differences).expect("a figure");
    assert_eq!(forest.matches("class=\"effect better\"").count(), 5);
    assert_eq!(forest.matches("class=\"effect doubt\"").count(), 1);
}

#[test]
fn a_zoo_says_which_arms_starved() {
    let data = Trials::zoo(8, 2).data();
    assert!(data.sentence.starts_with("Starved: drain, drain with"), "{}", data.sentence);
    assert!(data.sentence.contains("Healthy: rcvbuf"), "{}", data.sentence);
    let page = campaign_html(&data);
    assert!(!page.contains("id=\"differences\""));
    let missing = SvgError::Nothing { figure: Figure::Differences };
    assert_eq!(campaign_svg(&data, Figure::Differences), Err(missing));
}

#[test]
fn a_case_stands_beside_what_was_published() {
    let page = campaign_html(&Trials::case().data());
    for word in ["The starvation of 2023", "37 of 50 &lt;b&gt;", "53 of 80 failed", "<p>Then.</p>"]
    {
        assert!(page.contains(word), "no {word}");
    }
}

#[test]
fn one_that_was_cut_short_says_so_and_shows_what_there_is() {
    let whole = Trials::two_arms(3).data();
    assert_eq!(whole.cut_short, None);
    for (done, empty) in [(1, 1), (0, 2)] {
        let data = Trials::two_arms(3).cut_to(done).data();
        assert_eq!((data.done, data.planned), (done, 6));
        let page = campaign_html(&data);
        assert!(page.contains(&format!("{done} of 6 trials are done")), "{done}");
        assert!(page.contains("not whole") && page.contains("not run"));
        let without = data.arms.iter().filter(|arm| arm.trials.is_empty()).count();
        assert_eq!(without, empty);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{done}");
        for figure in Figure::ALL.into_iter().filter(|figure| figure.is_of_a_campaign()) {
            let drawn = campaign_svg(&data, figure);
            assert!(drawn.is_ok() || done == 0 || figure == Figure::Differences, "{figure}");
        }
    }
}

#[test]
fn figures_of_runs_are_refused_with_what_to_do() {
    let data = Trials::two_arms(2).data();
    for figure in Figure::ALL {
        let drawn = campaign_svg(&data, figure);
        if figure.is_of_a_campaign() {
            let drawn = drawn.expect("a figure");
            assert!(drawn.starts_with("<svg xmlns") && !drawn.contains("<a "), "{figure}");
            assert!(!drawn.contains("NaN"), "{figure}");
        } else {
            let error = drawn.expect_err("a figure of runs").to_string();
            assert!(error.contains("one of its trials"), "{error}");
        }
    }
}

#[test]
fn names_stay_names() {
    let mut data = Trials::two_arms(2).data();
    data.arms[0].name = "<script>alert(1)</script>".to_owned();
    data.arms[0].trials[0].page = "javascript:alert(1)".to_owned();
    data.arms[0].trials[0].reason = "\" onload=\"x".to_owned();
    let page = campaign_html(&data);
    assert_eq!(page.matches("<script").count(), 2);
    assert!(!page.contains("href=\"javascript:"));
    assert!(!page.contains("title=\"\" onload"));
}

#[test]
fn an_arm_without_a_verdict_of_most_is_called_by_its_most_frequent_one() {
    let data = Trials::two_arms(3).data();
    assert_eq!(data.arms[0].verdicts, [(Verdict::Starved, 3)]);
    assert_eq!(data.arms[1].verdicts, [(Verdict::Healthy, 3)]);
    assert_eq!(data.cap_us.map(Micros), Some(Micros(1_000_000)));
}
