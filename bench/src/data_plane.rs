//! What a byte costs on its way from the origin to the slow client.

use criterion::{BenchmarkId, Criterion};
use records::{Bytes, ProxyToggles, ReadPolicy};

use crate::Host;
use crate::load;

/// nginx's page, which is the proxy's default.
const PAGE: Bytes = Bytes::kib(4);

/// Whether the load can outrun the proxy: `direct_vs_proxied/direct` and
/// `direct_vs_proxied/proxied_drain`, four downloads without and with a proxy between.
///
/// Origin and slow client share the CPUs of the load in both. The first figure should be at least twice
/// the second. If it is not, the proxy of a trial waits for its load: its sockets run empty and end
/// steps that no setting of its own would end.
pub fn direct_vs_proxied(c: &mut Criterion, host: &Host) {
    let draining = ProxyToggles { workers: 2, reuseport: true, ..ProxyToggles::default() };
    let mut group = c.benchmark_group("direct_vs_proxied");
    load::configure(&mut group);
    for (name, proxy) in [("direct", None), ("proxied_drain", Some(&draining))] {
        load::measure(&mut group, BenchmarkId::from_parameter(name), host, (proxy, 4));
    }
    group.finish();
}

/// What a byte costs one worker: `relay/<read policy>/<buffer>`. One download, so that no policy is paid
/// for the turns it gives to others.
pub fn relay(c: &mut Criterion, host: &Host) {
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
        load::measure(&mut group, id, host, (Some(&toggles), 1));
    }
    group.finish();
}
