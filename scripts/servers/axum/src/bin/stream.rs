//! A streaming answer as axum's documentation writes it: a body made from a stream of pieces.
//!
//! `CHUNK` is the size of a piece, 1024 unless said. `YIELD=1` gives the thread away after each.
//!
//! ```text
//! cargo build --release --manifest-path scripts/servers/axum/Cargo.toml --target-dir target/servers
//! PORT=8080 target/servers/release/stream
//! ```
//!
//! Tokio takes the number of its threads from `TOKIO_WORKER_THREADS`.

use std::convert::Infallible;
use std::env;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::get;
use futures_util::StreamExt;
use futures_util::stream;

const LENGTH: usize = 2 << 30;

fn number(name: &str) -> Option<usize> {
    env::var(name).ok()?.parse().ok()
}

async fn export() -> Body {
    let chunk = number("CHUNK").unwrap_or(1024);
    let gives_way = number("YIELD") == Some(1);
    let pieces = stream::iter((0..LENGTH / chunk).map(move |_| Bytes::from(vec![b'x'; chunk])));
    Body::from_stream(pieces.then(move |piece| async move {
        if gives_way {
            tokio::task::yield_now().await;
        }
        Ok::<_, Infallible>(piece)
    }))
}

#[tokio::main]
async fn main() {
    let app = Router::new().route("/health", get(async || "ok")).route("/export", get(export));
    let port = number("PORT").expect("PORT is the port to listen on");
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.expect("a free port");
    axum::serve(listener, app).await.expect("an answer");
}
