//! The only way of foreign text into the page.

use std::fmt::Write as _;

/// Text for the content of an element or a quoted attribute, of HTML and of XML.
pub(crate) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML 1.0 forbids these even as references, and a page has no use for them.
            c if c.is_control() && !matches!(c, '\n' | '\t') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// JSON for the content of a script element: no `<` is left that could end the element or begin a
/// comment (HTML, 4.12.1.3), and no line separator that older scripts take for a line's end.
///
/// `<` occurs in JSON inside strings only, where an escape means the same.
pub(crate) fn script(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(safe, "\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// A relative path as an address: what is no plain letter of a path is written in hexadecimal (RFC
/// 3986, 2.1), so that no path can become an address of another kind.
pub(crate) fn path(path: &str) -> String {
    let mut safe = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                safe.push(char::from(byte));
            }
            other => {
                let _ = write!(safe, "%{other:02X}");
            }
        }
    }
    safe
}

#[cfg(test)]
mod tests;
