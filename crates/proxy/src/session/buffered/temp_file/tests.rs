//! Errors of a real file.

use super::*;

#[test]
fn what_is_stored_is_fetched() {
    let file = tempfile::tempfile().expect("a file");
    file.store(&[IoSlice::new(b"one "), IoSlice::new(b"after ")], 0).expect("stored");
    file.store(&[IoSlice::new(b"another")], 10).expect("stored");
    let mut into = [0; 13];
    file.fetch(&mut into, 4).expect("it is there");
    assert_eq!(&into, b"after another");
}

#[test]
fn a_full_disk_is_told() {
    // full(4): every write fails with ENOSPC.
    let full = File::options().read(true).write(true).open("/dev/full").expect("full(4)");
    let refused = full.store(&[IoSlice::new(b"a")], 0).expect_err("a full disk");
    assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_file_that_was_cut_is_an_error_and_not_an_end() {
    let file = tempfile::tempfile().expect("a file");
    file.store(&[IoSlice::new(&[1; 64])], 0).expect("stored");
    file.set_len(10).expect("cut");
    let lost = file.fetch(&mut [0; 64], 0).expect_err("the bytes are gone");
    assert_eq!(lost.kind(), io::ErrorKind::UnexpectedEof);
}
