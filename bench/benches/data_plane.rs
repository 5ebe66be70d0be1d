//! All groups in one binary, which is also `turnstile` and every role: see [`bench::is_turnstile`].

use std::path::Path;
use std::process::ExitCode;

use bench::Host;
use criterion::Criterion;

fn main() -> ExitCode {
    if bench::is_turnstile() {
        return harness::main();
    }
    let mut criterion = Criterion::default().configure_from_args();
    let host = Host::new();
    bench::fast_fetch::benchmarks(&mut criterion, &host, Path::new(env!("CARGO_TARGET_TMPDIR")));
    bench::data_plane::direct_vs_proxied(&mut criterion, &host);
    bench::data_plane::relay(&mut criterion, &host);
    criterion.final_summary();
    ExitCode::SUCCESS
}
