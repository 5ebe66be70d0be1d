//! Pencil and ruler: elements and ticks.

use crate::escape;

/// An SVG in the making.
pub(super) struct Drawing {
    width: f64,
    height: f64,
    name: &'static str,
    title: String,
    body: String,
}

impl Drawing {
    pub(super) fn new(name: &'static str, title: &str, width: f64, height: f64) -> Self {
        Self { width, height, name, title: title.to_owned(), body: String::new() }
    }

    pub(super) fn document(&self, style: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {}>\n<style>{style}</style>\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            self.head(),
            self.body()
        )
    }

    pub(super) fn inline(&self) -> String {
        format!("<svg {}>\n{}</svg>\n", self.head(), self.body())
    }

    fn head(&self) -> String {
        let (width, height, name) = (self.width, self.height, self.name);
        format!(
            "class=\"figure figure-{name}\" role=\"img\" aria-label=\"{}\" \
             viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\"",
            escape::html(&self.title)
        )
    }

    pub(super) fn body(&self) -> &str {
        &self.body
    }

    pub(super) fn raw(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }

    pub(super) fn text(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let text = escape::html(text);
        self.raw(&format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{text}</text>"));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        self.raw(&format!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" class=\"{class}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    /// A rectangle with what a pointer that rests on it is told.
    pub(super) fn rect(&mut self, at: Rect, attributes: &str, told: &str) {
        let Rect { x, y, width, height } = at;
        let width = width.max(0.0);
        let told = if told.is_empty() {
            "/>".to_owned()
        } else {
            format!("><title>{}</title></rect>", escape::html(told))
        };
        self.raw(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             {attributes}{told}"
        ));
    }
}

/// A text that fits into `width` at about `letter` a letter; what does not ends in an ellipsis.
pub(super) fn cut(text: &str, width: f64, letter: f64) -> String {
    let fits = |letters: usize| letters as f64 * letter <= width;
    if fits(text.chars().count()) {
        return text.to_owned();
    }
    let mut short = String::new();
    for (place, c) in text.chars().enumerate() {
        if !fits(place + 2) {
            break;
        }
        short.push(c);
    }
    short + "\u{2026}"
}

/// A place and a size.
#[derive(Clone, Copy)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Powers of ten from `low` to `high`, as times.
pub(super) fn time_decades(low_us: f64, high_us: f64) -> Vec<(f64, String)> {
    let mut ticks = Vec::new();
    let mut at = 1.0;
    while at <= high_us * 1.001 {
        if at >= low_us * 0.999 {
            ticks.push((at, time_label(at)));
        }
        at *= 10.0;
    }
    ticks
}

/// A time in the shortest unit that needs no more than three digits before the point.
pub(super) fn time_label(us: f64) -> String {
    let short = |value: f64| {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match us {
        0.0 => "0 s".to_owned(),
        us if us >= 1e6 => format!("{} s", short(us / 1e6)),
        us if us >= 1e3 => format!("{} ms", short(us / 1e3)),
        us => format!("{} us", short(us)),
    }
}

/// Round steps from 0 to about `high`: at most `most` of them.
pub(super) fn even_ticks(high: f64, most: u32) -> Vec<f64> {
    if high <= 0.0 {
        return vec![0.0];
    }
    let rough = high / f64::from(most.max(1));
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= rough).unwrap_or(10.0);
    let step = step * power;
    let mut ticks = Vec::new();
    let mut at = 0.0;
    while at <= high * 1.0001 {
        ticks.push(at);
        at += step;
    }
    ticks
}
