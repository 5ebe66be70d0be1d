//! What a byte costs one worker, by read policy and by relay buffer: one download, so that no
//! policy is paid for the turns it gives to others.

use criterion::{BenchmarkId, Criterion};
use records::{Bytes, ProxyToggles, ReadPolicy};

use crate::load::{self, Path, Setup};

/// nginx's page, which is the proxy's default.
const PAGE: Bytes = Bytes::kib(4);

/// `relay/<read policy>/<buffer>`.
pub fn benchmarks(c: &mut Criterion) {
    let mut group = c.benchmark_group("relay");
    load::configure(&mut group);
    for (read_policy, buffer) in [
        (ReadPolicy::Drain, PAGE),
        (ReadPolicy::ShortRead, PAGE),
        (ReadPolicy::Fionread, PAGE),
        (ReadPolicy::Bytes(Bytes::kib(64)), PAGE),
        (ReadPolicy::Drain, Bytes::kib(16)),
        (ReadPolicy::Drain, Bytes::kib(64)),
    ] {
        let toggles = ProxyToggles { workers: 1, buffer, read_policy, ..ProxyToggles::default() };
        let id = BenchmarkId::new(read_policy.to_string(), buffer.exact());
        load::measure(&mut group, id, &Setup { path: Path::Proxied(toggles.into()), downloads: 1 });
    }
    group.finish();
}
