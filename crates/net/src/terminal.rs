//! Text from elsewhere, made fit for a terminal.

/// `text` without control characters but for the ends of its lines; a tab becomes a blank.
///
/// What a program or a peer has said may hold escapes that clear a screen, name a window or hide what
/// stands before them. Whatever of it goes to people goes through here.
pub fn printable(text: &str) -> String {
    let fit = |letter: char| match letter {
        '\n' => Some('\n'),
        '\t' => Some(' '),
        other => (!other.is_control()).then_some(other),
    };
    text.chars().filter_map(fit).collect()
}
