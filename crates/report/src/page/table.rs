//! Tables, lists and figures: the pieces that all pages are built of.

use std::fmt::{Display, Write as _};

use crate::escape::html;
use crate::svg::palette::Ink;

/// A table in a box that scrolls where it is too wide. Cells are HTML already.
pub(crate) struct Table {
    attributes: &'static str,
    out: String,
}

impl Table {
    /// Its class and the like, its caption, and the heads of its columns; an empty one heads nothing.
    pub(crate) fn new(attributes: &'static str, caption: &str, heads: &[&str]) -> Self {
        let mut out = String::new();
        if !caption.is_empty() {
            let _ = write!(out, "<caption>{caption}</caption>");
        }
        if !heads.is_empty() {
            let head = |head: &&str| match *head {
                "" => "<td></td>".to_owned(),
                head => format!("<th scope=\"col\">{head}</th>"),
            };
            let heads: String = heads.iter().map(head).collect();
            let _ = write!(out, "<thead><tr>{heads}</tr></thead>");
        }
        out.push_str("<tbody>");
        Self { attributes, out }
    }

    /// A row: its id or nothing, its head and its cells.
    pub(crate) fn row(
        &mut self,
        id: &str,
        head: impl Display,
        cells: impl IntoIterator<Item = impl Display>,
    ) {
        let id = if id.is_empty() { String::new() } else { format!(" id=\"{id}\"") };
        let _ = write!(self.out, "<tr{id}><th scope=\"row\">{head}</th>");
        for cell in cells {
            let _ = write!(self.out, "<td>{cell}</td>");
        }
        self.out.push_str("</tr>");
    }

    pub(crate) fn end(self) -> String {
        let Self { attributes, out } = self;
        format!("<div class=\"scroll\"><table{attributes}>{out}</tbody></table></div>")
    }
}

/// A list under a title; nothing where there is no item.
pub(crate) fn list(title: &str, items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let item = |item: &str| format!("<li>{}</li>", html(item));
    let items: String = items.into_iter().map(|one| item(one.as_ref())).collect();
    match (items.as_str(), title) {
        ("", _) => String::new(),
        (items, "") => format!("<ul>{items}</ul>"),
        (items, title) => format!("<h3>{}</h3><ul>{items}</ul>", html(title)),
    }
}

/// Machine and versions: names and values.
pub(crate) fn environment(rows: &[(String, String)]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new(" class=\"environment\"", "", &[]);
    for (name, value) in rows {
        table.row("", html(name), [html(value)]);
    }
    format!("<details open><summary>Environment</summary>{}</details>", table.end())
}

/// The sample of a colour.
pub(crate) fn key(Ink { color, hatched }: Ink) -> String {
    let hatched = if hatched { " hatched" } else { "" };
    format!("<i class=\"key{hatched}\" style=\"--key:{color}\"></i>")
}

/// A figure with what is to be read in it; `drawn` is absent where there is nothing to show.
pub(crate) fn figure(id: impl Display, title: &str, told: &str, drawn: Option<String>) -> String {
    let nothing = || "<p class=\"nothing\">Nothing to show here was recorded.</p>".to_owned();
    format!(
        "<figure id=\"figure-{id}\"><figcaption><h3>{}</h3><p>{}</p></figcaption>{}</figure>",
        html(title),
        html(told),
        drawn.unwrap_or_else(nothing)
    )
}
