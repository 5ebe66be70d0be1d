//! The pages on paper: all of them, nothing cut, nothing that only a screen has a use for.

use std::path::Path;

use crate::browser::{Browser, Screen};
use crate::browser::{STAGE_DARK, written, written_campaign};
use crate::fixture::{Run, Shape};
use crate::trials::two_arms;

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
fn a_run_is_printed_whole() {
    let starved = Run::of(Shape::STARVED);
    let interrupted = Run::of(Shape::STARVED).interrupted();
    let Some(mut browser) = Browser::start() else { return };
    for (name, run) in [("paper", &starved), ("paper-interrupted", &interrupted)] {
        let file = written(name, run);
        printed(&mut browser, name, &file);
    }
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn a_campaign_is_printed_whole() {
    let file = written_campaign("paper-campaign", &two_arms(10));
    let Some(mut browser) = Browser::start() else { return };
    printed(&mut browser, "paper-campaign", &file);
    assert_eq!(browser.complaints, Vec::<String>::new());
}
