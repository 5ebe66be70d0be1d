//! The page in Chromium: opened from disk, without a network, with every control used.

use std::path::PathBuf;

use page::html;
use records::Outcome;
use serde_json::{Value, json};

use crate::browser::{Browser, Screen, artefacts};
use crate::fixture::{Run, Shape};

const STAGE: Screen = Screen { width: 1280, height: 720, scheme: "light" };
const STAGE_DARK: Screen = Screen { scheme: "dark", ..STAGE };
const PHONE: Screen = Screen { width: 390, height: 844, scheme: "light" };
const PHONE_DARK: Screen = Screen { scheme: "dark", ..PHONE };

fn written(name: &str, run: &Run) -> PathBuf {
    let path = artefacts().join(format!("{name}.html"));
    std::fs::write(&path, html(&run.data()).expect("a page")).expect("written");
    path
}

/// The canvas' box on the screen: x, y, width, height.
fn stage(browser: &mut Browser) -> [f64; 4] {
    let rect = browser.eval(
        "(() => { const c = document.getElementById('canvas');
          c.scrollIntoView({block: 'center', behavior: 'instant'});
          const r = c.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()",
    );
    // Scrolling is over when two frames have passed; the wheel waits a little longer for it.
    browser.eval("new Promise(done => setTimeout(done, 400))");
    [0, 1, 2, 3].map(|at| rect[at].as_f64().expect("a number"))
}

fn told(browser: &mut Browser) -> String {
    browser.eval("document.getElementById('told').textContent").as_str().expect("text").to_owned()
}

