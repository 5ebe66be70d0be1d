//! A table, once: as lines of a terminal, as Markdown and as HTML.

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
            cells.iter().map(|text| format!("| {} ", cell(text))).collect::<String>() + "|\n"
        };
        let rows: String = self.rows.iter().map(line).collect();
        line(&self.heads) + &"|---".repeat(self.heads.len()) + "|\n" + &rows
    }

    /// The same as HTML, in a box that scrolls where it is too wide.
    pub(crate) fn html(&self, caption: &str) -> String {
        let caption = match caption {
            "" => String::new(),
            caption => format!("<caption>{}</caption>", html(caption)),
        };
        let head = |head: &String| format!("<th scope=\"col\">{}</th>", html(head));
        let cell = |(place, cell): (usize, &String)| match place {
            0 => format!("<th scope=\"row\">{}</th>", html(cell)),
            _ => format!("<td>{}</td>", html(cell)),
        };
        let row = |row: &Vec<String>| row.iter().enumerate().map(cell).collect::<String>();
        let heads: String = self.heads.iter().map(head).collect();
        let rows: String =
            self.rows.iter().map(|cells| format!("<tr>{}</tr>", row(cells))).collect();
        format!(
            "<div class=\"scroll\"><table>{caption}<thead><tr>{heads}</tr></thead>\
             <tbody>{rows}</tbody></table></div>"
        )
    }
}

/// A text in a cell of Markdown: on one line, without a column's end.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// Whether a cell is a figure, or says that there is none.
fn is_figure(cell: &str) -> bool {
    let cell = cell.trim_start_matches(['<', '>', 'x', '+', '-']);
    cell.is_empty() || cell.starts_with(|letter: char| letter.is_ascii_digit())
}
