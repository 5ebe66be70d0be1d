//! Replay: the cursor runs as fast as it says, and what is counted beside it is what is seen.

use analysis::Analysis;
use records::Outcome;
use report::PageData;
use serde_json::Value;

use crate::browser::Browser;
use crate::browser::{STAGE, stage, written};
use crate::fixture::starved;

#[test]
fn a_replay_shows_nothing_before_it_happened_and_comes_to_its_end() {
    let run = starved();
    let file = written("replay", &run);
    let Some(mut browser) = Browser::on(&file) else { return };
    let whole = browser.picture();
    browser.eval("document.getElementById('view').focus()");
    browser.key(" ");
    let counted = "document.getElementById('counts').textContent";
    while browser.eval(counted) == "" {}
    let playing = browser.picture();
    assert!(!browser.are_alike(&playing, &whole), "what is to come is shown");
    assert_eq!(browser.eval("document.getElementById('play').ariaPressed"), "true");
    browser.key(" ");
    let paused = browser.eval(counted);
    let (one, other) = (browser.picture(), browser.picture());
    assert!(browser.are_alike(&one, &other), "a pause stands still");
    assert_eq!(browser.eval(counted), paused);
    // Near the end, so that the test need not wait for all of it.
    browser.key("+");
    browser.key("+");
    browser.key("+");
    browser.key("End");
    browser.key(" ");
    while browser.eval(counted) == paused {}
    let waiting = browser.eval(counted);
    assert!(!waiting.as_str().is_some_and(|text| text.contains(" 0 failed")), "{waiting}");
    browser.shot("replay", false);
    while browser.eval(counted) != "" {}
    assert_eq!(browser.eval("document.getElementById('play').ariaPressed"), "false");
}

/// Moves the cursor for some time; answers how far it went, px, and how long that took, ms.
const RUN: &str = "(wall => (async () => {
    const c = document.getElementById('view');
    const head = () => {
        const future = document.getElementById('future');
        return future.hidden ? null : future.getBoundingClientRect().x;
    };
    const frame = () => new Promise(requestAnimationFrame);
    c.focus();
    document.getElementById('play').click();
    while (head() === null) await frame();
    await frame();
    const [x, t] = [head(), performance.now()];
    while (performance.now() - t < wall) await frame();
    const [there, then] = [head(), performance.now()];
    document.getElementById('play').click();
    return [there - x, then - t];
})())";

#[test]
fn the_cursor_runs_at_the_speed_that_is_chosen() {
    let run = starved();
    let analysis = Analysis::of(&run.records);
    let data = PageData::of(&analysis);
    let file = written("speeds", &run);
    let Some(mut browser) = Browser::start() else { return };
    for (speed, zooms, wall) in [(1.0, 0, 1500), (0.25, 4, 1500), (0.05, 8, 1500)] {
        browser.open(&file, STAGE);
        let [_, _, width, _] = stage(&mut browser);
        browser.eval(&format!(
            "const s = document.getElementById('speed'); s.value = '{speed}';
             s.dispatchEvent(new Event('change')); null"
        ));
        browser.eval("document.getElementById('view').focus()");
        for _ in 0..zooms {
            browser.key("+");
        }
        // The zoom is drawn with the next frame.
        browser.picture();
        let ran = browser.eval(&format!("{RUN}({wall})"));
        let [pixels, ms] = [0, 1].map(|at| ran[at].as_f64().expect("a number"));
        let seen_us = data.end_us as f64 / 1.5_f64.powi(zooms);
        let moved_us = pixels * seen_us / width;
        let rate = moved_us / (ms * 1000.0);
        println!("replay at {speed}x: {rate:.3} s of the run a second");
        assert!(rate > speed * 0.6 && rate < speed * 1.5, "at {speed}x it ran at {rate:.3}x");
    }
}

#[test]
fn what_is_counted_at_the_cursor_is_what_the_records_say() {
    let run = starved();
    let analysis = Analysis::of(&run.records);
    let data = PageData::of(&analysis);
    let file = written("counted", &run);
    let Some(mut browser) = Browser::on(&file) else { return };
    stage(&mut browser);
    browser.eval("document.getElementById('view').focus()");
    for key in ["+", "+", "+", "End", " "] {
        browser.key(key);
    }
    let counted = "document.getElementById('counts').textContent";
    while browser.eval(counted) == "" {}
    browser.key(" ");
    let Value::String(text) = browser.eval(counted) else { panic!("no text") };
    // `9.12 s: 40 served, 12 failed, 3 waiting`
    let words: Vec<&str> = text.split([' ', ':', ',']).filter(|word| !word.is_empty()).collect();
    let figure = |place: usize| words[place].parse::<f64>().expect("a number");
    let (at, said) = (figure(0) * 1e6, [figure(2), figure(4), figure(6)]);
    let count = |at: f64| {
        let mut counts = [0.0; 3];
        for fetch in &data.fetches {
            let (start, end) = (fetch.span.start_us as f64, fetch.span.end_us() as f64);
            let kind = if end > at { 2 } else { usize::from(fetch.outcome != Outcome::Ok) };
            counts[kind] += if start <= at { 1.0 } else { 0.0 };
        }
        counts
    };
    // The text has two digits after the point.
    let near = [-5_000.0, 0.0, 5_000.0].map(|off| count(at + off));
    assert!(near.contains(&said), "{text} is none of {near:?}");
}
