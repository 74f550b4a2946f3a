//! Listening sockets, bound before any thread starts, so that a wrong address is a clear start-up error.
use crate::config::{Listen, Listener};
use socket2::{Domain, SockAddr, Socket, Type};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Waiting connections a listening socket holds; the kernel caps it at net.core.somaxconn.
const BACKLOG: i32 = 4096;

/// One address that could not be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {cause}")]
pub struct ListenError {
    pub address: String,
    pub cause: std::io::Error,
}

/// The listening sockets of all workers: `per_worker[worker][listener]`.
pub struct Bound {
    pub per_worker: Vec<Vec<OwnedFd>>,
}

impl Bound {
    /// For workers on these CPUs. TCP: one SO_REUSEPORT socket per worker, so that the kernel spreads connections: to
    /// the worker of the CPU on which they arrive, and among all where that has none. Unix: one socket that all
    /// workers accept from.
    ///
    /// # Errors
    /// The first address that cannot be bound.
    pub fn bind(listen: &[Listener], cpus: &[usize]) -> Result<Bound, ListenError> {
        let mut per_worker: Vec<Vec<OwnedFd>> = cpus.iter().map(|_| Vec::new()).collect();
        for listener in listen {
            match &listener.address {
                Listen::Tcp(address) => {
                    let error = |cause| ListenError {
                        address: address.to_string(),
                        cause,
                    };
                    if address.port() != 0 {
                        ensure_free(*address).map_err(error)?;
                    }
                    for (sockets, cpu) in per_worker.iter_mut().zip(cpus) {
                        sockets.push(bind_tcp(*address, *cpu).map_err(error)?.into());
                    }
                }
                Listen::Unix(path) => {
                    let error = |cause| ListenError {
                        address: format!("unix:{}", path.display()),
                        cause,
                    };
                    let socket = bind_unix(path).map_err(error)?;
                    for sockets in &mut per_worker {
                        sockets.push(socket.try_clone().map_err(error)?.into());
                    }
                }
            }
        }
        Ok(Bound { per_worker })
    }
}

/// With SO_REUSEPORT a second process of the same user would bind the same port and take half of the
/// connections: a plain bind first finds that out.
fn ensure_free(address: SocketAddr) -> std::io::Result<()> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())
}

fn bind_tcp(address: SocketAddr, cpu: usize) -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    // SO_INCOMING_CPU (Linux 6.2 for such groups): a client's packets and its worker then share a CPU, where a
    // wake-up costs least. Where the kernel does not know it, connections are spread by their hash.
    if let Err(cause) = socket.set_cpu_affinity(cpu) {
        tracing::debug!(%cause, cpu, "connections are not kept on the CPU on which they arrive");
    }
    socket.listen(BACKLOG)?;
    Ok(socket)
}

fn bind_unix(path: &Path) -> std::io::Result<Socket> {
    remove_stale(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// A socket file that nobody listens on is left from a process that was killed.
fn remove_stale(path: &Path) -> std::io::Result<()> {
    let Ok(meta) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !meta.file_type().is_socket() {
        return Err(std::io::Error::new(
            std::io::ErrorKind::AlreadyExists,
            "the path exists and is not a socket",
        ));
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    match probe.connect(&SockAddr::unix(path)?) {
        Ok(()) => Err(std::io::Error::new(
            std::io::ErrorKind::AddrInUse,
            "another process listens there",
        )),
        Err(_) => std::fs::remove_file(path),
    }
}
