//! The page of a campaign as text: what it holds, what it says of what is missing.

use report::{Style, campaign_html, campaign_svg, headline};
use stats::{Change, Finding};

use crate::fixture::{LOADS, arms_alone, cut_to, two_arms};

#[test]
fn every_trial_is_told_as_its_report_tells_it_and_linked_by_a_relative_path() {
    let campaign = two_arms(5);
    let page = campaign_html(&campaign);
    for (place, arm) in campaign.arms.iter().enumerate() {
        for (round, trial) in arm.trials.iter().enumerate() {
            let path = format!("href=\"trials/{round:02}-{place}%20%22a%22/report.html\"");
            let link = format!("{path}>{}</a>", headline(&trial.summary));
            assert_eq!(page.matches(&link).count(), 1, "{link}");
        }
    }
    assert!(!page.contains("href=\"/"), "a link from the root");
    assert!(!page.contains("{{") && !page.contains("NaN"));
    for word in LOADS {
        assert!(!page.contains(word), "{word} would load something");
    }
}

/// A triangle stands where fetches were given up: a median at the cap is one; none of a cured arm is.
#[test]
fn what_was_given_up_is_drawn_as_a_bound() {
    let campaign = two_arms(5);
    let drawn = campaign_svg(&campaign).expect("a figure");
    assert!(drawn.starts_with("<svg xmlns") && !drawn.contains("<a ") && !drawn.contains("NaN"));
    let marks = |arm: &str| {
        let told = format!("<title>{arm}, round ");
        let marks = drawn.split("<path ").filter(move |mark| mark.contains(&told));
        marks.filter(|mark| mark.contains(" or more (")).count()
    };
    assert!(marks("drain") >= 5, "the slowest of each round");
    assert_eq!(marks("rcvbuf 40 KiB"), 0);
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
    assert!(!campaign_html(&arms_alone(8, 2)).contains("class=\"difference\""));
}

#[test]
fn a_pair_is_told_with_every_metric() {
    let campaign = two_arms(5);
    let text = campaign.text(Style::Plain);
    insta::assert_snapshot!(format!("{text}\n{}", campaign.markdown()));
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
}

#[test]
fn one_that_was_cut_short_says_so_and_shows_what_there_is() {
    assert!(!campaign_html(&two_arms(1)).contains("cut short"));
    for done in [1, 0] {
        let campaign = cut_to(done);
        let page = campaign_html(&campaign);
        assert!(page.contains(&format!("{done} of 6 trials are done")), "{done}");
        assert!(!page.contains("NaN") && !page.contains("inf"), "{done}");
        assert_eq!(campaign_svg(&campaign).is_some(), done > 0);
    }
}

#[test]
fn names_stay_names() {
    let mut campaign = two_arms(2);
    campaign.arms[0].spec.name = "<script>alert(1)</script>".to_owned();
    campaign.arms[0].trials[0].dir = "javascript:alert(1)".into();
    let page = campaign_html(&campaign);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("href=\"javascript:"));
}
