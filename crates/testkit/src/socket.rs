//! Sockets of loopback: a listener on a port that the kernel chose, a client whose reads end, servers made of
//! one closure.

use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use crate::PATIENCE;

/// A listener on a free port, and where that is.
pub fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("bound");
    (listener, addr)
}

/// An address at which nobody listens: a moment ago its port was ours.
pub fn free_addr() -> SocketAddr {
    listen().1
}

/// A connection that fails to be read from after [`PATIENCE`].
#[track_caller]
pub fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).expect("somebody listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("settable");
    stream
}

/// What follows the head of an HTTP message.
#[track_caller]
pub fn body(message: &[u8]) -> &[u8] {
    let head = message.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head");
    &message[head + 4..]
}

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
