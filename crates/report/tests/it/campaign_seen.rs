//! The page of a campaign in the browser.

use report::Figure;
use serde_json::json;

use crate::browser::Browser;
use crate::stage::{SCREENS, STAGE, fits, written_campaign};
use crate::trials::{case, cut_to, two_arms, zoo};

#[test]
fn a_comparison_is_seen_on_every_screen() {
    let file = written_campaign("campaign", &two_arms(10));
    let Some(mut browser) = Browser::start() else { return };
    for (name, screen) in SCREENS {
        browser.open(&file, screen);
        fits(&mut browser, name, screen);
        browser.shot(&format!("campaign-{name}"), false);
        browser.shot(&format!("campaign-{name}-whole"), true);
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn campaigns_of_every_kind_are_seen() {
    let kinds = [
        ("campaign-zoo", zoo(8, 3)),
        ("campaign-case", case()),
        ("campaign-cut-short", cut_to(1)),
        ("campaign-of-nothing", cut_to(0)),
    ];
    let Some(mut browser) = Browser::start() else { return };
    for (name, campaign) in kinds {
        let file = written_campaign(name, &campaign);
        for (_, screen) in SCREENS {
            browser.open(&file, screen);
            fits(&mut browser, name, screen);
        }
        browser.open(&file, STAGE);
        browser.shot(name, true);
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn its_figures_stand_where_their_values_are_and_lead_to_their_trials() {
    let campaign = two_arms(4);
    let file = written_campaign("campaign-values", &campaign);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&file, STAGE);
    // Each point of the failures, by its x: in the order of the shares, and on one scale.
    let places = browser.eval(
        "[...document.querySelectorAll('#figure-failures a path')]
             .map(c => [Number(c.getAttribute('transform').slice(10).split(' ')[0]), c.closest('a').getAttribute('href')])",
    );
    let places = places.as_array().expect("points");
    let trials: Vec<_> = campaign.arms.iter().flat_map(|arm| &arm.trials).collect();
    assert_eq!(places.len(), trials.len());
    let share = |at: usize| trials[at].summary.measure.failed_share;
    let x = |at: usize| places[at][0].as_f64().expect("a number");
    let wide = (x(0) - x(4)) / (share(0) - share(4));
    for at in 0..trials.len() {
        assert!((x(at) - x(0) - wide * (share(at) - share(0))).abs() < 0.2, "point {at}");
        let href = places[at][1].as_str().expect("a link");
        assert_eq!(
            href.replace("%20", " ").replace("%22", "\""),
            format!("{}/report.html", trials[at].dir.display())
        );
    }
    for figure in Figure::all().filter(|figure| figure.is_of_a_campaign()) {
        let drawn =
            browser.eval(&format!("document.querySelectorAll('#figure-{figure} svg').length"));
        assert_eq!(drawn, json!(1), "{figure}");
    }
    // By the keyboard: the table's links, and none of the points.
    let stops =
        browser.eval("[...document.querySelectorAll('svg a')].filter(a => a.tabIndex >= 0).length");
    assert_eq!(stops, 0);
    let links = browser.eval("document.querySelectorAll('#trials td a').length");
    assert_eq!(links, json!(trials.len()));
    browser.press("Tab");
    browser.press("Tab");
    assert_eq!(browser.eval("document.activeElement.id"), "theme");
    browser.press("Enter");
    assert_eq!(browser.eval("document.documentElement.dataset.theme"), "dark");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
