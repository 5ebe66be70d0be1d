//! All groups in one binary, which is also `turnstile` and every role: see [`bench::is_turnstile`].

use std::path::Path;
use std::process::ExitCode;

use criterion::Criterion;

fn main() -> ExitCode {
    if bench::is_turnstile() {
        return harness::main();
    }
    let mut criterion = Criterion::default().configure_from_args();
    let (cpus, place) = (bench::own_cpus(), Path::new(env!("CARGO_TARGET_TMPDIR")));
    bench::fast_fetch::benchmarks(&mut criterion, &cpus, place);
    bench::data_plane::benchmarks(&mut criterion, &cpus, place);
    criterion.final_summary();
    ExitCode::SUCCESS
}
