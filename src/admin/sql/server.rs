//! The listener of the admin port.

use super::pace::Pace;
use super::session;
use super::stream::PacketStream;
use crate::control::Handle;
use crate::wire::error;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// One more is told so (1040) and closed.
const CONNECTIONS: usize = 64;
/// After a failed accept (no descriptor left): time for others to close theirs.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

pub async fn serve(listener: std::net::TcpListener, handle: Handle) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(e) => return tracing::error!("admin: {e}"),
    };
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    let pace = Pace::new();
    let mut id = 0u32;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                id = id.wrapping_add(1);
                match free.clone().try_acquire_owned() {
                    Ok(permit) => {
                        let talk = talk(stream, id, handle.clone(), pace.clone(), permit);
                        drop(tokio::spawn(talk));
                    }
                    Err(_) => refuse(stream),
                }
            }
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn talk(
    stream: TcpStream,
    id: u32,
    handle: Handle,
    pace: Pace,
    _permit: OwnedSemaphorePermit,
) {
    let address = stream.peer_addr();
    let ip = address.as_ref().ok().map(|peer| peer.ip().to_canonical());
    let host = ip.map_or("?".into(), |ip| ip.to_string());
    let peer = address.map_or("?".into(), |peer| peer.to_string());
    let nodelay = stream.set_nodelay(true);
    let result = match nodelay {
        Ok(()) => session::run(PacketStream::new(stream), id, (host, ip), handle, &pace).await,
        Err(e) => Err(e.into()),
    };
    if let Err(e) = result {
        tracing::debug!(%peer, "admin connection ended: {e}");
    }
}

/// The error in place of a greeting, without waiting for the peer to take it: the few bytes fit
/// into a new socket's buffer, and otherwise nothing is lost but the text.
fn refuse(stream: TcpStream) {
    let mut bytes = Vec::new();
    crate::wire::packet::frame(&error::too_many_connections().encode(), 0, &mut bytes);
    let _ = stream.try_write(&bytes);
}
