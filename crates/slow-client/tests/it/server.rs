//! Servers for one test each, on a port that the kernel chose. Every connection has a thread.

use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use testkit::{listen, read_head};

/// Serves each connection, counted from 0, with `serve` until the test ends.
pub(crate) fn start<F>(serve: F) -> SocketAddr
where
    F: Fn(usize, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
{
    let (listener, addr) = listen();
    testkit::serve(listener, move |number, mut stream| {
        // The client may leave at any time: its records tell how it went.
        let _ = serve(number, &mut stream);
    });
    addr
}

/// Reads one request head and returns its first line.
pub(crate) fn request(stream: &TcpStream) -> io::Result<String> {
    let head = read_head(stream);
    let line = head.lines().next().filter(|_| head.ends_with("\r\n\r\n"));
    line.map(str::to_owned).ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

/// Reads a request and answers 200 with `lines` and these bytes.
pub(crate) fn answer(stream: &mut TcpStream, lines: &str, body: &[u8]) -> io::Result<()> {
    request(stream)?;
    write!(stream, "HTTP/1.1 200 OK\r\n{lines}\r\n")?;
    stream.write_all(body)
}

/// Reads a request and answers with a whole body of `size` bytes, as the origin does.
pub(crate) fn whole(stream: &mut TcpStream, size: usize) -> io::Result<()> {
    answer(stream, &format!("Content-Length: {size}\r\n"), &vec![b'x'; size])
}

/// Reads a request and answers with a body that does not end. It is to be the size that is asked for
/// by default.
pub(crate) fn endless(stream: &mut TcpStream) -> io::Result<()> {
    answer(stream, "Content-Length: 2147483648\r\n", &[])?;
    let piece = vec![b'x'; 1 << 16];
    loop {
        stream.write_all(&piece)?;
    }
}

/// Hangs up with a reset instead of a close.
pub(crate) fn reset(stream: &TcpStream) -> io::Result<()> {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))
}
