//! A large run: 100,000 steps and 5,000 fetches. How it is measured stands in `docs/report.md`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::browser::Browser;
use crate::browser::{STAGE, stage, written};
use crate::fixture::{Run, Shape};

/// The page of a large run, made once.
fn large() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| written("large", &Run::of(Shape::LARGE)))
}

#[test]
fn a_large_run_opens_at_once_and_moves_without_a_stutter() {
    let file = large();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(file, STAGE);
    let loaded = browser.eval("performance.getEntriesByType('navigation')[0].loadEventEnd");
    let painted =
        browser.eval("performance.getEntriesByName('first-contentful-paint')[0].startTime");
    let [x, y, width, height] = stage(&mut browser);
    browser.shot("large", false);
    // Zooming in and out by the wheel and moving, with the time of every frame.
    let at = format!("clientX: {}, clientY: {}", x + width / 2.0, y + height / 3.0);
    let frames = browser.eval(&format!(
        "(async () => {{
            const c = document.getElementById('view');
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
fn a_hand_that_drags_a_large_run_sees_it_move() {
    let file = large();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(file, STAGE);
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
    assert_eq!(browser.complaints, Vec::<String>::new());
}
