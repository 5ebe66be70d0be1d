//! The pages without a session: how much is read and sent at a time; and errors of a real file. What is
//! stored is told by the stations of a session; that all comes out in its order, whatever happens, by the
//! simulated ones.

use records::Bytes;

use super::pages::{PAGES, Pages, WhenShort};
use super::*;

const SIZE: usize = 64;

/// None of them filled, without a file.
fn pages(head: usize) -> Pages {
    Pages::new(SIZE, head, &[], Bytes(0), WhenShort::Waits)
}

/// All pages made and full.
fn filled() -> Pages {
    let mut pages = pages(SIZE);
    while read(&mut pages, usize::MAX) > 0 {}
    pages
}

/// A read of at most so much: how much was offered to it.
fn read(pages: &mut Pages, most: usize) -> usize {
    if !pages.has_room() {
        return 0;
    }
    let offered: usize = pages.room().iter().map(|slice| slice.len()).sum();
    assert!(offered > 0, "never nothing");
    pages.took(offered.min(most), |piece| Ok::<_, ()>(piece.len())).expect("all is kept");
    offered
}

/// One write to a client that takes at most so much: how much was offered.
fn send(pages: &mut Pages, most: usize) -> usize {
    let offered: usize = pages.line(&[]).iter().map(|slice| slice.len()).sum();
    assert_eq!(offered == 0, pages.is_drained());
    pages.sent(offered.min(most));
    offered
}

#[test]
fn pages_are_made_one_by_one_and_then_read_all_at_once() {
    let mut pages = pages(24);
    // First what the head has left of its own page.
    for expected in [SIZE - 24].into_iter().chain([SIZE; PAGES - 1]) {
        assert_eq!(read(&mut pages, usize::MAX), expected);
    }
    assert_eq!(read(&mut pages, 1), 0);
    pages.finish();
    send(&mut pages, usize::MAX);
    assert_eq!(read(&mut pages, 0), SIZE * PAGES);
}

#[test]
fn two_pages_are_written_at_a_time_and_all_of_them_at_the_end() {
    let mut pages = filled();
    assert_eq!(send(&mut pages, SIZE / 2), 2 * SIZE);
    assert!(!pages.has_room(), "half a page left");
    assert_eq!(send(&mut pages, SIZE), SIZE + SIZE / 2);
    assert_eq!(read(&mut pages, 10), SIZE);
    while send(&mut pages, usize::MAX) > 0 {}
    pages.finish();
    assert_eq!(send(&mut pages, usize::MAX), 10, "a short page waits for more");
    let mut pages = filled();
    pages.finish();
    assert_eq!(send(&mut pages, usize::MAX), SIZE * PAGES);
}

#[test]
fn what_is_stored_is_fetched_and_trouble_is_told() {
    let file = tempfile::tempfile().expect("a file");
    file.store(&[IoSlice::new(b"one "), IoSlice::new(b"after ")], 0).expect("stored");
    file.store(&[IoSlice::new(b"another")], 10).expect("stored");
    let mut into = [0; 13];
    file.fetch(&mut into, 4).expect("it is there");
    assert_eq!(&into, b"after another");
    file.set_len(10).expect("cut");
    let lost = file.fetch(&mut into, 4).expect_err("some of the bytes are gone");
    assert_eq!(lost.kind(), io::ErrorKind::UnexpectedEof);
    // full(4): every write fails with ENOSPC.
    let full = File::options().read(true).write(true).open("/dev/full").expect("full(4)");
    let refused = full.store(&[IoSlice::new(b"a")], 0).expect_err("a full disk");
    assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
}
