//! Pages as they are seen: on every screen, of every kind of run.

use records::{Cause, Micros, Outcome, Summary, percent};
use report::{Figure, PageData};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::browser::{PHONE, SCREENS, STAGE, STAGE_DARK, fits, written, written_campaign};
use crate::fixture::{Run, Shape};
use crate::trials::{case, cut_to, two_arms, zoo};

#[test]
fn it_opens_from_disk_on_every_screen_without_a_complaint() {
    let run = Run::of(Shape::STARVED);
    let file = written("starved", &run);
    let Some(mut browser) = Browser::start() else { return };
    for (name, screen) in SCREENS {
        browser.open(&file, screen);
        fits(&mut browser, name, screen);
        let moved = browser.eval(
            "new Promise(done => {
                let sum = 0;
                const add = list => { for (const e of list.getEntries()) sum += e.value; };
                new PerformanceObserver(add).observe({type: 'layout-shift', buffered: true});
                setTimeout(() => done(sum), 100);
            })",
        );
        assert!(moved.as_f64() < Some(0.01), "{name} jumps by {moved}");
        browser.shot(name, false);
        browser.shot(&format!("{name}-whole"), true);
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

/// The texts of all elements that a selector finds.
fn texts(browser: &mut Browser, selector: &str) -> Vec<String> {
    let list = format!("[...document.querySelectorAll('{selector}')].map(e => e.textContent)");
    let list = browser.eval(&list);
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    list.as_array().expect("a list").iter().map(text).collect()
}

#[test]
fn it_says_what_the_summary_says() {
    let run = Run::of(Shape::STARVED);
    let file = written("values", &run);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&file, STAGE);
    let analysis = run.analysis();
    let summary = &analysis.summary;
    for (row, phase) in [("measure", &summary.measure), ("idle", &summary.idle)] {
        let cells = texts(&mut browser, &format!("#row-{row} td"));
        let l = &phase.latency_us;
        let times = [l.p50, l.p90, l.p99, l.max].map(|us| Micros(us).to_string());
        assert_eq!(cells[0], phase.attempts.to_string(), "{row}");
        assert!(cells[1].starts_with(&format!("{} (", phase.outcomes.failed())), "{cells:?}");
        assert_eq!(cells[2..], times, "{row}");
    }
    let load = &summary.measure;
    let figures = texts(&mut browser, ".figure-line b");
    assert_eq!(figures[0], format!("{} of {}", load.outcomes.failed(), load.outcomes.tried()));
    assert_eq!(figures[1], Micros(load.latency_us.p50).to_string());
    assert_eq!(texts(&mut browser, ".chip"), ["starved"]);
    // Every cause with its share and the fetches that it led.
    let causes = texts(&mut browser, "#figure-causes svg text");
    let held = &summary.causes[0];
    assert_eq!(held.cause, Cause::HeldByStep);
    let share = format!("{}, led {} fetches", percent(held.share_of_late_time), held.fetches);
    assert!(causes.contains(&share), "{causes:?} lack {share}");
    // What the page holds is what stands in the file.
    let held =
        browser.eval("JSON.stringify(JSON.parse(document.getElementById('data').text).summary)");
    let held: Summary = serde_json::from_str(held.as_str().expect("text")).expect("a summary");
    // Outcomes that did not occur are named in the document, so compare documents.
    let document = |of: &Summary| serde_json::to_value(of).expect("a document");
    assert_eq!(document(&held), document(summary));
    // Whose steps held whom: as the data have it, in the order of their waits.
    let data = PageData::of(&analysis);
    let blame = texts(&mut browser, "#picture tbody tr");
    let named = data.blame.iter().filter(|blame| blame.waited > Micros(0));
    for (row, blame) in blame.iter().zip(named) {
        let waited = blame.waited.to_string();
        assert!(row.contains(&waited) && row.contains(&blame.fetches.to_string()), "{row}");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn runs_of_every_kind_are_seen() {
    let starved = || Run::of(Shape::STARVED);
    let kinds = [
        ("no-failure", starved().all_end(Outcome::Ok), "healthy", "Healthy: all 80"),
        ("all-refused", starved().all_end(Outcome::Refused), "starved", "80 of 80"),
        ("interrupted", starved().interrupted(), "inconclusive", "cut short by SIGINT"),
        ("inconclusive", starved().broken(), "inconclusive", "the proxy ended with signal 9"),
        ("unseen", starved().unseen(), "starved", "fetches failed"),
    ];
    let Some(mut browser) = Browser::start() else { return };
    for (name, run, chip, words) in kinds {
        let file = written(name, &run);
        for (screen_name, screen) in [("phone", PHONE), ("stage-dark", STAGE_DARK), ("", STAGE)] {
            browser.open(&file, screen);
            fits(&mut browser, name, screen);
            if !screen_name.is_empty() {
                browser.shot(&format!("{name}-{screen_name}"), false);
            }
        }
        browser.shot(name, true);
        assert_eq!(texts(&mut browser, ".chip"), [chip], "{name}");
        let sentence = texts(&mut browser, "h1").concat();
        assert!(sentence.contains(words), "{name}: {sentence}");
        // Who looks for the next failed fetch is told of it, or that there is none.
        browser.eval("document.getElementById('after').click()");
        let told = texts(&mut browser, "#told").concat();
        let failed = run.records().fetches.iter().any(|fetch| fetch.outcome != Outcome::Ok);
        assert_eq!(told.starts_with("No fetch failed"), !failed, "{name}: {told}");
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

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
