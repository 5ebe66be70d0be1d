//! Whether the load can outrun the proxy: origin to slow client, without and with a proxy between.
//!
//! Origin and slow client share the last CPU in both; the proxy's two workers share the first. The
//! first figure should be at least twice the second. If it is not, the proxy of a trial waits for
//! its load: its sockets run empty and end steps that no setting of its own would end.

use criterion::{BenchmarkId, Criterion};
use records::ProxyToggles;

use crate::load::{self, Path, Setup};

/// `direct_vs_proxied/direct` and `direct_vs_proxied/proxied_drain`: four downloads.
pub fn benchmarks(c: &mut Criterion) {
    let draining = ProxyToggles { workers: 2, reuseport: true, ..ProxyToggles::default() };
    let mut group = c.benchmark_group("direct_vs_proxied");
    load::configure(&mut group);
    for (name, path) in
        [("direct", Path::Direct), ("proxied_drain", Path::Proxied(draining.into()))]
    {
        let id = BenchmarkId::from_parameter(name);
        load::measure(&mut group, id, &Setup { path, downloads: 4 });
    }
    group.finish();
}
