//! Every control of the picture: by pointer, by wheel, and by the keyboard alone.

use serde_json::json;

use crate::browser::Browser;
use crate::fixture::{Run, Shape};
use crate::stage::{GUTTER, STAGE, stage, told, written};

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
    let (px, py) = (x + GUTTER + at * (width - GUTTER), y + height * 0.16);
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

/// Where the Tab key leads, in this order.
const STOPS: [&str; 12] = [
    "skip", "theme", "play", "speed", "zoom-in", "zoom-out", "left", "right", "whole", "before",
    "after", "canvas",
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
        browser.press("Tab");
    }
    panic!("the Tab key never leads to {id}");
}

#[test]
fn the_keyboard_alone_reaches_and_works_every_control() {
    let run = Run::of(Shape::STARVED);
    let file = written("keyboard", &run);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&file, STAGE);
    let mut order = Vec::new();
    for _ in STOPS {
        browser.press("Tab");
        let stop = browser.eval("document.activeElement.id || document.activeElement.className");
        order.push(stop.as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(order, STOPS, "in the order of reading");

    browser.open(&file, STAGE);
    tab_to(&mut browser, "skip");
    browser.press("Enter");
    assert_eq!(browser.eval("location.hash"), "#picture");
    browser.open(&file, STAGE);
    tab_to(&mut browser, "theme");
    browser.press("Enter");
    assert_eq!(browser.eval("document.documentElement.dataset.theme"), "dark");
    browser.press("Space");
    assert_eq!(browser.eval("document.documentElement.dataset.theme"), "light");
    tab_to(&mut browser, "speed");
    browser.press("ArrowDown");
    assert_eq!(browser.eval("document.getElementById('speed').value"), "0.25");
    let mut before = browser.canvas();
    let controls = ["zoom-in", "zoom-in", "left", "right", "zoom-out", "whole", "before", "after"];
    for id in controls {
        tab_to(&mut browser, id);
        browser.press("Enter");
        let now = browser.canvas();
        assert_ne!(now, before, "{id} by Enter changed nothing");
        before = now;
    }
    assert!(told(&mut browser).contains("gave up after"), "{}", told(&mut browser));
    tab_to(&mut browser, "play");
    browser.press("Space");
    assert_eq!(browser.eval("document.getElementById('play').ariaPressed"), "true");
    browser.press("Space");
    assert_eq!(browser.eval("document.getElementById('play').ariaPressed"), "false");
    tab_to(&mut browser, "canvas");
    browser.press("n");
    browser.press("Escape");
    assert!(told(&mut browser).starts_with("Point at"));
    assert_eq!(browser.eval("document.getElementById('counts').textContent"), "");
    // No trap: the Tab key leads on from the picture.
    browser.press("Tab");
    assert_ne!(browser.eval("document.activeElement.id"), "canvas");
    assert_eq!(browser.complaints, Vec::<String>::new());
}
