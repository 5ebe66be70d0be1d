//! Bodies, which are stored nowhere. The byte at offset `i` is `i mod 251`, whatever the size: 251 is prime,
//! so a reader that loses, repeats or swaps blocks of any usual size notices.

use std::io::{self, IoSlice};

use tokio::net::TcpStream;
use tokio::task::yield_now;

/// After so many bytes the pattern begins again.
const PERIOD: usize = 251;

/// Bytes behind one `iovec`: the source stays in the first-level cache and costs no bandwidth.
/// Between 32 and 64 KiB the cost per byte is flat; below, system calls show, above, the copies miss.
const SLICE: usize = 32 * 1024;

/// Slices of one `writev(2)` at most, 512 KiB in all.
///
/// The kernel holds the socket's lock for as long as one call copies. Meanwhile the reader's
/// acknowledgements wait, nothing is sent for them, and a reader that empties 0.5 MB in half a
/// millisecond meets EAGAIN. So calls stay well under that: with 2 MiB a call nearly every long
/// step of a draining proxy ended inside one of our calls.
const SLICES: usize = 16;

/// Bytes after which a connection gives way: 0.2 to 0.5 ms of work. Against a reader that keeps pace the
/// socket always takes more, and no fetch would be answered meanwhile.
const TURN: usize = 2 * 1024 * 1024;

/// A slice from every phase of the pattern.
static STORE: [u8; SLICE + PERIOD] = store();

const fn store() -> [u8; SLICE + PERIOD] {
    let mut store = [0; SLICE + PERIOD];
    let mut at = 0;
    let mut value = 0;
    while at < store.len() {
        store[at] = value;
        value = if value as usize == PERIOD - 1 { 0 } else { value + 1 };
        at += 1;
    }
    store
}

/// The bytes of a body of `size` bytes from `offset` on, as many as fit into `slices`; how many slices that
/// is.
fn pattern(mut offset: u64, size: u64, slices: &mut [IoSlice<'_>]) -> usize {
    let mut used = 0;
    for slice in slices {
        // Both are small, so they fit.
        let phase = usize::try_from(offset % PERIOD as u64).unwrap_or(0);
        let length = usize::try_from(size - offset).map_or(SLICE, |left| left.min(SLICE));
        if length == 0 {
            break;
        }
        *slice = IoSlice::new(&STORE[phase..phase + length]);
        offset += length as u64;
        used += 1;
    }
    used
}

/// Sends `head` and the first `size` bytes of the pattern.
///
/// # Errors
/// As `writev(2)`: the client has gone.
pub(crate) async fn send(stream: &TcpStream, mut head: &[u8], size: u64) -> io::Result<()> {
    let (mut sent, mut turn) = (0, 0);
    loop {
        let mut slices = [IoSlice::new(head); 1 + SLICES];
        let used = pattern(sent, size, &mut slices[1..]);
        if head.is_empty() && used == 0 {
            return Ok(());
        }
        match stream.try_write_vectored(&slices[..=used]) {
            Ok(wrote) => {
                let of_head = wrote.min(head.len());
                head = &head[of_head..];
                sent += (wrote - of_head) as u64;
                turn += wrote;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                stream.writable().await?;
                turn = 0;
            }
            Err(error) => return Err(error),
        }
        if turn >= TURN {
            turn = 0;
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests;
