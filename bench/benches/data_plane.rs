//! All groups in one binary, which is also every role: see [`bench::roles`].

use std::process::ExitCode;

use bench::fast_fetch::Output;
use criterion::Criterion;

fn main() -> ExitCode {
    if let Some(ended) = bench::roles::play() {
        return ended;
    }
    let mut criterion = Criterion::default().configure_from_args();
    bench::fast_fetch::benchmarks(&mut criterion, &Output::of_this_process());
    bench::direct_vs_proxied::benchmarks(&mut criterion);
    bench::relay::benchmarks(&mut criterion);
    bench::http_head::benchmarks(&mut criterion);
    criterion.final_summary();
    ExitCode::SUCCESS
}
