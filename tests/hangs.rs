//! Servers that stop answering without closing anything (SIGSTOP): nobody waits for ever.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests run off the workers and may block"
)]
mod common;

use common::{scalar, Cluster, ProxyConfig, Queryable};
use std::time::{Duration, Instant};

/// Far more than the health check needs to find a server dead.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn a_read_on_a_replica_that_hangs_is_answered_by_another_server() {
    let cluster = Cluster::start(2);
    let proxy = ProxyConfig::new(&cluster).start();
    proxy.wait_for_readers(&[2, 3]);
    for server in [1, 2] {
        cluster.servers[server].freeze();
    }
    let mut client = proxy.client();
    let started = Instant::now();
    let id = scalar(&mut client, "SELECT @@server_id");
    let waited = started.elapsed();
    for server in [1, 2] {
        cluster.servers[server].thaw();
    }
    assert_eq!(id, "1", "the primary reads when no replica can");
    assert!(waited < PATIENCE, "{waited:?}");
}

#[test]
fn a_write_on_a_primary_that_hangs_ends_with_an_error() {
    let cluster = Cluster::start(1);
    cluster.prepare(&["CREATE TABLE hung (a INT)"]);
    let proxy = ProxyConfig::new(&cluster).start();
    let mut client = proxy.client();
    client
        .query_drop("INSERT INTO hung VALUES (1)")
        .expect("INSERT");
    cluster.primary().freeze();
    let started = Instant::now();
    let outcome = client.query_drop("INSERT INTO hung VALUES (2)");
    let waited = started.elapsed();
    cluster.primary().thaw();
    assert!(outcome.is_err(), "nobody knows whether it took effect");
    assert!(waited < PATIENCE, "{waited:?}");
}
