//! What is answered to which request.

use crate::support::Origin;

#[test]
fn every_byte_is_its_offset_modulo_251() {
    let origin = Origin::start();
    // Around the period, a slice (32 KiB), a writev (2 MiB), and the largest is many turns.
    for size in [0, 1, 250, 251, 252, 32_767, 32_769, 40_960, 2_097_152, 2_097_153, 33_000_001] {
        origin.get(&format!("/bytes/{size}")).assert_body(size);
    }
}

#[test]
fn sizes_may_have_units() {
    let origin = Origin::start();
    origin.get("/bytes/3MiB").assert_body(3 << 20);
    origin.get("/bytes/40KiB?a=b").assert_body(40_960);
    origin.get("/bytes/1MB").assert_body(1_000_000);
}

#[test]
fn a_head_is_the_answer_without_its_body() {
    let origin = Origin::start();
    let head = origin.ask("HEAD /bytes/2GiB HTTP/1.1\r\nHost: o\r\nConnection: close\r\n\r\n");
    assert_eq!((head.status, head.length), (200, 2 << 30));
    let head = origin.ask("HEAD /bytes/0 HTTP/1.0\r\n\r\n");
    assert_eq!((head.status, head.length), (200, 0));
}

#[test]
fn after_a_head_the_connection_serves_on() {
    use std::io::{BufReader, Write};
    let origin = Origin::start();
    let mut stream = BufReader::new(origin.connect());
    let both =
        "HEAD /bytes/1MiB HTTP/1.1\r\nHost: o\r\n\r\nGET /bytes/7 HTTP/1.1\r\nHost: o\r\n\r\n";
    stream.get_mut().write_all(both.as_bytes()).expect("it reads");
    assert_eq!(crate::support::Answer::read(&mut stream, "HEAD").length, 1 << 20);
    crate::support::Answer::read(&mut stream, "GET").assert_body(7);
}

#[test]
fn other_paths_methods_and_sizes_are_refused() {
    let origin = Origin::start();
    for path in ["/", "/bytes", "/byte/3", "/index.html"] {
        assert_eq!(origin.get(path).status, 404, "{path}");
    }
    for size in ["", "lots", "-1", "1/2", "99999999999GiB"] {
        assert_eq!(origin.get(&format!("/bytes/{size}")).status, 400, "{size}");
    }
    for method in ["POST", "PUT", "DELETE", "BREW"] {
        let head = format!("{method} /bytes/3 HTTP/1.1\r\nHost: o\r\nContent-Length: 2\r\n\r\nab");
        let answer = origin.ask(&head);
        assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD")), "{method}");
    }
}
