//! How large a send buffer can be: what is queued there keeps the proxy busy while this process
//! waits for its CPU.

use std::fs;

use records::Bytes;

/// tcp(7): the third value bounds what the kernel's tuning gives.
const TCP_WMEM: &str = "/proc/sys/net/ipv4/tcp_wmem";
/// socket(7): bounds what may be asked for.
const WMEM_MAX: &str = "/proc/sys/net/core/wmem_max";
/// What to ask for where the kernel does not tell its bounds.
const UNKNOWN: Bytes = Bytes::mib(4);

/// The size to ask for to get as much as this kernel gives; `None`: leave it to its tuning.
pub(crate) fn largest() -> Option<Bytes> {
    let read = |path| fs::read_to_string(path).ok().and_then(|text| last_number(&text));
    choose(read(WMEM_MAX), read(TCP_WMEM))
}

/// A size that is asked for is doubled (socket(7)) and never tuned again, so asking is a loss where
/// the kernel's own tuning goes further: with the usual `wmem_max` of 208 KiB, tuning reaches 4 MiB.
fn choose(wmem_max: Option<Bytes>, tcp_wmem: Option<Bytes>) -> Option<Bytes> {
    let asked = wmem_max.unwrap_or(UNKNOWN);
    match tcp_wmem {
        Some(tuned) if asked + asked <= tuned => None,
        _ => Some(asked),
    }
}

fn last_number(text: &str) -> Option<Bytes> {
    text.split_whitespace().last()?.parse().ok().map(Bytes)
}

#[cfg(test)]
mod tests;
