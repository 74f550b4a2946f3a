//! The listener: few connections, one short exchange on each.
//!
//! Routing is axum's. The connections are wrapped, because what scrapers and probes need is one
//! request a connection, and a deadline on all of it that no slow header can get around.

use super::{healthz, metrics};
use crate::control::Handle;
use axum::extract::State;
use axum::http::{header, HeaderValue, StatusCode};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::Listener;
use axum::Router;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, Sleep};

/// More wait in the kernel's queue.
const CONNECTIONS: usize = 64;
/// From accept to the last byte. Longer than the workers' deadline to answer.
const LIFETIME: Duration = Duration::from_secs(10);
/// After a failed accept (no descriptor left): time for others to close theirs.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub async fn serve(listener: std::net::TcpListener, handle: Handle) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(e) => return tracing::error!("http: {e}"),
    };
    let bounded = Bounded {
        listener,
        free: Arc::new(Semaphore::new(CONNECTIONS)),
    };
    if let Err(e) = axum::serve(bounded, router(handle)).await {
        tracing::error!("http: {e}");
    }
}

fn router(handle: Handle) -> Router {
    let not_found = || async { (StatusCode::NOT_FOUND, "try /metrics or /healthz\n") };
    Router::new()
        .route("/metrics", get(serve_metrics))
        .route("/healthz", get(serve_healthz))
        .fallback(not_found)
        .layer(map_response(one_exchange))
        .with_state(handle)
}

/// The connection ends with the answer, whatever it is.
async fn one_exchange(mut response: Response) -> Response {
    response
        .headers_mut()
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

async fn serve_metrics(State(handle): State<Handle>) -> impl IntoResponse {
    let format = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
    (format, metrics::text(&handle).await)
}

async fn serve_healthz(State(handle): State<Handle>) -> impl IntoResponse {
    let complaints = healthz::complaints(&handle).await;
    match complaints.is_empty() {
        true => (StatusCode::OK, "ok\n".to_string()),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            complaints.join("\n") + "\n",
        ),
    }
}

/// Accepts only while fewer than [`CONNECTIONS`] are open.
struct Bounded {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let Ok(permit) = self.free.clone().acquire_owned().await else {
                // Nobody closes the semaphore.
                std::future::pending::<()>().await;
                continue;
            };
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let deadline = Box::pin(sleep(LIFETIME));
                    return (
                        Connection {
                            stream,
                            deadline,
                            _permit: permit,
                        },
                        peer,
                    );
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A stream that fails once its time is over.
struct Connection {
    stream: TcpStream,
    deadline: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl Connection {
    fn in_time(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.deadline.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.in_time(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.in_time(cx)?;
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
