//! What parsing a head costs, by its length: `http1` alone, without a socket.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use http1::{HeadError, HeadLimit, Method, Parsed, parse_request, parse_response};

#[cfg(test)]
mod tests;

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

/// What curl sends.
const CURL_REQUEST: &str = "\
GET /bytes/3MiB HTTP/1.1\r\n\
Host: 127.0.0.1:8000\r\n\
User-Agent: curl/8.14.1\r\n\
Accept: */*\r\n\
\r\n";

/// What a browser sends to a site where it has been before: 20 header lines.
const BROWSER_REQUEST: &str = "\
GET /articles/2026/11/why-is-it-slow?utm_source=feed&page=2 HTTP/1.1\r\n\
Host: www.example.com\r\n\
Connection: keep-alive\r\n\
Cache-Control: max-age=0\r\n\
sec-ch-ua: \"Chromium\";v=\"142\", \"Not_A Brand\";v=\"99\"\r\n\
sec-ch-ua-mobile: ?0\r\n\
sec-ch-ua-platform: \"Linux\"\r\n\
DNT: 1\r\n\
Upgrade-Insecure-Requests: 1\r\n\
User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n\
Sec-Fetch-Site: same-origin\r\n\
Sec-Fetch-Mode: navigate\r\n\
Sec-Fetch-User: ?1\r\n\
Sec-Fetch-Dest: document\r\n\
Referer: https://www.example.com/articles/2026/11/\r\n\
Accept-Encoding: gzip, deflate, br, zstd\r\n\
Accept-Language: en-GB,en;q=0.9,de;q=0.7\r\n\
Cookie: session=5f0c9a6e8d1b4b0f9c3e7a2d; consent=necessary; theme=dark; _ga=GA1.2.1139482201.1763\r\n\
If-None-Match: W/\"1a2b-19a8f3c5e40\"\r\n\
If-Modified-Since: Fri, 20 Nov 2026 07:28:00 GMT\r\n\
\r\n";

/// What our origin answers.
const PLAIN_RESPONSE: &str = "\
HTTP/1.1 200 OK\r\n\
content-type: application/octet-stream\r\n\
content-length: 3145728\r\n\
date: Sat, 21 Nov 2026 07:28:00 GMT\r\n\
\r\n";

/// What a site behind a cache answers: 20 header lines.
const SITE_RESPONSE: &str = "\
HTTP/1.1 200 OK\r\n\
Server: nginx\r\n\
Date: Sat, 21 Nov 2026 07:28:00 GMT\r\n\
Content-Type: text/html; charset=utf-8\r\n\
Content-Length: 48211\r\n\
Connection: keep-alive\r\n\
Vary: Accept-Encoding, Cookie\r\n\
Cache-Control: private, max-age=0, must-revalidate\r\n\
ETag: W/\"bc53-19a8f3c5e40\"\r\n\
Last-Modified: Fri, 20 Nov 2026 07:28:00 GMT\r\n\
Expires: Sat, 21 Nov 2026 07:28:00 GMT\r\n\
Age: 0\r\n\
Via: 1.1 varnish\r\n\
X-Cache: MISS\r\n\
X-Request-Id: 7b0e6f4c-2a38-4d5d-9a52-0f3b6f1c8e21\r\n\
Set-Cookie: session=5f0c9a6e8d1b4b0f9c3e7a2d; Path=/; Secure; HttpOnly; SameSite=Lax\r\n\
Strict-Transport-Security: max-age=31536000; includeSubDomains\r\n\
X-Content-Type-Options: nosniff\r\n\
X-Frame-Options: DENY\r\n\
Referrer-Policy: strict-origin-when-cross-origin\r\n\
Content-Security-Policy: default-src 'self'; img-src 'self' data: https://img.example.com; frame-ancestors 'none'\r\n\
\r\n";

/// Header lines of the long heads: more than most have, fewer than are refused.
const LONG_LINES: usize = 40;

/// `head` with more header lines, exactly as long as the default limit allows.
fn up_to_the_limit(head: &str) -> String {
    let HeadLimit(limit) = HeadLimit::default();
    let mut long = head.trim_end_matches("\r\n").to_owned();
    long.push_str("\r\n");
    for line in 0..LONG_LINES {
        let name = format!("X-Tracing-Context-{line:02}: ");
        // What is left for each line that is to come, without its name and line ends.
        let left = limit.saturating_sub(long.len() + 2) / (LONG_LINES - line);
        let value = left.saturating_sub(name.len() + 2);
        // Writing to a string cannot fail.
        let _ = write!(long, "{name}{:a<value$}\r\n", "");
    }
    long.push_str("\r\n");
    long
}

/// `head` as far as a read took it that ended in the last header line.
fn cut(head: &str) -> &str {
    head.get(..head.len().saturating_sub(8)).unwrap_or_default()
}
