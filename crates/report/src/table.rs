//! A table, once: as lines of a terminal, as Markdown and as HTML.

use std::fmt::Write as _;

use crate::escape::html;
use crate::text::layout::{Style, Tint, WIDTH, columns, wrap};

/// Heads, and rows of as many cells.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without a row.
    pub(crate) fn new<const N: usize>(heads: [&str; N]) -> Self {
        Self { heads: heads.map(str::to_owned).into(), rows: Vec::new() }
    }

    /// Its next row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl ToString>) {
        self.rows.push(cells.into_iter().map(|cell| cell.to_string()).collect());
    }

    /// The same without the columns that have these heads.
    pub(crate) fn without(mut self, heads: &[&str]) -> Self {
        let kept: Vec<bool> =
            self.heads.iter().map(|head| !heads.contains(&head.as_str())).collect();
        for row in self.rows.iter_mut().chain([&mut self.heads]) {
            let mut kept = kept.iter();
            row.retain(|_| kept.next().is_none_or(|kept| *kept));
        }
        self
    }

    /// Lines for a terminal, figures to the right of their columns. Where they would be too wide the
    /// widest columns give way: their cells are broken.
    pub(crate) fn lines(&self, style: Style) -> Vec<String> {
        let places = 0..self.heads.len();
        let cells = |place: usize| self.rows.iter().filter_map(move |row| row.get(place));
        let width = |place: usize, of: fn(&String) -> usize| {
            cells(place).chain(self.heads.get(place)).map(of).max().unwrap_or(0)
        };
        let line = |cell: &String| cell.lines().map(columns).max().unwrap_or(0);
        let word = |cell: &String| cell.split_whitespace().map(columns).max().unwrap_or(0);
        let mut widths: Vec<usize> = places.clone().map(|place| width(place, line)).collect();
        let words: Vec<usize> = places.clone().map(|place| width(place, word).max(8)).collect();
        let gaps = places.len().saturating_sub(1);
        // Prose gives way by itself; figures stand closer first.
        let is_prose = widths.iter().any(|width| *width > WIDTH / 2);
        let gap = if is_prose || widths.iter().sum::<usize>() + 2 * gaps <= WIDTH { 2 } else { 1 };
        // Words are broken where nothing else is left.
        for least in [words, vec![8; widths.len()]] {
            while widths.iter().sum::<usize>() + gap * gaps > WIDTH {
                let wide = widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
                let Some((widest, _)) = wide.max() else { break };
                *widest -= 1;
            }
        }
        let to_the_right: Vec<bool> =
            places.map(|place| cells(place).all(|cell| is_figure(cell))).collect();
        let lines = |row: &Vec<String>| {
            let mut lines: Vec<String> = Vec::new();
            let mut from = 0;
            for ((cell, &width), &right) in row.iter().zip(&widths).zip(&to_the_right) {
                let parts = cell.lines().flat_map(|line| wrap(line, width));
                for (place, part) in parts.enumerate() {
                    if place == lines.len() {
                        lines.push(String::new());
                    }
                    let line = &mut lines[place];
                    let at = from + if right { width - columns(&part) } else { 0 };
                    *line += &" ".repeat(at - columns(line));
                    *line += &part;
                }
                from += width + gap;
            }
            lines
        };
        let heads = lines(&self.heads).into_iter().map(|line| style.paint(Tint::Label, &line));
        heads.chain(self.rows.iter().flat_map(lines)).collect()
    }

    /// The same as Markdown, with a newline after each line.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &Vec<String>| {
            let cell = |cell: &String| {
                format!("| {} ", cell.replace('|', "\\|").replace(['\n', '\r'], " "))
            };
            cells.iter().map(cell).collect::<String>() + "|\n"
        };
        let rows: String = self.rows.iter().map(line).collect();
        line(&self.heads) + &"|---".repeat(self.heads.len()) + "|\n" + &rows
    }

    /// The same as HTML, in a box that scrolls where it is too wide.
    pub(crate) fn html(&self, caption: &str) -> String {
        let mut out = String::from("<div class=\"scroll\"><table>");
        if !caption.is_empty() {
            let _ = write!(out, "<caption>{}</caption>", html(caption));
        }
        out += "<thead><tr>";
        for head in &self.heads {
            let _ = write!(out, "<th scope=\"col\">{}</th>", html(head));
        }
        out += "</tr></thead><tbody>";
        for row in &self.rows {
            out += "<tr>";
            for (place, cell) in row.iter().enumerate() {
                let (tag, end) = if place == 0 { ("th scope=\"row\"", "th") } else { ("td", "td") };
                let _ = write!(out, "<{tag}>{}</{end}>", html(cell));
            }
            out += "</tr>";
        }
        out + "</tbody></table></div>"
    }
}

/// Whether a cell is a figure, or says that there is none.
fn is_figure(cell: &str) -> bool {
    let cell = cell.trim_start_matches(['<', '>', 'x', '+', '-']);
    cell.is_empty() || cell.starts_with(|letter: char| letter.is_ascii_digit())
}
