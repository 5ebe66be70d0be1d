//! Numbers that are read from the back of a room: three rows of blocks.

use super::ink::Glyphs;

/// Rows of a number.
pub(super) const HEIGHT: u16 = 3;

/// The rows of `number`, and how many cells wide they are.
pub(super) fn rows(number: u64, glyphs: Glyphs) -> ([String; 3], usize) {
    let mut rows = [String::new(), String::new(), String::new()];
    for digit in number.to_string().bytes() {
        for (row, part) in rows.iter_mut().zip(shape(digit, glyphs)) {
            if !row.is_empty() {
                row.push(' ');
            }
            row.push_str(part);
        }
    }
    let width = rows.first().map_or(0, |row| row.chars().count());
    (rows, width)
}

const fn shape(digit: u8, glyphs: Glyphs) -> [&'static str; 3] {
    let (unicode, ascii) = match digit {
        b'0' => (["█▀█", "█ █", "▀▀▀"], ["###", "# #", "###"]),
        b'1' => (["▀█ ", " █ ", "▀▀▀"], ["## ", " # ", "###"]),
        b'2' => (["▀▀█", "█▀▀", "▀▀▀"], ["## ", " # ", " ##"]),
        b'3' => (["▀▀█", " ▀█", "▀▀▀"], ["###", " ##", "###"]),
        b'4' => (["█ █", "▀▀█", "  ▀"], ["# #", "###", "  #"]),
        b'5' => (["█▀▀", "▀▀█", "▀▀▀"], [" ##", " # ", "## "]),
        b'6' => (["█▀▀", "█▀█", "▀▀▀"], ["#  ", "###", "###"]),
        b'7' => (["▀▀█", "  █", "  ▀"], ["###", "  #", "  #"]),
        b'8' => (["█▀█", "█▀█", "▀▀▀"], ["###", "###", "###"]),
        _ => (["█▀█", "▀▀█", "▀▀▀"], ["###", "###", "  #"]),
    };
    glyphs.rows(unicode, ascii)
}
