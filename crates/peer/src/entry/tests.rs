use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Option<Entry> {
    published(Read { text, read_unix_ms: 0 })
}

const LINE: &str = r#"127.0.0.1 [21/Nov/2026:06:55:29 +0000] "GET /bytes/3MiB HTTP/1.1" status=200 body_bytes_sent=102195 rt=0.760 uct="0.330" uht="0.430" urt="0.755" pid=7 port=4000 conn=12 msec=1795244129.132 done="#;

#[test]
fn the_published_format_with_what_follows() {
    let entry = read(LINE).expect("a line");
    insta::assert_debug_snapshot!(entry);
    assert_eq!(read(&format!("{LINE}OK")).expect("a line").end, SessionEnd::Completed);
}

#[test]
fn a_499_has_no_times_of_an_upstream() {
    let line = r#"::1 [21/Nov/2026:06:55:29 +0000] "GET / HTTP/1.1" status=499 body_bytes_sent=0 rt=0.000 uct="-" uht="-" urt="0.000" pid=7 port=4000 conn=12 msec=1795244129.132 done="#;
    let entry = read(line).expect("a line");
    assert_eq!((entry.status, entry.end), (499, SessionEnd::ClientClosed));
    assert_eq!(entry.times.uct_ms, None);
    assert_eq!(entry.times.urt_ms, Some(0));
}

#[test]
fn of_several_upstreams_the_last_counts() {
    let line = LINE.replace("uct=\"0.330\"", "uct=\"0.100, 0.200\"").replace("0.430", "-, 0.3");
    let entry = read(&line).expect("a line");
    assert_eq!((entry.times.uct_ms, entry.times.uht_ms), (Some(200), Some(300)));
}

#[test]
fn without_msec_the_local_time_counts() {
    let (line, _) = LINE.split_once(" msec=").expect("it has one");
    let entry = read(line).expect("a line");
    assert_eq!(entry.times.at_unix_ms, 1_795_244_129_000);
    assert_eq!(entry.end, SessionEnd::ClientClosed, "by the size that was asked for");
}

#[test]
fn what_was_escaped_comes_back() {
    assert_eq!(unescape(r"GET /\x22\x5Cx \x"), "GET /\"\\x \\x");
    assert_eq!(unescape(r#"a\"b\\c"#), "a\"b\\c");
    assert_eq!(unescape(r"\xZZ\x4"), r"\xZZ\x4");
}

#[test]
fn seconds_become_milliseconds() {
    for (seconds, ms) in [(0.0, 0), (0.0004, 0), (0.0006, 1), (1.004, 1004), (-1.0, 0)] {
        assert_eq!(millis(seconds), ms, "{seconds}");
    }
    assert_eq!(millis(1_795_244_129.132), 1_795_244_129_132);
    assert_eq!(millis(f64::NAN), 0);
}

proptest! {
    #[test]
    fn no_line_is_too_much(text in ".*") {
        let _ = read(&text);
    }

    #[test]
    fn a_cut_line_is_none_or_says_no_more(cut in 0..LINE.len()) {
        if let Some(entry) = LINE.get(..cut).and_then(read) {
            prop_assert_eq!(entry.status, 200);
        }
    }
}
