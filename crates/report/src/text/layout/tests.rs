//! Lines break where they should, and short figures stay short.

use proptest::prelude::*;
use records::Bytes;

use super::{columns, short_bytes, short_count, wrap, wrap_to};

#[test]
fn a_figure_stays_with_its_unit() {
    let text = "inside one step, 412 MiB of 2 %): at 560 MB/s; and 1.004 s, x 4 s";
    let lines = wrap(text, 16);
    assert_eq!(
        lines,
        ["inside one step,", "412 MiB of 2 %):", "at 560 MB/s; and", "1.004 s, x 4 s"]
    );
    let narrow = wrap("a 412 MiB", 8);
    assert_eq!(narrow, ["a", "412 MiB"]);
}

#[test]
fn lines_break_at_spaces_and_end_in_dots_where_cut() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("one two three", 6), ["one", "two", "three"]);
    assert_eq!(wrap("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
    assert_eq!(wrap("", 7), [""]);
    assert_eq!(wrap_to(1, "one two three four", 8), ["one ..."]);
    assert_eq!(wrap("a\u{1b}[31mred\nline", 40), ["a[31mred line"], "no control from a message");
}

#[test]
fn bytes_have_three_digits_or_so() {
    for (bytes, text) in [
        (0, "0 B"),
        (1_023, "1023 B"),
        (4_096, "4.0 KiB"),
        (1_048_575, "1.0 MiB"),
        (514_850_816, "491 MiB"),
        (2_410_000_000, "2.2 GiB"),
        (u64::MAX, "16.0 EiB"),
    ] {
        assert_eq!(short_bytes(Bytes(bytes)), text);
    }
}

#[test]
fn counts_change_their_unit_where_they_would_not_fit() {
    for (count, digits, text) in [
        (342.6, 5, "343"),
        (99_999.4, 5, "99999"),
        (99_999.6, 5, "100k"),
        (9_999.0, 4, "9999"),
        (32_593.0, 4, "33k"),
        (999_600.0, 4, "1M"),
        (1e15, 4, "999G"),
    ] {
        assert_eq!(short_count(count, digits), text);
    }
}

proptest! {
    #[test]
    fn short_figures_fit_their_columns(bytes in any::<u64>(), digits in 4..9_i32) {
        prop_assert!(columns(&short_bytes(Bytes(bytes))) <= 8);
        prop_assert!(short_count(bytes as f64, digits).len() <= usize::try_from(digits).expect("small"));
    }

    #[test]
    fn wrapped_lines_are_as_narrow_as_asked(text in "[ a-z]{0,300}", width in 5..60_usize, max in 1..5_usize) {
        let lines = wrap_to(max, &text, width);
        prop_assert!(lines.len() <= max && lines.iter().all(|line| columns(line) <= width), "{lines:?}");
    }
}
