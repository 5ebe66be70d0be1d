use serde_json::Value;

use super::*;

fn cast(write: impl FnOnce(&mut Cast<&mut Vec<u8>>)) -> Vec<Value> {
    let mut file = Vec::new();
    let mut cast = Cast::begin(&mut file, (80, 24), 1_700_000_000, "tmux-256color").expect("begun");
    write(&mut cast);
    cast.flush().expect("flushed");
    let text = String::from_utf8(file).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn the_header_says_what_players_need() {
    let lines = cast(|_| {});
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["version"], 2);
    assert_eq!((&lines[0]["width"], &lines[0]["height"]), (&json!(80), &json!(24)));
    assert_eq!(lines[0]["timestamp"], 1_700_000_000);
    assert_eq!(lines[0]["env"]["TERM"], "tmux-256color");
}

#[test]
fn output_and_sizes_are_events_in_order() {
    let lines = cast(|cast| {
        cast.output(Duration::ZERO, b"\x1b[?1049h").expect("written");
        cast.resized(Duration::from_millis(1_500), (100, 40)).expect("written");
        cast.output(Duration::from_micros(2_000_001), "a \"b\" ✓\r\n".as_bytes()).expect("written");
    });
    assert_eq!(lines[1], json!([0.0, "o", "\u{1b}[?1049h"]));
    assert_eq!(lines[2], json!([1.5, "r", "100x40"]));
    assert_eq!(lines[3], json!([2.000_001, "o", "a \"b\" ✓\r\n"]));
}

#[test]
fn a_letter_torn_between_writes_stays_whole() {
    let bytes = "█✗".as_bytes();
    for cut in 1..bytes.len() {
        let lines = cast(|cast| {
            cast.output(Duration::ZERO, &bytes[..cut]).expect("written");
            cast.output(Duration::ZERO, &bytes[cut..]).expect("written");
        });
        let data: String = lines[1..].iter().filter_map(|line| line[2].as_str()).collect();
        assert_eq!(data, "█✗", "cut at {cut}");
    }
}
