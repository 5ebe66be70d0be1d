//! Pencil and ruler: the elements of a figure.

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
            self.body
        )
    }

    pub(super) fn inline(&self) -> String {
        format!("<svg {}>\n{}</svg>\n", self.head(), self.body)
    }

    fn head(&self) -> String {
        let (width, height, name) = (self.width, self.height, self.name);
        format!(
            "class=\"figure figure-{name}\" role=\"img\" aria-label=\"{}\" \
             viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\"",
            escape::html(&self.title)
        )
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
}
