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

/// `http_head/request/...` and `http_head/response/...`: a head of 3 lines as curl sends, of 20 as browsers and
/// sites do, the longest that is allowed, and one that a read has cut. Throughput in bytes of head.
pub fn benchmarks(c: &mut Criterion) {
    let request = |head: &[u8]| parse_request(head, HeadLimit::default());
    let response = |head: &[u8]| parse_response(head, HeadLimit::default(), &Method::Get);
    for (name, lines, length) in HEADS {
        let (asked, answered) = (head(REQUEST, lines, length), head(RESPONSE, lines, length));
        measure(c, &format!("request/{name}"), &asked, Expected::Whole, request);
        measure(c, &format!("response/{name}"), &answered, Expected::Whole, response);
        if lines == CUT {
            measure(c, "request/partial", cut(&asked), Expected::Partial, request);
            measure(c, "response/partial", cut(&answered), Expected::Partial, response);
        }
    }
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

/// How each begins.
const REQUEST: &str = "GET /bytes/3MiB HTTP/1.1\r\nHost: 127.0.0.1:8000";
const RESPONSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3145728";

/// The heads by name: header lines, and bytes in all. The last has more lines than most, and as many bytes as
/// [`HeadLimit`] allows by default.
const HEADS: [(&str, usize, usize); 3] =
    [("3_lines", 3, 100), ("20_lines", 20, 1_000), ("at_the_limit", 40, 8 * 1024)];

/// Lines of the head that is measured cut as well.
const CUT: usize = 20;

/// A head of so many header lines and bytes, which begins with `first`: a line and a header.
fn head(first: &str, lines: usize, length: usize) -> String {
    let mut head = format!("{first}\r\n");
    for line in 1..lines {
        let name = format!("X-Trace-{line:02}: ");
        // What is left for each line that is to come, without its name and line ends.
        let left = length.saturating_sub(head.len() + 2) / (lines - line);
        let value = left.saturating_sub(name.len() + 2);
        // Writing to a string cannot fail.
        let _ = write!(head, "{name}{:a<value$}\r\n", "");
    }
    head + "\r\n"
}

/// `head` as far as a read took it that ended in the last header line.
fn cut(head: &str) -> &str {
    head.get(..head.len().saturating_sub(8)).unwrap_or_default()
}
