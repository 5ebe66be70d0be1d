//! Every control of the picture: by pointer, by wheel, and by the keyboard alone.

use analysis::Analysis;
use records::Outcome;
use report::words::holder;
use report::{HoldData, PageData};
use serde_json::json;

use crate::browser::Browser;
use crate::browser::{STAGE, stage, told, written};
use crate::fixture::{large, starved};

#[test]
fn the_wheel_the_mouse_and_the_keys_of_the_picture_do_something() {
    let run = starved();
    let file = written("controls", &run);
    let Some(mut browser) = Browser::on(&file) else { return };
    let [x, y, width, height] = stage(&mut browser);
    let (middle, lane) = (x + width / 2.0, y + height / 4.0);
    let whole = browser.picture();
    let mut before = whole.clone();
    let mut changed = |browser: &mut Browser, what: &str| {
        let now = browser.picture();
        assert!(!browser.are_alike(&now, &before), "{what} changed nothing");
        before = now;
    };

    browser.wheel(middle, lane, -240.0);
    changed(&mut browser, "the wheel");
    browser.mouse("mouseMoved", middle, lane);
    browser.mouse("mousePressed", middle, lane);
    for step in 1..5 {
        browser.mouse("mouseMoved", middle - 30.0 * f64::from(step), lane);
    }
    browser.mouse("mouseReleased", middle - 120.0, lane);
    changed(&mut browser, "dragging");
    browser.eval("document.getElementById('view').focus()");
    for key in ["ArrowLeft", "+", "ArrowRight", "-", "End", "Home"] {
        browser.key(key);
        changed(&mut browser, key);
    }
    browser.key("0");
    let again = browser.picture();
    assert!(browser.are_alike(&again, &whole), "0 shows the whole run again");
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
}

#[test]
fn a_pointer_is_told_what_it_is_on_and_a_click_says_who_held_whom() {
    let run = starved();
    let analysis = Analysis::of(&run.records);
    let data = PageData::of(&analysis);
    let file = written("pointer", &run);
    let Some(mut browser) = Browser::on(&file) else { return };
    let [x, y, width, height] = stage(&mut browser);
    // The longest hold of worker 0, in the middle of its block.
    let holds = &data.holds;
    let own = holds.iter().filter(|hold| hold.worker == 0);
    let longest = own.max_by_key(|hold| hold.span.length_us).expect("a hold");
    let at = (longest.span.start_us + longest.span.length_us / 2) as f64 / data.end_us as f64;
    let (px, py) = (x + at * width, y + height * 0.16);
    browser.mouse("mouseMoved", px, py);
    let tip = browser.eval("document.getElementById('tip').innerText");
    let name = format!("One step of {} kept worker 0", holder(longest.holder));
    assert!(tip.as_str().is_some_and(|tip| tip.contains(&name)), "{tip}");
    let length = records::Micros(longest.span.length_us).to_string();
    assert!(tip.as_str().is_some_and(|tip| tip.contains(&length)), "{tip} lacks {length}");
    browser.shot("hover", false);
    browser.click(px, py);
    let story = told(&mut browser);
    assert!(story.contains("kept worker 0 for") && story.contains(&length), "{story}");
    // The words of a failed fetch name the download of its longest wait.
    browser.eval("document.getElementById('after').click()");
    let mut fetches = data.fetches.iter();
    let failed = fetches.find(|fetch| fetch.outcome != Outcome::Ok).expect("one failed");
    let story = told(&mut browser);
    let held = format!("is {}'s", holder(holds[failed.held[0].0].holder));
    assert!(story.contains(&held), "{story} lacks {held}");
}

