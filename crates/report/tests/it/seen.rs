//! Pages as they are seen: on every screen and on paper, of every kind of run.

use std::path::Path;

use analysis::Analysis;
use records::{Cause, Micros, Outcome, percent};
use serde_json::{Value, json};

use crate::browser::{Browser, Screen};
use crate::browser::{PHONE, SCREENS, STAGE, STAGE_DARK, fits, written, written_campaign};
use crate::fixture::{arms_alone, cut_to, interrupted, kinds, starved, two_arms};

/// What a page moved while it was loaded.
const SHIFTED: &str = "new Promise(done => {
    let sum = 0;
    const add = list => { for (const e of list.getEntries()) sum += e.value; };
    new PerformanceObserver(add).observe({type: 'layout-shift', buffered: true});
    setTimeout(() => done(sum), 100);
})";

#[test]
fn pages_open_from_disk_on_every_screen_without_a_complaint() {
    let pages = [
        ("starved", written("starved", &starved())),
        ("campaign", written_campaign("campaign", &two_arms(10))),
        ("campaign-check", written_campaign("campaign-check", &arms_alone(8, 3))),
        ("campaign-cut-short", written_campaign("campaign-cut-short", &cut_to(1))),
        ("campaign-of-nothing", written_campaign("campaign-of-nothing", &cut_to(0))),
    ];
    let Some(mut browser) = Browser::start() else { return };
    for (page, file) in pages {
        for (name, screen) in SCREENS {
            browser.open(&file, screen);
            fits(&mut browser, name, screen);
            let moved = browser.eval(SHIFTED);
            assert!(moved.as_f64() < Some(0.01), "{page}, {name} jumps by {moved}");
            browser.shot(&format!("{page}-{name}"), true);
        }
    }
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
    let run = starved();
    let file = written("values", &run);
    let Some(mut browser) = Browser::on(&file) else { return };
    let analysis = Analysis::of(&run.records);
    let summary = &analysis.summary;
    for (row, phase) in [("idle", &summary.idle), ("under load", &summary.measure)] {
        let rows = texts(&mut browser, "#latency tbody tr");
        let l = &phase.latency_us;
        let times = [l.p50, l.p90, l.p99, l.max].map(|us| Micros(us).to_string()).concat();
        let (failed, tried) = (phase.outcomes.failed(), phase.outcomes.tried());
        let told = |text: &String| {
            text.starts_with(&format!("{row}{failed} of {tried} (")) && text.ends_with(&times)
        };
        assert!(rows.iter().any(told), "{row}: {rows:?}");
    }
    let load = &summary.measure;
    let title = texts(&mut browser, "h1").concat();
    let failed = format!("{} of {} ", load.outcomes.failed(), load.outcomes.tried());
    let idle = Micros(summary.idle.latency_us.p50).to_string();
    assert!(title.starts_with(&failed) && title.contains(&idle), "{title}");
    assert_eq!(texts(&mut browser, ".chip"), ["starved"]);
    // Every cause with its share and the fetches that it led.
    let causes = texts(&mut browser, "#why tbody tr");
    let held = &summary.causes[0];
    assert_eq!(held.cause, Cause::HeldByStep);
    let (share, time) = (percent(held.share_of_late_time), held.time_us);
    let told = format!("held_by_step{share}{time}{}", held.fetches);
    assert!(causes.iter().any(|row| row.starts_with(&told)), "{causes:?} lack {told}");
}

#[test]
fn its_figures_stand_where_their_values_are() {
    let campaign = two_arms(4);
    let file = written_campaign("campaign-values", &campaign);
    let Some(mut browser) = Browser::on(&file) else { return };
    // Each point by its x: in the order of the times, and on one scale.
    let places = browser.eval(
        "[...document.querySelectorAll('#latency .point')]
            .map(c => Number(c.getAttribute('transform').slice(10).split(' ')[0]))",
    );
    let places = places.as_array().expect("points");
    let trials: Vec<_> = campaign.arms.iter().flat_map(|arm| &arm.trials).collect();
    // A point a round of each arm, in five percentiles, of which the first is the idle median.
    assert_eq!(places.len(), 5 * trials.len());
    let us = |at: usize| (trials[at].summary.idle.latency_us.p50 as f64).log10();
    let slowest = |at: usize| (trials[at].summary.measure.latency_us.max as f64).log10();
    let x = |at: usize| places[at].as_f64().expect("a number");
    let last = 4 * trials.len();
    let decade = (x(last) - x(0)) / (slowest(0) - us(0));
    for at in 0..trials.len() {
        assert!((x(at) - x(0) - decade * (us(at) - us(0))).abs() < 0.2, "point {at}");
        let off = x(last + at) - x(0) - decade * (slowest(at) - us(0));
        assert!(off.abs() < 0.2, "the slowest of trial {at}");
    }
    let links = browser.eval("document.querySelectorAll('#trials a').length");
    assert_eq!(links, json!(trials.len()));
    browser.key("Tab");
    assert_eq!(browser.eval("document.activeElement.id"), "theme");
    browser.key("Enter");
    assert_eq!(browser.eval("document.documentElement.dataset.theme"), "dark");
}

