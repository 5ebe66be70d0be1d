//! A door for scrapers: answers each GET with what it is given.
//!
//! Not for: being reached by strangers. It binds where it is told to, and serves one at a time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

#[cfg(test)]
mod tests;

/// How long a scraper may take to ask, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// A request is not longer than this.
const REQUEST: usize = 8 * 1024;
const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers on `addr`, on a thread of its own, with what `render` makes at that time; `None` ends it.
/// Returns where it listens.
///
/// # Errors
/// Nobody can listen there, or the thread could not be made.
pub(super) fn serve(
    addr: SocketAddr,
    mut render: impl FnMut() -> Option<String> + Send + 'static,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(addr)?;
    let addr = listener.local_addr()?;
    thread::Builder::new().name("metrics".into()).spawn(move || {
        for stream in listener.incoming() {
            // A scraper that fails tries again by itself.
            match stream.and_then(|stream| answer(stream, &mut render)) {
                Ok(Asked::Again) | Err(_) => {}
                Ok(Asked::Over) => return,
            }
        }
    })?;
    Ok(addr)
}

/// Whether there may be another.
enum Asked {
    Again,
    Over,
}

fn answer(mut stream: TcpStream, render: &mut impl FnMut() -> Option<String>) -> io::Result<Asked> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = head(&mut stream)?;
    let path = head.strip_prefix("GET ").and_then(|rest| rest.split([' ', '?']).next());
    let (status, kind, body) = match path {
        Some("/metrics" | "/") => match render() {
            Some(body) => ("200 OK", TYPE, body),
            None => return Ok(Asked::Over),
        },
        Some(_) => ("404 Not Found", "text/plain", "it is at /metrics\n".to_owned()),
        None => ("405 Method Not Allowed", "text/plain", "GET is all there is\n".to_owned()),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )?;
    Ok(Asked::Again)
}

/// The head of a request, or what there is of it.
fn head(stream: &mut TcpStream) -> io::Result<String> {
    let (mut head, mut piece) = (Vec::new(), [0; 1024]);
    while head.len() < REQUEST && !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut piece)? {
            0 => break,
            read => head.extend_from_slice(piece.get(..read).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
