//! Configured addresses → where to connect. Names are resolved here, never on a worker.

use crate::config::Address;
use crate::topology::Target;
use std::io;

/// All targets of an address, in the resolver's order. Errors: the name does not resolve.
pub async fn resolve(address: &Address) -> io::Result<Vec<Target>> {
    match address {
        Address::Unix(path) => Ok(vec![Target::Unix(path.clone())]),
        Address::Tcp(host, port) => {
            let found = tokio::net::lookup_host((host.as_str(), *port)).await?;
            Ok(found.map(Target::Tcp).collect())
        }
    }
}
