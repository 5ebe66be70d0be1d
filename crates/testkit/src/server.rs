//! Servers made of one closure, for tests that bring about what no real server does on demand.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use crate::PATIENCE;
use crate::socket::listen;

/// Gives every connection to `serve`, with its number from 0 on, on a thread of its own. The threads
/// end with the test process; reads end after [`PATIENCE`].
pub fn serve(listener: TcpListener, serve: impl Fn(usize, TcpStream) + Send + Sync + 'static) {
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            // An error: its client has gone already.
            let _ = stream.set_read_timeout(Some(PATIENCE));
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(number, stream));
        }
    });
}

/// An origin on a free port, that gives each connection, its request read, to `answer`.
pub fn origin(answer: impl Fn(TcpStream, String) + Send + Sync + 'static) -> SocketAddr {
    let (listener, addr) = listen();
    serve(listener, move |_, stream| {
        let request = read_head(&stream);
        answer(stream, request);
    });
    addr
}

/// Reads the head of a message and not a byte more; it ends with an empty line unless the peer hung
/// up before.
pub fn read_head(mut stream: &TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|got| got > 0) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}
