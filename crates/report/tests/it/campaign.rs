//! The page of a campaign as text: what it holds, what it says of what is missing.

use records::Micros;
use report::{Figure, campaign_html, campaign_svg};
use stats::{Change, Finding};

use crate::fixture::{arms_alone, case, cut_to, two_arms};

#[test]
fn every_round_of_every_arm_is_in_it_as_its_summary_says() {
    let campaign = two_arms(5);
    let page = campaign_html(&campaign);
    let trials: Vec<_> = campaign.arms.iter().flat_map(|arm| &arm.trials).collect();
    assert_eq!(trials.len(), 10);
    for trial in trials {
        let measure = &trial.summary.measure;
        let (failed, tried) = (measure.outcomes.failed(), measure.outcomes.tried());
        let cell = format!("{failed} of {tried} failed, p50 {}", Micros(measure.latency_us.p50));
        assert!(page.contains(&cell), "no {cell}");
    }
    assert!(!page.contains("{{") && !page.contains("NaN"));
    for word in ["src=", "@import", "http://", "https://", "fetch(", "url("] {
        assert!(!page.contains(word), "{word} would load something");
    }
}

/// A triangle stands where fetches were given up: a median at the cap is one; none of a cured arm is.
#[test]
fn what_was_given_up_is_drawn_as_a_bound() {
    let campaign = two_arms(5);
    let drawn = campaign_svg(&campaign, Figure::Latency).expect("a figure");
    let marks = |arm: &str| {
        let told = format!("<title>{arm}, round ");
        let marks = drawn.split("<path ").filter(move |mark| mark.contains(&told));
        marks.filter(|mark| mark.contains(" or more (")).count()
    };
    assert!(marks("drain") >= 5, "the slowest of each round");
    assert_eq!(marks("rcvbuf 40 KiB"), 0);
}

#[test]
fn every_trial_is_linked_by_a_relative_path() {
    let page = campaign_html(&two_arms(2));
    for place in 0..2 {
        for round in 0..2 {
            let path = format!("href=\"trials/{round:02}-{place}%20%22a%22/report.html\"");
            assert_eq!(page.matches(&path).count(), 1, "{path}");
        }
    }
    assert!(!page.contains("href=\"/"), "a link from the root");
}

#[test]
fn a_comparison_says_what_became_of_each_pair() {
    let campaign = two_arms(5);
    let page = campaign_html(&campaign);
    let said = "rcvbuf 40 KiB: failures ";
    assert!(page.contains(&format!("<h1>{said}")), "no {said}");
    let judgement = &campaign.comparison.as_ref().expect("one").pairs[0].judgement;
    let mut better = 0;
    for metric in &judgement.comparisons {
        let counts = matches!(metric.finding, Finding::Higher | Finding::Lower);
        better += usize::from(counts && metric.change() == Change::Improved);
        let row = format!("<th scope=\"row\">{}</th>", metric.metric.name);
        assert!(page.contains(&row), "no {row}");
    }
    let said = page.matches("<td>improved</td>").count();
    assert_eq!(said, better);
    assert!(better > 1, "the cure shows");
}

#[test]
fn arms_without_a_comparison_say_which_starved() {
    let campaign = arms_alone(8, 2);
    let page = campaign_html(&campaign);
    for said in ["<h1>Starved: drain, drain with", " Healthy: rcvbuf"] {
        assert!(page.contains(said), "no {said}");
    }
    assert!(!page.contains("id=\"differences\""));
}

#[test]
fn a_case_stands_beside_what_was_published() {
    let page = campaign_html(&case());
    for word in ["The starvation of 2023", "37 of 50 &lt;b&gt;", "53 of 80 failed", "<p>Then.</p>"]
    {
        assert!(page.contains(word), "no {word}");
    }
}

#[test]
fn one_that_was_cut_short_says_so_and_shows_what_there_is() {
    assert!(!campaign_html(&two_arms(1)).contains("not whole"));
    for done in [1, 0] {
        let campaign = cut_to(done);
        let page = campaign_html(&campaign);
        assert!(page.contains(&format!("{done} of 6 trials are done")), "{done}");
        assert!(page.contains("not whole"));
        assert_eq!(page.matches("not run").count(), 6 - done);
        assert!(!page.contains("NaN") && !page.contains("inf"), "{done}");
        assert_eq!(campaign_svg(&campaign, Figure::Latency).is_ok(), done > 0);
    }
}

#[test]
fn figures_of_runs_are_refused_with_what_to_do() {
    let campaign = two_arms(2);
    for figure in Figure::all() {
        let drawn = campaign_svg(&campaign, figure);
        if figure == Figure::Latency {
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
    let mut campaign = two_arms(2);
    campaign.arms[0].spec.name = "<script>alert(1)</script>".to_owned();
    let trial = &mut campaign.arms[0].trials[0];
    trial.dir = "javascript:alert(1)".into();
    trial.summary.verdict_reasons = vec!["\" onload=\"x".to_owned()];
    let page = campaign_html(&campaign);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("href=\"javascript:"));
    assert!(!page.contains("title=\"\" onload"));
}
