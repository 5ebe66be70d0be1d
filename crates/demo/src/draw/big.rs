//! Numbers that are read from the back of a room: three rows of blocks.

use super::look::Glyphs;

/// The rows of `number`; in its plain digits where `room` cells are too few.
pub(super) fn rows(number: u64, room: usize, glyphs: Glyphs) -> [String; 3] {
    let digits = number.to_string();
    if digits.len() * 4 > room + 1 {
        return [String::new(), digits, String::new()];
    }
    [0, 1, 2].map(|row| {
        let parts: Vec<&str> = digits.bytes().map(|digit| shape(digit, glyphs)[row]).collect();
        parts.join(" ")
    })
}

fn shape(digit: u8, glyphs: Glyphs) -> [&'static str; 3] {
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
    glyphs.pick(unicode, ascii)
}
