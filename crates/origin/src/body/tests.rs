//! The pattern is the same however it is read; a stream that always takes more is left after a bounded number
//! of bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use bytes::Buf;
use proptest::prelude::*;

use super::*;

fn value(offset: u64) -> u8 {
    u8::try_from(offset % 251).expect("less than 251")
}

proptest! {
    #[test]
    fn the_pattern_is_the_offset_whatever_the_steps(
        offset in 0..u64::MAX / 2,
        length in 0..200_000usize,
        steps in prop::collection::vec(1..70_000usize, 0..20),
    ) {
        let mut pattern = Pattern::new(offset, length, None);
        let mut at = offset;
        for step in steps.into_iter().chain([usize::MAX]) {
            let step = step.min(pattern.remaining());
            let read = pattern.copy_to_bytes(step);
            for (byte, offset) in read.iter().zip(at..) {
                prop_assert_eq!(*byte, value(offset));
            }
            at += step as u64;
        }
        prop_assert_eq!(pattern.remaining(), 0);
        prop_assert_eq!(at, offset + length as u64);
    }

    #[test]
    fn a_vectored_write_sees_the_same_bytes(offset in 0..1_000u64, length in 0..300_000usize) {
        let pattern = Pattern::new(offset, length, None);
        let mut slices = [IoSlice::new(&[]); 4];
        let used = pattern.chunks_vectored(&mut slices);
        let seen: Vec<u8> = slices[..used].iter().flat_map(|slice| slice.iter().copied()).collect();
        prop_assert_eq!(seen.len(), length.min(4 * SLICE));
        prop_assert!(seen.iter().zip(offset..).all(|(byte, offset)| *byte == value(offset)));
    }
}

#[test]
fn a_large_body_comes_in_parts_that_join() {
    use hyper::body::Body as _;
    let size = 2 * PART + 7;
    let mut body = Body::new(size);
    let mut context = Context::from_waker(Waker::noop());
    let mut sent = 0;
    while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
        let data = frame.into_data().expect("no trailers");
        assert_eq!(data.chunk()[0], value(sent));
        sent += data.remaining() as u64;
        assert_eq!(body.size_hint().exact(), Some(size - sent));
    }
    assert_eq!(sent, size);
    assert!(body.is_end_stream());
}

/// Takes everything, always.
struct Abyss;

impl AsyncWrite for Abyss {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_turn_is_bounded_and_another_follows() {
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    let mut cx = Context::from_waker(&waker);
    let mut stream = Turns::new(Abyss);
    let bytes = vec![0; 100_000];
    for turn in 1..=3 {
        let mut written = 0;
        while let Poll::Ready(wrote) = Pin::new(&mut stream).poll_write(&mut cx, &bytes) {
            written += wrote.expect("the abyss takes all");
        }
        assert!((TURN..TURN + bytes.len()).contains(&written), "{written}");
        assert_eq!(wakes.0.load(Ordering::Relaxed), turn, "without a wake it would hang");
    }
}
