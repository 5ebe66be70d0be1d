//! Lines as nginx wrote them in the published case.

use std::net::{IpAddr, Ipv4Addr};

use jiff::tz::TimeZone;
use records::{Bytes, LogTimes, Session};

use super::write_line;

fn session(request: &str, status: u16, log: LogTimes) -> Session {
    let (request, body_bytes) = (request.to_owned(), Bytes(102_195));
    Session { request, status, body_bytes, log, ..Session::default() }
}

fn line(session: &Session) -> String {
    let mut line = Vec::new();
    let client = IpAddr::V4(Ipv4Addr::LOCALHOST);
    write_line(&mut line, client, session, &TimeZone::UTC).expect("a vector takes it");
    String::from_utf8(line).expect("text")
}

#[test]
fn a_cut_answer_reads_as_published() {
    let log = LogTimes {
        at_unix_ms: 1_686_200_000_123,
        rt_ms: 790,
        uct_ms: Some(480),
        uht_ms: Some(1_004),
        urt_ms: Some(0),
    };
    assert_eq!(
        line(&session("GET /bytes/3MiB HTTP/1.1", 200, log)),
        "127.0.0.1 [08/Jun/2023:04:53:20 +0000] \"GET /bytes/3MiB HTTP/1.1\" status=200 \
         body_bytes_sent=102195 rt=0.790 uct=\"0.480\" uht=\"1.004\" urt=\"0.000\"\n"
    );
}

#[test]
fn a_client_that_asked_nothing_is_not_logged() {
    assert_eq!(line(&session("", 0, LogTimes::default())), "");
}

#[test]
fn an_early_close_has_dashes_and_no_client_can_forge_a_line() {
    let log = LogTimes { urt_ms: Some(0), ..LogTimes::default() };
    let line = line(&session("GET /\"\n\u{7f}\u{e9}\\ HTTP/1.1", 499, log));
    assert!(
        line.contains("\"GET /\\x22\\x0A\\x7F\\xC3\\xA9\\x5C HTTP/1.1\" status=499 "),
        "{line}"
    );
    assert!(line.ends_with("rt=0.000 uct=\"-\" uht=\"-\" urt=\"0.000\"\n"), "{line}");
}
