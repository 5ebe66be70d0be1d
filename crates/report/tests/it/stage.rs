//! What tests in the browser share: screens, pages on the disk, the picture's place.

use std::path::PathBuf;

use report::{Campaign, campaign_html, html};

use crate::browser::{Browser, Screen, artefacts};
use crate::fixture::Run;

/// A projector.
pub(crate) const STAGE: Screen = Screen { width: 1280, height: 720, scheme: "light" };
/// The same in the dark.
pub(crate) const STAGE_DARK: Screen = Screen { scheme: "dark", ..STAGE };
/// A telephone.
pub(crate) const PHONE: Screen = Screen { width: 390, height: 844, scheme: "light" };
/// The same in the dark.
pub(crate) const PHONE_DARK: Screen = Screen { scheme: "dark", ..PHONE };
/// Every screen that pages are looked at on, by the name of its picture.
pub(crate) const SCREENS: [(&str, Screen); 4] = [
    ("stage-light", STAGE),
    ("stage-dark", STAGE_DARK),
    ("phone-light", PHONE),
    ("phone-dark", PHONE_DARK),
];

/// The page of a run, on the disk.
pub(crate) fn written(name: &str, run: &Run) -> PathBuf {
    kept(name, &html(&run.analysis()))
}

/// The page of a campaign, on the disk.
pub(crate) fn written_campaign(name: &str, campaign: &Campaign) -> PathBuf {
    kept(name, &campaign_html(campaign))
}

fn kept(name: &str, page: &str) -> PathBuf {
    let path = artefacts().join(format!("{name}.html"));
    std::fs::write(&path, page).expect("written");
    path
}

/// What a page holds for scripts and other programs.
pub(crate) fn json_of(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("a data element");
    let (json, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(json).expect("JSON")
}

/// The box of the picture's time on the screen: x, y, width, height.
pub(crate) fn stage(browser: &mut Browser) -> [f64; 4] {
    let rect = browser.eval(
        "(() => { const c = document.getElementById('view');
          c.scrollIntoView({block: 'center', behavior: 'instant'});
          const r = c.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()",
    );
    // Scrolling is over when two frames have passed; the wheel waits a little longer for it.
    browser.eval("new Promise(done => setTimeout(done, 400))");
    [0, 1, 2, 3].map(|at| rect[at].as_f64().expect("a number"))
}

/// What the page says of what was chosen.
pub(crate) fn told(browser: &mut Browser) -> String {
    browser.eval("document.getElementById('told').textContent").as_str().expect("text").to_owned()
}

/// Checks that nothing but the insides of scrolled boxes reaches beyond the screen.
pub(crate) fn fits(browser: &mut Browser, what: &str, screen: Screen) {
    let wide = browser.eval("document.documentElement.scrollWidth");
    assert!(wide.as_u64() <= Some(u64::from(screen.width)), "{what} scrolls sideways: {wide}");
}
