//! Finding workers among the threads of this very process.

use std::sync::mpsc::channel;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::gettid;

use super::*;

fn own_pid() -> u32 {
    std::process::id()
}

#[test]
fn a_thread_that_polls_is_a_worker() {
    let (tell, told) = channel();
    thread::spawn(move || {
        let (read, _write) = rustix::pipe::pipe().expect("a pipe");
        let tid = u32::try_from(gettid().as_raw_nonzero().get()).expect("a tid");
        tell.send(tid).expect("the test waits");
        // Until the process ends: nobody writes.
        let _ = poll(&mut [PollFd::new(&read, PollFlags::IN)], None);
    });
    let tid = told.recv().expect("a thread");
    let found = targets(&[own_pid()], Which::Polling).expect("at least that one");
    assert!(found.iter().any(|target| target.tid == tid && target.pid == own_pid()), "{found:?}");
    let itself = targets(&[tid], Which::Itself).expect("it runs");
    assert_eq!(itself, [Target { worker: 0, pid: own_pid(), tid }]);
}

#[test]
fn who_does_not_run_is_named() {
    // Above the highest id a kernel gives (proc_sys_kernel(5): pid_max is 2^22 at most).
    let gone = 1 << 22;
    for which in [Which::Main, Which::Itself, Which::Polling] {
        let error = targets(&[gone], which).expect_err("nobody").to_string();
        assert!(error.contains("4194304"), "{error}");
    }
}
