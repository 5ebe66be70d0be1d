//! A stream that always takes more is left after a bounded number of bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use super::*;

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
