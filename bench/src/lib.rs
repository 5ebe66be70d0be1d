//! Criterion benchmarks of the data plane.
