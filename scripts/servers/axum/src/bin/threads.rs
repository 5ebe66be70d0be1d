//! What `threads.go` does, on a runtime of tokio: five things that make its requests late. `WHAT` names the
//! one that `/work` does; `/health` needs the same lock, or a place in the same pool.
//!
//! ```text
//! cargo build --release --manifest-path scripts/servers/axum/Cargo.toml --target-dir target/servers
//! PORT=8080 WHAT=lock TOKIO_WORKER_THREADS=2 target/servers/release/threads
//! ```

use std::convert::Infallible;
use std::env;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use futures_util::stream;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::sleep;

/// How long a piece of work takes, how much it writes, and how much of that at once.
const LENGTH: Duration = Duration::from_millis(800);
const WRITTEN: usize = 20 << 20;
const BLOCK: usize = 64 << 10;

static LOCK: Mutex<()> = Mutex::const_new(());
static POOL: Semaphore = Semaphore::const_new(5);

/// Keeps a thread of the runtime busy.
fn compute() {
    let until = Instant::now() + LENGTH;
    while Instant::now() < until {
        black_box((0..1_000_000_u64).fold(0, |sum, i| sum ^ black_box(i)));
    }
}

/// Puts bytes on the disk, each block before the next, on a thread of the runtime.
fn write(path: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    for _ in 0..WRITTEN / BLOCK {
        file.write_all(&[0; BLOCK])?;
        file.sync_data()?;
    }
    fs::remove_file(path)
}

async fn work() -> Body {
    match env::var("WHAT").as_deref() {
        Ok("lock") => {
            let _held = LOCK.lock().await;
            sleep(LENGTH).await;
        }
        Ok("compute") => compute(),
        Ok("write") => {
            let _held = LOCK.lock().await;
            let path = env::temp_dir().join(format!("threads-{}", std::process::id()));
            write(&path.to_string_lossy()).expect("a file of 20 MiB");
        }
        Ok("pool") => {
            let _place = POOL.acquire().await;
            sleep(LENGTH).await;
        }
        _ => {
            let pieces = (0..2 << 15).map(|_| Ok::<_, Infallible>(Bytes::from(vec![b'x'; 32 << 10])));
            return Body::from_stream(stream::iter(pieces));
        }
    }
    Body::from("done")
}

async fn health() -> &'static str {
    match env::var("WHAT").as_deref() {
        Ok("lock" | "write") => drop(LOCK.lock().await),
        Ok("pool") => drop(POOL.acquire().await),
        _ => (),
    }
    "ok"
}

#[tokio::main]
async fn main() {
    let app = Router::new().route("/health", get(health)).route("/work", get(work));
    let port = env::var("PORT").expect("PORT is the port to listen on");
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("a free port");
    axum::serve(listener, app).await.expect("an answer");
}