#[test]
fn what_is_zoomed_stands_where_its_time_is_and_nothing_is_stretched() {
    let run = starved();
    let analysis = Analysis::of(&run.records);
    let data = PageData::of(&analysis);
    let file = written("zoomed", &run);
    let Some(mut browser) = Browser::on(&file) else { return };
    let [x, y, width, height] = stage(&mut browser);
    // The long one that stands nearest to the middle.
    let middle = |hold: &&HoldData| (hold.span.start_us + hold.span.end_us()).abs_diff(data.end_us);
    let long = data.holds.iter().filter(|hold| hold.worker == 1);
    let longest = long.min_by_key(middle).expect("a hold");
    let own = data.holds.iter().filter(|hold| hold.worker == longest.worker);
    let before = own.take_while(|hold| *hold != longest).count();
    let block = format!("'.lane[data-worker=\"{}\"] .block')[{before}]", longest.worker);
    let longest = longest.span;
    let place = |browser: &mut Browser, of: &str| {
        let rect = browser.eval(&format!(
            "(() => {{ const r = document.querySelectorAll({of}.getBoundingClientRect();
             return [r.x, r.width, r.height]; }})()"
        ));
        [0, 1, 2].map(|at| rect[at].as_f64().expect("a number"))
    };
    let at = |us: u64| us as f64 / data.end_us as f64 * width;
    let failed = "'.lane .mark.failed')[0]";
    let mark = place(&mut browser, failed);
    // Around its middle, by the wheel: it grows by the same factor to both sides.
    let middle = at(longest.start_us + longest.length_us / 2);
    for zoomed in [false, true] {
        if zoomed {
            browser.wheel(x + middle, y + height / 2.0, -200.0);
            browser.picture();
        }
        let factor = if zoomed { 1.0022_f64.powi(200) } else { 1.0 };
        let [left, wide, _] = place(&mut browser, &block);
        let wanted = at(longest.length_us) * factor;
        assert!((wide - (wanted - 1.0)).abs() < 1.5, "{wide} px wide instead of {wanted}");
        assert!((left - (x + middle - wanted / 2.0)).abs() < 1.5, "it stands at {left}");
        assert_eq!(place(&mut browser, failed)[1..], mark[1..], "a mark is stretched");
    }
    // A block whose start is out of sight still says whose it is.
    let label = format!("'text[data-from=\"{}\"]')[0]", longest.start_us);
    for _ in 0..4 {
        browser.eval("document.getElementById('zoom-in').click()");
    }
    browser.picture();
    let [left, wide, _] = place(&mut browser, &label);
    assert!(wide > 0.0 && left >= x, "the label is {wide} px wide and stands at {left}");
}

/// Where the Tab key leads, in this order.
const STOPS: [&str; 12] = [
    "skip", "theme", "play", "speed", "zoom-in", "zoom-out", "left", "right", "whole", "before",
    "after", "view",
];

/// Goes on with the Tab key until the control has the focus; it must be seen to have it.
fn tab_to(browser: &mut Browser, id: &str) {
    let focused = "document.activeElement.id || document.activeElement.className";
    for _ in 0..40 {
        if browser.eval(focused) == json!(id) {
            let seen = browser.eval(
                "(() => { const e = document.activeElement; const s = getComputedStyle(e);
                  return e.matches(':focus-visible') && s.outlineStyle !== 'none'; })()",
            );
            assert_eq!(seen, json!(true), "{id} does not show that it has the focus");
            return;
        }
        browser.key("Tab");
    }
    panic!("the Tab key never leads to {id}");
}

