use rustix::thread::gettid;

use super::*;

#[test]
fn a_thread_is_found_with_its_process() {
    let pid = std::process::id();
    // Not the main thread: tests run on others.
    let tid = u32::try_from(gettid().as_raw_nonzero().get()).expect("a tid");
    let of = |worker, tid| Target { worker, pid, tid };
    assert_eq!(targets(&[tid, pid]).expect("both run"), [of(0, tid), of(1, pid)]);
}

#[test]
fn who_does_not_run_is_named() {
    // Above the highest id a kernel gives (proc_sys_kernel(5): pid_max is 2^22 at most).
    let error = targets(&[1 << 22]).expect_err("nobody").to_string();
    assert!(error.contains("4194304"), "{error}");
}
