//! A headless Chromium, driven through its DevTools protocol; and what tests in it share: screens, pages on
//! the disk, the picture's place.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use analysis::Analysis;
use report::{Campaign, campaign_html, html};
use serde_json::{Value, json};
use testkit::fixture::Run;
use testkit::{Running, Turn, connect, in_turn, installed};
use tungstenite::{Message, WebSocket};

/// Longer than any test takes; then it is killed, whatever becomes of us.
const LIFETIME: &str = "240";

/// One browser with one page.
pub(crate) struct Browser {
    process: Running,
    socket: WebSocket<TcpStream>,
    session: String,
    next: u64,
    /// What the page complained of: console errors and exceptions, and requests it made.
    complaints: Vec<String>,
    _profile: tempfile::TempDir,
    _turn: Turn,
}

/// How large, and in which colours.
#[derive(Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) scheme: &'static str,
}

impl Browser {
    /// Starts one; `None`, with the reason on stderr, where there is none. Browsers take turns: on few
    /// CPUs, two at a time would be slow for each other.
    pub(crate) fn start() -> Option<Self> {
        let turn = in_turn();
        if !["chromium", "setpriv", "timeout"].into_iter().all(installed) {
            return None;
        }
        let profile = tempfile::tempdir().expect("a directory");
        // It dies with this test, and in any case after its time.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "TERM", "timeout", "--kill-after=2", LIFETIME, "chromium"])
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-quic",
                "--disable-sync",
                "--no-first-run",
            ])
            // Nothing it asks of a network can be found: the page must not need one.
            .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank");
        let process = Running::start(&mut command);
        let mut said = Vec::new();
        let address = std::iter::from_fn(|| process.complaint()).find_map(|line| {
            let address = line.strip_prefix("DevTools listening on ").map(str::to_owned);
            said.push(line);
            address
        });
        let address = address.unwrap_or_else(|| panic!("chromium does not start: {said:#?}"));
        let host = address.trim_start_matches("ws://").split('/').next().expect("a host");
        let stream = connect(host.parse().expect("an address"));
        let (socket, _) = tungstenite::client(&address, stream).expect("a handshake");
        let (session, complaints) = Default::default();
        let mut browser =
            Self { process, socket, session, next: 0, complaints, _profile: profile, _turn: turn };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// One that shows this file on a stage.
    pub(crate) fn on(file: &Path) -> Option<Self> {
        let mut browser = Self::start()?;
        browser.open(file, STAGE);
        Some(browser)
    }

    /// One command and its answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(message.to_string())).expect("chromium takes it");
        loop {
            let message = self.read();
            if message["id"] == json!(id) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }

    fn read(&mut self) -> Value {
        let text = self.socket.read().expect("chromium answers").into_text().expect("text");
        let message: Value = serde_json::from_str(&text).expect("JSON");
        let params = &message["params"];
        let complaint = match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => Some(params.to_string()),
            Some("Runtime.consoleAPICalled") if params["type"] != "log" => Some(params.to_string()),
            Some("Log.entryAdded") => Some(params.to_string()),
            Some("Network.requestWillBeSent") => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                let own = url.starts_with("file:") || url.starts_with("data:");
                (!own).then(|| format!("asked for {url}"))
            }
            _ => None,
        };
        self.complaints.extend(complaint);
        message
    }

    /// Sets size and colours, then opens a file and waits until it is loaded.
    pub(crate) fn open(&mut self, file: &Path, screen: Screen) {
        self.screen(screen);
        let url = format!("file://{}", file.display());
        self.call("Page.navigate", json!({"url": url}));
        while self.eval("document.readyState + location.protocol") != "completefile:" {}
        // Two frames: the first may be from before.
        self.eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))");
    }

    pub(crate) fn screen(&mut self, screen: Screen) {
        let Screen { width, height, scheme } = screen;
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1,
            "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": scheme}));
    }

    /// As a screen has it, or paper, on a device that prefers the dark.
    pub(crate) fn media(&mut self, media: &str) {
        let dark = json!([{"name": "prefers-color-scheme", "value": "dark"}]);
        self.call("Emulation.setEmulatedMedia", json!({"media": media, "features": dark}));
    }

    /// The value of an expression; a promise is waited for.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// A key that does what a browser does with it: a letter, or one with a name.
    pub(crate) fn key(&mut self, key: &str) {
        let (text, code) = match key {
            "Tab" => ("", 9),
            "Enter" => ("\r", 13),
            "ArrowDown" => ("", 40),
            letter if letter.chars().count() == 1 => (letter, 0),
            _ => ("", 0),
        };
        let down = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        for (kind, text) in [(down, text), ("keyUp", "")] {
            let event = json!({"type": kind, "key": key, "text": text,
                "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    pub(crate) fn mouse(&mut self, kind: &str, x: f64, y: f64) {
        let (button, clicks) = if kind == "mouseMoved" { ("none", 0) } else { ("left", 1) };
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": clicks});
        self.call("Input.dispatchMouseEvent", event);
    }

    pub(crate) fn click(&mut self, x: f64, y: f64) {
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            self.mouse(kind, x, y);
        }
    }

    pub(crate) fn wheel(&mut self, x: f64, y: f64, by: f64) {
        let event = json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by});
        self.call("Input.dispatchMouseEvent", event);
    }

    /// The page on paper, A4 upright, kept as PDF; answers how many sheets it takes.
    pub(crate) fn paper(&mut self, name: &str) -> usize {
        let size = json!({"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": true});
        let answer = self.call("Page.printToPDF", size);
        let pdf = decoded(&answer);
        assert!(pdf.starts_with(b"%PDF"));
        // Of the sheets' objects each is of this type, and the one that lists them of another.
        let of = |word: &[u8]| pdf.windows(word.len()).filter(|part| part == &word).count();
        let sheets = of(b"/Type /Page") - of(b"/Type /Pages");
        std::fs::write(artefacts().join(format!("{name}.pdf")), pdf).expect("a document is kept");
        sheets
    }

    /// What the picture shows, without the tip and the ring of the focus: a PNG in base64.
    pub(crate) fn picture(&mut self) -> String {
        let rect = self.eval(
            "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
                const e = document.getElementById('view');
                e.scrollIntoView({block: 'nearest', behavior: 'instant'});
                const style = document.createElement('style');
                style.id = 'bare';
                style.textContent = '#tip { visibility: hidden } #view { outline: none !important }';
                document.head.append(style);
                const r = e.getBoundingClientRect();
                done([r.x + scrollX, r.y + scrollY, r.width, r.height]);
            })))",
        );
        let [x, y, width, height] = [0, 1, 2, 3].map(|at| rect[at].clone());
        let clip = json!({"x": x, "y": y, "width": width, "height": height, "scale": 1});
        let answer = self.call("Page.captureScreenshot", json!({"format": "png", "clip": clip}));
        self.eval("document.getElementById('bare').remove()");
        answer["data"].as_str().expect("a picture").to_owned()
    }

    /// Whether two pictures are of the same: but for softer edges, where a browser places anew what
    /// it had moved.
    pub(crate) fn are_alike(&mut self, one: &str, other: &str) -> bool {
        let differ = self.eval(&format!(
            "(async () => {{
                const dots = async png => {{
                    const image = new Image();
                    image.src = 'data:image/png;base64,' + png;
                    await image.decode();
                    const sheet = document.createElement('canvas');
                    [sheet.width, sheet.height] = [image.width, image.height];
                    const copy = sheet.getContext('2d');
                    copy.drawImage(image, 0, 0);
                    return copy.getImageData(0, 0, sheet.width, sheet.height).data;
                }};
                const [a, b] = [await dots('{one}'), await dots('{other}')];
                let far = a.length === b.length ? 0 : 1;
                for (let i = 0; i < a.length; i += 1) far += Math.abs(a[i] - b[i]) > 96;
                return far / a.length;
            }})()"
        ));
        differ.as_f64() < Some(0.0005)
    }

    /// Keeps a picture of what is seen, or of the whole page.
    pub(crate) fn shot(&mut self, name: &str, whole: bool) {
        let params = json!({"format": "png", "captureBeyondViewport": whole});
        let mut params = params;
        if whole {
            let size = self
                .eval("(({scrollWidth: w, scrollHeight: h}) => [w, h])(document.documentElement)");
            params["clip"] =
                json!({"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1});
        }
        let answer = self.call("Page.captureScreenshot", params);
        let png = decoded(&answer);
        assert!(png.starts_with(b"\x89PNG"));
        let path = artefacts().join(format!("{name}.png"));
        std::fs::write(path, png).expect("a picture is kept");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked first: it takes its own children with it.
        let close = json!({"id": 0, "method": "Browser.close"});
        let _ = self.socket.send(Message::text(close.to_string()));
        let ends = Instant::now() + Duration::from_secs(5);
        while !self.process.has_ended() && Instant::now() < ends {
            let _ = self.socket.read();
            std::thread::yield_now();
        }
        if !std::thread::panicking() {
            assert_eq!(self.complaints, Vec::<String>::new(), "what its pages complained of");
        }
    }
}

/// A picture or a document, as bytes.
fn decoded(answer: &Value) -> Vec<u8> {
    let text = answer["data"].as_str().expect("what was asked for");
    data_encoding::BASE64.decode(text.as_bytes()).expect("base64")
}

/// Where pictures are kept: beside what the build makes.
pub(crate) fn artefacts() -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    std::fs::create_dir_all(&dir).expect("a directory");
    dir
}

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
    kept(name, &html(&Analysis::of(&run.records)))
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
pub(crate) fn json_of(page: &str) -> Value {
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
