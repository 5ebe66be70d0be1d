//! The spool over a real file: order, limit, errors.

use proptest::prelude::*;

use super::*;

fn open() -> io::Result<Box<dyn SpoolFile>> {
    Ok(Box::new(tempfile::tempfile()?))
}

/// Fills the room with `bytes`, or with as many as fit, and stores them. How many.
fn store(spool: &mut Spool, bytes: &[u8]) -> usize {
    let room = spool.room(64);
    let len = room.len().min(bytes.len());
    room[..len].copy_from_slice(&bytes[..len]);
    assert_eq!(spool.first(len), &bytes[..len]);
    spool.store(len, open).expect("a file");
    len
}

proptest! {
    /// Whatever is stored and taken, in whatever order: all comes out once, in its order, and no
    /// more than the limit ever goes in.
    #[test]
    fn bytes_come_out_as_they_went_in(
        max in 0..600u64,
        ops in prop::collection::vec((any::<bool>(), 0..80usize), 0..60),
    ) {
        let mut spool = Spool::new(Bytes(max));
        let (mut numbers, mut stored, mut taken) = ((0..=250u8).cycle(), Vec::new(), Vec::new());
        for (put, len) in ops {
            if put {
                let bytes: Vec<u8> = numbers.by_ref().take(len).collect();
                let len = store(&mut spool, &bytes);
                stored.extend_from_slice(&bytes[..len]);
            } else if spool.is_behind() && len > 0 {
                let mut into = vec![0; len];
                let got = spool.take(&mut into).expect("it is there");
                prop_assert!(got > 0);
                taken.extend_from_slice(&into[..got]);
            }
            prop_assert!(stored.len() as u64 <= max);
            prop_assert_eq!(spool.is_full(), stored.len() as u64 == max);
            prop_assert_eq!(spool.is_behind(), taken.len() < stored.len());
            prop_assert!(stored.starts_with(&taken));
        }
    }
}

#[test]
fn a_full_file_stays_full_when_all_of_it_was_taken() {
    let mut spool = Spool::new(Bytes(10));
    assert_eq!(store(&mut spool, &[1; 64]), 10);
    let mut into = [0; 64];
    assert_eq!(spool.take(&mut into).expect("it is there"), 10);
    assert!(spool.is_full() && !spool.is_behind());
    assert!(spool.room(64).is_empty());
}

#[test]
fn errors_are_told() {
    let mut spool = Spool::new(Bytes(1 << 20));
    spool.room(64);
    let refused = spool.store(64, || Err(io::ErrorKind::PermissionDenied.into()));
    assert_eq!(refused.expect_err("no file").kind(), io::ErrorKind::PermissionDenied);
    assert!(!spool.is_behind());
    // full(4): every write fails with ENOSPC.
    let full = || -> io::Result<Box<dyn SpoolFile>> {
        Ok(Box::new(File::options().read(true).write(true).open("/dev/full")?))
    };
    spool.room(64);
    let refused = spool.store(64, full).expect_err("a full disk");
    assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_file_that_was_cut_is_an_error_and_not_an_end() {
    let file = tempfile::tempfile().expect("a file");
    let again = file.try_clone().expect("a second descriptor");
    let mut spool = Spool::new(Bytes(1 << 20));
    spool.room(64);
    spool.store(64, || Ok(Box::new(file))).expect("stored");
    again.set_len(0).expect("cut");
    let lost = spool.take(&mut [0; 64]).expect_err("the bytes are gone");
    assert_eq!(lost.kind(), io::ErrorKind::UnexpectedEof);
}