#[test]
fn the_keyboard_alone_reaches_and_works_every_control() {
    let run = starved();
    let file = written("keyboard", &run);
    let Some(mut browser) = Browser::on(&file) else { return };
    let mut order = Vec::new();
    for _ in STOPS {
        browser.key("Tab");
        let stop = browser.eval("document.activeElement.id || document.activeElement.className");
        order.push(stop.as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(order, STOPS, "in the order of reading");

    browser.open(&file, STAGE);
    tab_to(&mut browser, "skip");
    browser.key("Enter");
    assert_eq!(browser.eval("location.hash"), "#picture");
    browser.open(&file, STAGE);
    tab_to(&mut browser, "theme");
    browser.key("Enter");
    assert_eq!(browser.eval("document.documentElement.dataset.theme"), "dark");
    browser.key(" ");
    assert_eq!(browser.eval("document.documentElement.dataset.theme"), "light");
    tab_to(&mut browser, "speed");
    browser.key("ArrowDown");
    assert_eq!(browser.eval("document.getElementById('speed').value"), "0.25");
    let mut before = browser.picture();
    let controls = ["zoom-in", "zoom-in", "left", "right", "zoom-out", "whole", "before", "after"];
    for id in controls {
        tab_to(&mut browser, id);
        browser.key("Enter");
        let now = browser.picture();
        assert!(!browser.are_alike(&now, &before), "{id} by Enter changed nothing");
        before = now;
    }
    assert!(told(&mut browser).contains("gave up after"), "{}", told(&mut browser));
    tab_to(&mut browser, "play");
    browser.key(" ");
    assert_eq!(browser.eval("document.getElementById('play').ariaPressed"), "true");
    browser.key(" ");
    assert_eq!(browser.eval("document.getElementById('play').ariaPressed"), "false");
    tab_to(&mut browser, "view");
    browser.key("n");
    browser.key("Escape");
    assert!(told(&mut browser).starts_with("Point at"));
    assert_eq!(browser.eval("document.getElementById('counts').textContent"), "");
    // No trap: the Tab key leads on from the picture.
    browser.key("Tab");
    assert_ne!(browser.eval("document.activeElement.id"), "view");
}

/// Begins to note the length of every frame.
const NOTE: &str = "globalThis.frames_ = []; {
    let before = performance.now();
    const note = now => { frames_.push(now - before); before = now;
        globalThis.noting = requestAnimationFrame(note); };
    globalThis.noting = requestAnimationFrame(note); } null";
/// Ends it: how many, the middle one, the 99th percentile, how many over 50 ms.
const NOTED: &str = "(() => { cancelAnimationFrame(noting);
    const f = frames_.slice(1).sort((a, b) => a - b);
    return [f.length, f[f.length >> 1], f[Math.floor(f.length * 0.99)],
        f.filter(ms => ms > 50).length]; })()";

#[test]
fn a_large_run_opens_at_once_and_a_hand_that_drags_it_sees_it_move() {
    let file = written("large", &large());
    let Some(mut browser) = Browser::on(&file) else { return };
    let loaded = browser.eval("performance.getEntriesByType('navigation')[0].loadEventEnd");
    println!("large run: load {loaded} ms");
    assert!(loaded.as_f64() < Some(10_000.0), "{loaded} ms to load");
    let [x, y, width, height] = stage(&mut browser);
    let (middle, lane) = (x + width / 2.0, y + height / 3.0);
    browser.wheel(middle, lane, -400.0);
    browser.wheel(middle, lane, -400.0);
    browser.picture();
    // Frames of a page at rest, for what this host and its browser have to give.
    browser.eval(NOTE);
    browser.eval("new Promise(done => setTimeout(done, 1000))");
    let rest = browser.eval(NOTED);
    // A hand that drags: by real input events, two turns from side to side.
    browser.mouse("mouseMoved", middle, lane);
    browser.mouse("mousePressed", middle, lane);
    browser.eval(NOTE);
    for step in 0..240 {
        let swing = f64::from(step) / 240.0 * std::f64::consts::TAU;
        browser.mouse("mouseMoved", middle + 400.0 * swing.sin(), lane);
    }
    let frames = browser.eval(NOTED);
    browser.mouse("mouseReleased", middle, lane);
    println!("large run, at rest: frames, p50, p99, over 50 ms: {rest}");
    println!("large run, dragged: frames, p50, p99, over 50 ms: {frames}");
    let [count, over] = [0, 3].map(|at| frames[at].as_f64().expect("a number"));
    assert!(count > 30.0, "{count} frames in 240 moves");
    // Others may have the CPUs of this host; on a quiet one there is none.
    assert!(over < count / 4.0, "{over} of {count} frames took over 50 ms");
}
