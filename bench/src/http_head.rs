//! What parsing a head costs, by its length: `http1` alone, without a socket.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use http1::{HeadError, HeadLimit, Method, Parsed, parse_request, parse_response};

use crate::heads::{
    BROWSER_REQUEST, CURL_REQUEST, PLAIN_RESPONSE, SITE_RESPONSE, cut, up_to_the_limit,
};

/// What the parser should find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// A whole head of all bytes.
    Whole,
    /// A head that has not ended.
    Partial,
}

/// `http_head/request/...` and `http_head/response/...`; throughput in bytes of head.
pub fn benchmarks(c: &mut Criterion) {
    let request = |head: &[u8]| parse_request(head, HeadLimit::default());
    let response = |head: &[u8]| parse_response(head, HeadLimit::default(), &Method::Get);
    let (long_request, long_response) =
        (up_to_the_limit(CURL_REQUEST), up_to_the_limit(PLAIN_RESPONSE));
    measure(c, "request/curl", CURL_REQUEST, Expected::Whole, request);
    measure(c, "request/browser_20_lines", BROWSER_REQUEST, Expected::Whole, request);
    measure(c, "request/at_the_limit", &long_request, Expected::Whole, request);
    measure(c, "request/partial", cut(BROWSER_REQUEST), Expected::Partial, request);
    measure(c, "response/plain", PLAIN_RESPONSE, Expected::Whole, response);
    measure(c, "response/site_20_lines", SITE_RESPONSE, Expected::Whole, response);
    measure(c, "response/at_the_limit", &long_response, Expected::Whole, response);
    measure(c, "response/partial", cut(SITE_RESPONSE), Expected::Partial, response);
}

/// # Panics
/// The parser finds something else than expected: another head would be measured than is named.
fn measure<T>(
    c: &mut Criterion,
    name: &str,
    head: &str,
    expected: Expected,
    parse: impl Fn(&[u8]) -> Result<Parsed<T>, HeadError>,
) {
    let head = head.as_bytes();
    let found = match parse(head) {
        Ok(Parsed::Complete { len, .. }) if len == head.len() => Ok(Expected::Whole),
        Ok(Parsed::Complete { len, .. }) => Err(format!("a head of {len} of {} bytes", head.len())),
        Ok(Parsed::Partial) => Ok(Expected::Partial),
        Err(error) => Err(error.to_string()),
    };
    assert_eq!(found, Ok(expected), "{name}");
    let mut group = c.benchmark_group("http_head");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .throughput(Throughput::Bytes(head.len() as u64))
        .bench_function(name, |bencher| bencher.iter(|| parse(black_box(head))));
    group.finish();
}
