//! What is accepted, what is refused and why, and that cutting the bytes changes nothing.

mod bodies;
mod encoding;
mod heads;

use proptest::prelude::*;

use crate::{HeadError, Parsed};

/// The head, or a panic that tells why there is none.
fn complete<T>(parsed: Result<Parsed<T>, HeadError>) -> (T, usize) {
    match parsed.expect("a valid head") {
        Parsed::Complete { head, len } => (head, len),
        Parsed::Partial => panic!("the head has not ended"),
    }
}

/// `text` with CR LF for each LF.
fn wire(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into_bytes()
}

/// Header lines whose names no rule knows.
fn plain_headers() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec(("X-[A-Za-z0-9_]{1,12}", "([!-~]([ -~]{0,20}[!-~])?)?"), 0..12)
}

fn lines(headers: &[(String, String)]) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}