#[test]
fn it_opens_from_disk_on_every_screen_without_a_complaint() {
    let run = Run::of(Shape::STARVED);
    let file = written("starved", &run);
    let Some(mut browser) = Browser::start() else { return };
    for (name, screen) in [
        ("stage-light", STAGE),
        ("stage-dark", STAGE_DARK),
        ("phone-light", PHONE),
        ("phone-dark", PHONE_DARK),
    ] {
        browser.open(&file, screen);
        let wide = browser.eval("document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(u64::from(screen.width)), "{name} scrolls sideways: {wide}");
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

#[test]
fn it_says_what_the_summary_says() {
    let run = Run::of(Shape::STARVED);
    let file = written("values", &run);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&file, STAGE);
    let load = &run.summary.measure;
    let row =
        browser.eval("[...document.querySelectorAll('#row-measure td')].map(d => d.textContent)");
    let l = &load.latency_us;
    let times = [l.p50, l.p90, l.p99, l.max].map(|us| records::Micros(us).to_string());
    assert_eq!(row[0], json!(load.attempts.to_string()));
    assert!(row[1].as_str().is_some_and(|t| t.starts_with(&load.outcomes.failed().to_string())));
    assert_eq!(row.as_array().map(|cells| &cells[2..]), Some(&times.map(Value::from)[..]));
    let figure = browser.eval("document.querySelector('.figure-line b').textContent");
    assert_eq!(figure, json!(format!("{} of {}", load.outcomes.failed(), load.attempts)));
    // The script spells figures as Rust does.
    assert_eq!(browser.eval("document.querySelector('.chip').textContent"), "starved");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn every_control_does_something() {
    let run = Run::of(Shape::STARVED);
    let file = written("controls", &run);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&file, STAGE);
    let [x, y, width, height] = stage(&mut browser);
    let (middle, lane) = (x + width / 2.0, y + height / 4.0);
    let whole = browser.canvas();
    let mut before = whole.clone();
    let mut changed = |browser: &mut Browser, what: &str| {
        let now = browser.canvas();
        assert_ne!(now, before, "{what} changed nothing");
        before = now;
    };

    browser.wheel(middle, lane, -240.0);
    changed(&mut browser, "the wheel");
    for id in ["zoom-in", "left", "right", "zoom-out"] {
        browser.eval(&format!("document.getElementById('{id}').click()"));
        changed(&mut browser, id);
    }
    browser.mouse("mouseMoved", middle, lane);
    browser.mouse("mousePressed", middle, lane);
    for step in 1..5 {
        browser.mouse("mouseMoved", middle - 30.0 * f64::from(step), lane);
    }
    browser.mouse("mouseReleased", middle - 120.0, lane);
    changed(&mut browser, "dragging");
    browser.eval("document.getElementById('canvas').focus()");
    for key in ["ArrowLeft", "+", "ArrowRight", "-", "End", "Home"] {
        browser.key(key);
        changed(&mut browser, key);
    }
    browser.key("0");
    assert_eq!(browser.canvas(), whole, "0 shows the whole run again");
    browser.key("n");
    assert!(told(&mut browser).contains("gave up after"), "{}", told(&mut browser));
    let first = told(&mut browser);
    browser.key("n");
    assert_ne!(told(&mut browser), first);
    browser.key("p");
    assert_eq!(told(&mut browser), first);
    browser.shot("chosen", false);
    browser.key("Escape");
    assert!(told(&mut browser).starts_with("Point at"));
    browser.key("0");
    browser.eval("document.getElementById('theme').click()");
    assert_ne!(browser.canvas(), whole, "the theme changed nothing");
    assert_eq!(browser.eval("document.documentElement.dataset.theme"), "dark");
    browser.eval("document.getElementById('theme').click()");
    assert_eq!(browser.canvas(), whole, "light again");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_pointer_is_told_what_it_is_on_and_a_click_says_who_held_whom() {
    let run = Run::of(Shape::STARVED);
    let data = run.data();
    let file = written("pointer", &run);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&file, STAGE);
    let [x, y, width, height] = stage(&mut browser);
    // The longest hold of worker 0, in the middle of its block.
    let holds = &data.holds;
    let longest = (0..holds.len())
        .filter(|hold| holds.worker[*hold] == 0)
        .max_by_key(|hold| holds.length_us[*hold])
        .expect("a hold");
    let at = (holds.start_us[longest] + holds.length_us[longest] / 2) as f64 / data.end_us as f64;
    let gutter = 92.0;
    let (px, py) = (x + gutter + at * (width - gutter), y + height * 0.16);
    browser.mouse("mouseMoved", px, py);
    let tip = browser.eval("document.getElementById('tip').innerText");
    let name = format!("download {} on worker 0", holds.holder[longest]);
    assert!(tip.as_str().is_some_and(|tip| tip.contains(&name)), "{tip}");
    let length = records::Micros(holds.length_us[longest]).to_string();
    assert!(tip.as_str().is_some_and(|tip| tip.contains(&length)), "{tip} lacks {length}");
    browser.shot("hover", false);
    browser.click(px, py);
    let story = told(&mut browser);
    assert!(story.contains("kept worker 0 for") && story.contains(&length), "{story}");
    // The words of a failed fetch name the download of its longest wait.
    browser.eval("document.getElementById('after').click()");
    let fetches = &data.fetches;
    let failed = (0..fetches.len()).find(|i| fetches.outcome[*i] != 0).expect("one failed");
    let held = fetches.held[failed][0].0;
    let story = told(&mut browser);
    let held = format!("is download {}'s", holds.holder[held]);
    assert!(story.contains(&held), "{story} lacks {held}");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_replay_shows_nothing_before_it_happened_and_comes_to_its_end() {
    let run = Run::of(Shape::STARVED);
    let file = written("replay", &run);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&file, STAGE);
    let whole = browser.canvas();
    browser.eval("document.getElementById('canvas').focus()");
    browser.key(" ");
    let counted = "document.getElementById('counts').textContent";
    while browser.eval(counted) == "" {}
    assert_ne!(browser.canvas(), whole);
    assert_eq!(browser.eval("document.getElementById('play').ariaPressed"), "true");
    browser.key(" ");
    let paused = browser.eval(counted);
    assert_eq!(browser.canvas(), browser.canvas(), "a pause stands still");
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
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn runs_of_every_kind_are_seen() {
    let starved = || Run::of(Shape::STARVED);
    let kinds = [
        ("no-failure", starved().all_end(Outcome::Ok, "healthy")),
        ("all-refused", starved().all_end(Outcome::Refused, "starved")),
        ("interrupted", starved().interrupted()),
        ("unseen", starved().unseen()),
    ];
    let Some(mut browser) = Browser::start() else { return };
    for (name, run) in kinds {
        let file = written(name, &run);
        browser.open(&file, STAGE);
        browser.shot(name, true);
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_large_run_opens_at_once_and_moves_without_a_stutter() {
    let run = Run::of(Shape::LARGE);
    let file = written("large", &run);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&file, STAGE);
    let loaded = browser.eval("performance.getEntriesByType('navigation')[0].loadEventEnd");
    let painted =
        browser.eval("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    let [x, y, width, height] = stage(&mut browser);
    browser.shot("large", false);
    // Zooming in and out by the wheel and moving, with the time of every frame.
    let at = format!("clientX: {}, clientY: {}", x + width / 2.0, y + height / 3.0);
    let frames = browser.eval(&format!(
        "(async () => {{
            const c = document.getElementById('canvas');
            const frame = () => new Promise(requestAnimationFrame);
            const took = [];
            const drew = [];
            for (let i = 0; i < 90; i += 1) {{
                const before = performance.now();
                let from = 0;
                requestAnimationFrame(() => {{ from = performance.now(); }});
                const by = i < 30 ? -60 : i < 60 ? 0 : 60;
                const wheel = {{deltaY: by, {at}, cancelable: true}};
                if (by) c.dispatchEvent(new WheelEvent('wheel', wheel));
                else document.getElementById(i % 2 ? 'left' : 'right').click();
                await frame();
                drew.push(performance.now() - from);
                took.push(performance.now() - before);
            }}
            took.sort((a, b) => a - b);
            drew.sort((a, b) => a - b);
            return [took[45], took[85], took[89], drew[45], drew[89]];
        }})()"
    ));
    println!("large run: load {loaded} ms, first paint {painted} ms");
    println!("frames p50, p95, max, and of that drawing p50, max: {frames} ms");
    assert!(loaded.as_f64() < Some(10_000.0), "{loaded} ms to load");
    assert!(frames[0].as_f64() < Some(200.0), "{frames} ms a frame");
    browser.shot("large-moved", false);
    assert_eq!(browser.complaints, Vec::<String>::new());
}
