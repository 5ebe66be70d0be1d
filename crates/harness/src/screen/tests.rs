use super::*;

#[test]
fn keys_are_read_as_a_raw_terminal_tells_them() {
    use Key::{Hold, Interrupt, Next, Other, Quit};
    for (bytes, keys) in [
        (b"q".as_slice(), [Quit].as_slice()),
        (b" nQ\x03", &[Hold, Next, Quit, Interrupt]),
        ("x\u{e9}".as_bytes(), &[Other, Other, Other]),
        // An arrow, and a key of a keypad whose letter is one of ours.
        (b"\x1b[A", &[Other]),
        (b"\x1bOq", &[Other]),
    ] {
        assert_eq!(meanings(bytes), keys, "{bytes:?}");
    }
}
