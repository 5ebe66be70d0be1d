//! Against real sockets of this process.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

use records::ListenerMode;
use socket2::Socket;
use testkit::until;

use super::*;
use crate::tcp::{Buffers, Listen};

fn listen(addr: SocketAddr, backlog: u32) -> (Socket, SocketAddr) {
    let mode = ListenerMode::Reuseport;
    let socket = Listen { addr, mode, backlog, buffers: Buffers::default() };
    let socket = socket.open().expect("a free port");
    let addr = socket.local_addr().expect("bound").as_socket().expect("an IP address");
    (socket, addr)
}

fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn inode(socket: &Socket) -> u64 {
    rustix::fs::fstat(socket).expect("fstat").st_ino
}

/// Dials without anybody accepting, and expects every connection in the queue.
fn queue_fills(addr: SocketAddr) {
    let mut diag = SockDiag::open().expect("sock_diag");
    let (socket, addr) = listen(addr, 5);
    let queue = |queue| vec![AcceptQueue { addr, inode: inode(&socket), queue, limit: 5 }];
    assert_eq!(diag.listeners(addr).expect("an answer"), queue(0));
    let mut clients = Vec::new();
    for waiting in 1..=4 {
        clients.push(TcpStream::connect(addr).expect("a connection"));
        until("one more in the queue", || {
            (diag.listeners(addr).expect("an answer") == queue(waiting)).then_some(())
        });
    }
    socket.accept().expect("the first connection");
    assert_eq!(diag.listeners(addr).expect("an answer"), queue(3));
}

#[test]
fn connections_that_nobody_accepts_are_counted_in_both_families() {
    queue_fills(loopback());
    let addr = (Ipv6Addr::LOCALHOST, 0).into();
    // A host may have no IPv6.
    if TcpListener::bind(addr).is_ok() {
        queue_fills(addr);
    }
}

#[test]
fn listeners_that_share_a_port_are_told_apart_and_others_left_out() {
    let mut diag = SockDiag::open().expect("sock_diag");
    let (first, addr) = listen(loopback(), 7);
    let (second, _) = listen(addr, 9);
    let (_other, elsewhere) = listen(loopback(), 11);
    let _same_port = listen((Ipv4Addr::new(127, 0, 0, 2), addr.port()).into(), 13);
    let mut found: Vec<_> = diag
        .listeners(addr)
        .expect("an answer")
        .into_iter()
        .map(|listener| (listener.inode, listener.limit))
        .collect();
    found.sort_by_key(|&(_, limit)| limit);
    assert_eq!(found, [(inode(&first), 7), (inode(&second), 9)]);
    let all = diag.all_listeners().expect("an answer");
    let ours = all.iter().filter(|queue| queue.addr.port() == addr.port()).count();
    assert_eq!(ours, 3, "whatever their addresses: {all:?}");
    drop((first, second));
    // A test that starts a child meanwhile has copies of them, from its fork to its exec.
    until("the end of both", || diag.listeners(addr).expect("an answer").is_empty().then_some(()));
    assert_eq!(diag.listeners(elsewhere).expect("an answer").len(), 1);
}

#[test]
fn of_all_connections_those_that_dialed_an_address_are_listed_with_what_stands_in_their_queues() {
    let mut diag = SockDiag::open().expect("sock_diag");
    // As after a question that failed: the next goes another way.
    diag.idle = None;
    let listener = TcpListener::bind(loopback()).expect("a free port");
    let server = listener.local_addr().expect("bound");
    assert_eq!(diag.connections_to(server).expect("an answer"), []);
    // More than fit into one datagram of the kernel's.
    let mut clients: Vec<_> =
        (0..120).map(|_| TcpStream::connect(server).expect("a connection")).collect();
    let (mut accepted, first) = listener.accept().expect("a connection");
    accepted.write_all(&[7; 1_000]).expect("room for it");
    let mut waits = |expected| {
        until("what waits to be read", || {
            let found = diag.connections_to(server).expect("an answer");
            let one = found.iter().find(|one| one.sample.port == first.port())?;
            (one.sample.receive_queue == expected).then_some(found)
        })
    };
    let found = waits(Bytes(1_000));
    let mut ports: Vec<_> = found.iter().map(|one| one.sample.port).collect();
    let mut expected: Vec<_> =
        clients.iter().map(|client| client.local_addr().expect("bound").port()).collect();
    ports.sort_unstable();
    expected.sort_unstable();
    assert_eq!(ports, expected);
    assert!(found.iter().all(|one| one.sample.rcv_space > Some(Bytes(0))), "{found:?}");
    let one = found.iter().find(|one| one.sample.port == first.port()).expect("it is there");
    assert_eq!((one.received, one.sample.retransmits), (Some(Bytes(1_000)), Some(0)));
    clients[0].read_exact(&mut [0; 1_000]).expect("the bytes");
    waits(Bytes(0));
}
