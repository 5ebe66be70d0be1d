//! Lines of a hundred columns: wrapping, labels, colour, and short forms of figures.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style as Ansi};
use net::terminal::printable;
use records::{Bytes, Verdict};

/// The widest line.
pub(crate) const WIDTH: usize = 100;

/// The widest line of the brief report of a run.
pub(crate) const NARROW: usize = 80;

/// Where the text of a section starts.
pub(crate) const INDENT: usize = 12;

/// `label` as wide as the labels of sections are, painted.
pub(crate) fn label(style: Style, label: &str) -> String {
    style.paint(Tint::Label, &format!("{label:<INDENT$}"))
}

/// Breaks `text` at spaces into lines of at most `width` columns; a longer word is cut. A figure
/// and its unit stay together.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words(text).iter().flat_map(|word| pieces(word, width)) {
        let line = lines.last().map_or(0, |line| columns(line));
        let space = usize::from(line > 0);
        if line + space + columns(&word) > width {
            lines.push(word);
        } else if let Some(last) = lines.last_mut() {
            last.extend((space == 1).then_some(' '));
            last.push_str(&word);
        }
    }
    lines
}

/// The same in `most` lines; what does not fit ends in dots.
pub(crate) fn wrap_to(most: usize, text: &str, width: usize) -> Vec<String> {
    let mut lines = wrap(text, width);
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            let kept: String = last.chars().take(width.saturating_sub(4)).collect();
            *last = format!("{} ...", kept.trim_end());
        }
    }
    lines
}

/// The words of `text`, each figure as one with its unit.
fn words(text: &str) -> Vec<String> {
    const UNITS: [&str; 14] =
        ["s", "ms", "us", "%", "x", "B", "KiB", "MiB", "GiB", "TiB", "B/s", "kB/s", "MB/s", "GB/s"];
    let ends_in_figure = |word: &String| word.ends_with(|letter: char| letter.is_ascii_digit());
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches([',', ';', ':', '.', ')']);
        match words.last_mut().filter(|last| UNITS.contains(&unit) && ends_in_figure(last)) {
            Some(figure) => {
                figure.push(' ');
                figure.push_str(word);
            }
            None => words.push(word.to_owned()),
        }
    }
    words
}

fn pieces(word: &str, width: usize) -> Vec<String> {
    let letters: Vec<char> = printable(word).chars().collect();
    letters.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect()
}

/// Columns that a text takes. Messages are ASCII but for names from elsewhere.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// Bytes in at most 8 columns: `491 MiB`, `2.2 GiB`, `917 B`.
pub fn short_bytes(bytes: Bytes) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes.0 < 1_024 {
        return format!("{} B", bytes.0);
    }
    let mut amount = bytes.0 as f64 / 1_024.0;
    let mut unit = 0;
    // 1023.5 would print as 1024.
    while amount >= 1_023.5 && unit + 1 < UNITS.len() {
        amount /= 1_024.0;
        unit += 1;
    }
    let decimals = usize::from(amount < 99.95);
    format!("{amount:.decimals$} {}", UNITS[unit])
}

/// A count in at most `digits` columns, 4 or more: `343`, `9999`, `12k`, `45M`.
pub(crate) fn short_count(count: f64, digits: i32) -> String {
    if count < 10_f64.powi(digits) - 0.5 {
        return format!("{count:.0}");
    }
    match count {
        count if count < 999.5e3 => format!("{:.0}k", count / 1e3),
        count if count < 999.5e6 => format!("{:.0}M", count / 1e6),
        count => format!("{:.0}G", (count / 1e9).min(999.0)),
    }
}

/// A figure that need not be whole: `4`, `2.5`, `12k`.
pub(crate) fn figure(figure: f64) -> String {
    if figure >= 100.0 {
        return short_count(figure, 4);
    }
    let text = format!("{figure:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// Whether a text carries colour. Without it, it reads the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// No escape sequence at all.
    #[default]
    Plain,
    /// ANSI escape sequences.
    Colour,
}

impl Style {
    /// Colour when `stream` is a terminal, unless `NO_COLOR` is set and not empty
    /// (<https://no-color.org>) or `TERM` is `dumb`.
    pub fn for_stream(stream: &impl IsTerminal) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if stream.is_terminal() && !unwanted && !dumb { Self::Colour } else { Self::Plain }
    }

    /// `text` in the colour of `tint`.
    pub(crate) fn paint(self, tint: Tint, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => {
                let ansi = tint.ansi();
                format!("{ansi}{text}{ansi:#}")
            }
        }
    }
}

/// What a colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tint {
    /// The name of a section.
    Label,
    /// All is well.
    Good,
    /// Look here.
    Warn,
    /// This is what went wrong.
    Bad,
}

impl Tint {
    const fn ansi(self) -> Ansi {
        match self {
            Self::Label => Ansi::new().bold(),
            Self::Good => AnsiColor::Green.on_default().bold(),
            Self::Warn => AnsiColor::Yellow.on_default().bold(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
        }
    }
}

impl From<Verdict> for Tint {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Healthy => Self::Good,
            Verdict::Starved => Self::Bad,
            Verdict::Degraded | Verdict::Inconclusive => Self::Warn,
        }
    }
}

#[cfg(test)]
mod tests;
