//! Servers for one test each, on a port that the kernel chose. Every connection has a thread.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// A peer that hangs makes a test fail, not hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Serves each connection, counted from 0, with `serve` until the test ends.
pub(crate) fn start<F>(serve: F) -> SocketAddr
where
    F: Fn(usize, &mut TcpStream) -> io::Result<()> + Clone + Send + 'static,
{
    start_on(TcpListener::bind("127.0.0.1:0").expect("a free port"), serve)
}

/// [`start`] on a port that is open already.
pub(crate) fn start_on<F>(listener: TcpListener, serve: F) -> SocketAddr
where
    F: Fn(usize, &mut TcpStream) -> io::Result<()> + Clone + Send + 'static,
{
    let addr = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let serve = serve.clone();
            thread::spawn(move || {
                let mut stream = stream;
                let _ = stream.set_read_timeout(Some(PATIENCE));
                // The client may leave at any time: its records tell how it went.
                let _ = serve(number, &mut stream);
            });
        }
    });
    addr
}

/// Reads one request head and returns its first line.
pub(crate) fn request(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head);
    Ok(text.lines().next().unwrap_or_default().to_owned())
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

/// Reads a request and answers with a body that does not end.
pub(crate) fn endless(stream: &mut TcpStream) -> io::Result<()> {
    answer(stream, "Content-Length: 1099511627776\r\n", &[])?;
    let piece = vec![b'x'; 1 << 16];
    loop {
        stream.write_all(&piece)?;
    }
}

/// Hangs up with a reset instead of a close.
pub(crate) fn reset(stream: &TcpStream) -> io::Result<()> {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO))
}
