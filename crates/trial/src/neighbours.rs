//! Busy loops on the workers' CPUs: the neighbour of a proxy that is ready and has no CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// Threads that end with it.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Neighbours {
    /// Starts `count` of them on each of `cpus`; where that is empty, wherever the scheduler likes.
    /// As many as this host has room for.
    pub(crate) fn start(count: u32, cpus: &[usize]) -> Self {
        let mut neighbours = Self::default();
        let cpus: Vec<Option<usize>> = match cpus {
            [] => vec![None],
            cpus => cpus.iter().copied().map(Some).collect(),
        };
        for cpu in cpus.into_iter().flat_map(|cpu| (0..count).map(move |_| cpu)) {
            let stop = Arc::clone(&neighbours.stop);
            let spin = move || {
                // On another CPU it would disturb the load instead.
                if cpu.is_some_and(|cpu| net::cpu::pin_current_thread(&[cpu]).is_err()) {
                    return;
                }
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            neighbours.threads.extend(thread::Builder::new().name("neighbour".into()).spawn(spin));
        }
        neighbours
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
