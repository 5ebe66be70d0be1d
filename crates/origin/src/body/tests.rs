//! The pattern is the same however it is read; a stream that always takes more is left after a bounded number
//! of bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_pattern_is_the_offset_whatever_the_steps_and_the_writes(
        offset in 0..1_000usize,
        length in 0..300_000usize,
        steps in prop::collection::vec(1..70_000usize, 0..20),
    ) {
        let mut pattern = Pattern::new(Bytes((offset + length) as u64), None);
        pattern.advance(offset);
        let mut slices = [IoSlice::new(&[]); 4];
        let used = pattern.chunks_vectored(&mut slices);
        let vectored: Vec<u8> = slices[..used].iter().flat_map(|slice| slice.to_vec()).collect();
        prop_assert_eq!(vectored.len(), length.min(4 * SLICE));
        let mut all = Vec::new();
        for step in steps.into_iter().chain([usize::MAX]) {
            all.extend(pattern.copy_to_bytes(step.min(pattern.remaining())));
        }
        prop_assert_eq!((pattern.remaining(), all.len()), (0, length));
        prop_assert!(all.iter().zip(offset..).all(|(byte, at)| usize::from(*byte) == at % PERIOD));
        prop_assert!(all.starts_with(&vectored));
    }
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
