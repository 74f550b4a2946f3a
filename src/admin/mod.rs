//! What people and monitoring see of the running proxy: admin SQL over the MySQL protocol, and
//! `/metrics` and `/healthz` over HTTP. Runs on the control thread, never on a worker.
//!
//! A worker is asked by message and has two seconds to answer: one that is stuck is shown as such
//! and holds up nobody.
//!
//! | file | job |
//! |---|---|
//! | `sql/` | listener, login and command loop of the admin port |
//! | `sql/commands/` | one file a command |
//! | `http/` | listener, `/metrics`, `/healthz` |
//! | `workers.rs` | questions to the workers, with a deadline |
//! | `digests.rs` | the workers' tables of digests as one |
//! | `memory.rs` | the process's memory, added up |
//! | `servers.rs` | the servers as people see them |

mod digests;
mod http;
mod memory;
mod servers;
mod sql;
mod workers;

use crate::config::Proxy;
use crate::control::Handle;
use std::io;
use std::net::{SocketAddr, TcpListener};
use tokio::task::JoinSet;

/// The bound sockets of the admin servers; bound by the start, so that an address in use ends it
/// with a clear error.
#[derive(Debug, Default)]
pub struct Listeners {
    sql: Option<TcpListener>,
    http: Option<TcpListener>,
}

impl Listeners {
    /// Binds what `[proxy] admin` and `[proxy] http` name.
    ///
    /// # Errors
    /// An address that cannot be bound, named in the error's text.
    pub fn bind(proxy: &Proxy) -> io::Result<Listeners> {
        Ok(Listeners {
            sql: proxy
                .admin
                .map(|address| listen("admin", address))
                .transpose()?,
            http: proxy
                .http
                .map(|address| listen("http", address))
                .transpose()?,
        })
    }

    /// Where the admin port really is (port 0 in the configuration: any free one).
    pub fn sql_address(&self) -> Option<SocketAddr> {
        self.sql.as_ref()?.local_addr().ok()
    }

    /// Where the HTTP port really is.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref()?.local_addr().ok()
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "at start-up, and accepted from by tokio"
)]
fn listen(key: &str, address: SocketAddr) -> io::Result<TcpListener> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("proxy.{key} = {address}: {e}"));
    let listener = TcpListener::bind(address).map_err(named)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Serves until dropped. To be put into [`crate::control::ControlInput::serve`].
pub async fn serve(listeners: Listeners, handle: Handle) {
    // Dropping the set ends the listeners.
    let mut servers = JoinSet::new();
    if let Some(listener) = listeners.sql {
        servers.spawn(sql::serve(listener, handle.clone()));
    }
    if let Some(listener) = listeners.http {
        servers.spawn(http::serve(listener, handle));
    }
    while let Some(ended) = servers.join_next().await {
        if let Err(e) = ended {
            tracing::error!("an admin server ended: {e}");
        }
    }
}
