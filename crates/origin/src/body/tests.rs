//! The pattern is the same from wherever it is read; a socket that always takes more is left after a bounded
//! number of bytes.

use std::future::poll_fn;
use std::io::Read;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::mpsc;
use std::task::Poll;

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_pattern_is_the_offset(offset in 0..u64::MAX / 2, length in 0..300_000usize) {
        let mut slices = [IoSlice::new(&[]); 4];
        let used = pattern(offset, offset + length as u64, &mut slices);
        let seen: Vec<u8> = slices[..used].iter().flat_map(|slice| slice.iter().copied()).collect();
        prop_assert_eq!(seen.len(), length.min(4 * SLICE));
        prop_assert!(seen.iter().zip(offset..).all(|(byte, offset)| u64::from(*byte) == offset % 251));
    }
}

#[test]
fn a_turn_is_bounded_and_another_follows() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("bound");
    let (count, counted) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut room = vec![0; 1 << 20];
        while let Ok(read @ 1..) = stream.read(&mut room) {
            let _ = count.send(read);
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let stream = TcpStream::connect(addr).await.expect("it accepts");
        {
            let mut sending = pin!(send(&stream, b"head", u64::MAX));
            for _ in 0..20 {
                // Woken for room, or because others have had their turn: it goes on either way.
                let polled = poll_fn(|cx| Poll::Ready(sending.as_mut().poll(cx))).await;
                assert!(polled.is_pending(), "there is no end");
                yield_now().await;
            }
        }
        drop(stream);
    });
    let all: usize = counted.iter().sum();
    assert!(all > 0 && all <= 20 * (TURN + SLICES * SLICE), "{all}");
}
