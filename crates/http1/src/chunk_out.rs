//! Chunks on their way out: RFC 9112 7.1.

use std::io::Write as _;
use std::ops::Range;

/// Bytes before the data that [`frame_chunk`] may need: 16 hexadecimal digits, CR, LF.
pub const CHUNK_HEAD: usize = 18;

/// Bytes behind the data that [`frame_chunk`] needs: CR, LF.
pub const CHUNK_TAIL: usize = 2;

/// What ends a body in chunks: the chunk of no bytes, and no trailer.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Makes a chunk, without a copy, of the `len` bytes of data that stand in `buf` from
/// [`CHUNK_HEAD`] on, and says where in `buf` the chunk stands.
///
/// `None`: there is no data, which would end the body, or [`CHUNK_TAIL`] does not fit behind it.
pub fn frame_chunk(buf: &mut [u8], len: usize) -> Option<Range<usize>> {
    if len == 0 {
        return None;
    }
    let end = CHUNK_HEAD.checked_add(len)?;
    let mut line = [0; CHUNK_HEAD];
    let mut rest = line.as_mut_slice();
    write!(rest, "{len:x}\r\n").ok()?;
    let start = rest.len();
    let size = line.get(..CHUNK_HEAD - start)?;
    buf.get_mut(end..end.checked_add(CHUNK_TAIL)?)?.copy_from_slice(b"\r\n");
    buf.get_mut(start..CHUNK_HEAD)?.copy_from_slice(size);
    Some(start..end + CHUNK_TAIL)
}
