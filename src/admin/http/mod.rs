//! HTTP: `GET /metrics`, `GET /healthz`; every other path is 404.

mod healthz;
mod metrics;
mod server;

pub(super) use server::serve;
