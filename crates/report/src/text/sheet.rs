//! Lines of a terminal in the making: sections, labels before texts, tables.

use std::fmt::Display;
use std::mem;

use super::layout::{Style, Tint, WIDTH, label, wrap};
use crate::table::Table;

/// Lines so far, each with its newline and nothing before that.
#[derive(Debug)]
pub struct Sheet {
    style: Style,
    text: String,
    /// Whether a section is to begin.
    gap: bool,
}

impl Sheet {
    /// Without a line.
    pub fn new(style: Style) -> Self {
        Self { style, text: String::new(), gap: false }
    }

    /// What follows is a section of its own: an empty line stands before it, if it comes to have any.
    pub(crate) fn section(&mut self) {
        self.gap = !self.text.is_empty();
    }

    pub(crate) fn line(&mut self, line: &str) {
        if mem::take(&mut self.gap) {
            self.text.push('\n');
        }
        self.text += line.trim_end();
        self.text.push('\n');
    }

    /// In one line however long it is: it is there to be copied.
    pub(crate) fn whole(&mut self, name: &str, text: impl Display) {
        self.line(&format!("{}{text}", label(self.style, name)));
    }

    /// A text of as many lines as it takes.
    pub(crate) fn labelled(&mut self, name: &str, text: &str) {
        for (place, line) in wrap(text, WIDTH - super::layout::INDENT).iter().enumerate() {
            self.whole(if place == 0 { name } else { "" }, line);
        }
    }

    /// Texts below each other, of which the first has the label.
    pub fn list(&mut self, name: &str, texts: impl IntoIterator<Item = impl AsRef<str>>) {
        for (place, text) in texts.into_iter().enumerate() {
            self.labelled(if place == 0 { name } else { "" }, text.as_ref());
        }
    }

    /// A text without a label.
    pub(crate) fn prose(&mut self, indent: usize, text: &str) {
        for line in wrap(text, WIDTH - indent) {
            self.line(&format!("{:indent$}{line}", ""));
        }
    }

    pub(crate) fn table(&mut self, table: &Table) {
        table.lines(self.style).iter().for_each(|line| self.line(line));
    }

    /// `text` in the colour of `tint`, for a line.
    pub(crate) fn paint(&self, tint: Tint, text: &str) -> String {
        self.style.paint(tint, text)
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.text
    }
}
