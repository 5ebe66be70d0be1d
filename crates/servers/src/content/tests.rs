use super::*;
use crate::tests::arm;

#[test]
fn files_are_there_while_they_are_needed() {
    let dir = tempfile::TempDir::new().expect("a directory");
    let www = dir.path().join("www");
    let written = LocalFiles::write(&www, &arm("nginx", "--slow-size 9MiB --fetch-size 70001"));
    let files = written.expect("written");
    for (name, size) in [("9MiB", 9 << 20), ("70001", 70_001), ("1", 1)] {
        let meta = std::fs::metadata(www.join("bytes").join(name)).expect("there");
        assert_eq!(meta.len(), size);
    }
    drop(files);
    assert!(!www.exists());
    // What does not fit leaves nothing.
    let refused = LocalFiles::write(&www, &arm("nginx", "--slow-size 9GiB"));
    let refused = refused.expect_err("too large").to_string();
    assert!(refused.contains("--slow-size"), "{refused}");
    assert!(!www.exists());
}

#[test]
fn text_repeats_nothing_that_deflate_would_find_whole() {
    let text = text(1 << 20);
    assert_eq!(text.len(), 1 << 20);
    assert!(text.is_ascii());
    // No 64 bytes come again within the window.
    let mut last = std::collections::HashMap::new();
    for (at, piece) in text.windows(64).enumerate() {
        if let Some(before) = last.insert(piece, at) {
            assert!(at - before > 32 * 1024, "{at} as {before}");
        }
    }
}