/// What an upright A4 sheet has room for between its margins of 0.4 inch, at 96 px an inch.
const SHEET: Screen = Screen { width: 717, height: 1045, scheme: "dark" };

/// What reaches beyond the sheet, or beyond a box that would have to be scrolled.
const CUT: &str = "(() => {
    const width = document.documentElement.clientWidth;
    const out = [];
    for (const e of document.body.querySelectorAll('*')) {
        const r = e.getBoundingClientRect();
        if (r.width === 0 || r.height === 0 || e.closest('.skip, script, svg *')) continue;
        const style = getComputedStyle(e);
        const scrolls = style.overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1;
        if (r.right > width + 1 || scrolls) {
            out.push(`${e.tagName} ${e.id || e.className}: ${Math.round(r.right)} of ${width}`);
        }
    }
    return out;
})()";

/// Prints a page and looks at it as paper has it.
fn printed(browser: &mut Browser, name: &str, file: &Path) {
    browser.open(file, STAGE_DARK);
    let has_picture = browser.eval("Boolean(document.getElementById('view'))") == true;
    let before = has_picture.then(|| browser.picture());
    let sheets = browser.paper(name);
    assert!((2..=12).contains(&sheets), "{name} takes {sheets} sheets");
    // On the screen everything is as it was.
    let after = has_picture.then(|| browser.picture());
    if let (Some(before), Some(after)) = (before, after) {
        assert!(browser.are_alike(&before, &after), "{name}: printing left the picture changed");
    }
    assert_eq!(browser.eval("document.documentElement.dataset.theme || ''"), "");

    browser.screen(SHEET);
    browser.media("print");
    let cut = browser.eval(CUT);
    assert_eq!(cut.as_array().map(Vec::len), Some(0), "{name} is cut: {cut}");
    let shown = |id: &str| {
        format!(
            "(() => {{ const e = document.querySelector('{id}');
             return Boolean(e) && e.getClientRects().length > 0; }})()"
        )
    };
    for id in ["#theme", ".controls", ".skip"] {
        assert_eq!(browser.eval(&shown(id)), false, "{name}: {id} is of no use on paper");
    }
    // Paper is light, whatever the screen is.
    let ground = browser.eval("getComputedStyle(document.body).backgroundColor");
    assert_eq!(ground, "rgb(255, 255, 255)", "{name}");
    if has_picture {
        // As wide as the sheet and not out of shape: a circle is a circle.
        let seen = browser.eval(
            "(() => { const of = e => e?.getBoundingClientRect() ?? {width: 1, height: 1};
              const mark = of(document.querySelector('.lane .mark.ok'));
              return [mark.width / mark.height, of(document.getElementById('stage')).width]; })()",
        );
        let [ratio, wide] = [0, 1].map(|at| seen[at].as_f64().expect("a number"));
        assert!((0.98..1.02).contains(&ratio), "{name}: the picture is stretched by {ratio}");
        assert!(wide > 600.0, "{name}: the picture is {wide} px wide");
    }
    browser.media("screen");
}

#[test]
fn runs_of_every_kind_are_seen() {
    let Some(mut browser) = Browser::start() else { return };
    for (name, run, chip, [words, _]) in kinds() {
        let file = written(name, &run);
        for screen in [PHONE, STAGE_DARK, STAGE] {
            browser.open(&file, screen);
            fits(&mut browser, name, screen);
        }
        browser.shot(name, true);
        assert_eq!(texts(&mut browser, ".chip"), [chip], "{name}");
        let sentence = texts(&mut browser, "h1").concat();
        assert!(sentence.contains(words), "{name}: {sentence}");
        browser.eval("document.getElementById('after').click()");
        let told = texts(&mut browser, "#told").concat();
        let failed = run.records.fetches.iter().any(|fetch| fetch.outcome != Outcome::Ok);
        assert_eq!(told.starts_with("No fetch failed"), !failed, "{name}: {told}");
    }
}

#[test]
fn pages_are_printed_whole() {
    let run = starved;
    let pages = [
        ("paper", written("paper", &run())),
        ("paper-interrupted", written("paper-interrupted", &interrupted(run()))),
        ("paper-campaign", written_campaign("paper-campaign", &two_arms(10))),
    ];
    let Some(mut browser) = Browser::start() else { return };
    for (name, file) in pages {
        printed(&mut browser, name, &file);
    }
}
