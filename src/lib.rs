//! Umpire: a MySQL proxy with one pinned io_uring executor per core.
//!
//! The modules, from the top down. A stage knows the value handed to it and the resources it
//! uses, never its caller; `tests/layers.rs` fails on an edge that is not in this table.
//!
//! | module | job | may use |
//! |---|---|---|
//! | `main.rs` | arguments, start, signals, stop | all |
//! | [`admin`] | admin SQL, metrics and health pages (control thread) | control, worker (mailbox), coordination, sniff, route, throttle (failed logins), net (its allocator), wire, topology, observe, config |
//! | [`control`] | own thread (tokio): health, reload, publishes the topology | worker (mailbox), coordination, net (its allocator), wire, topology, observe, config |
//! | [`worker`] | executor, accept, owns sessions and pools | session, coordination, backend, net, topology, throttle, observe, config |
//! | [`session`] | one client: login, turn loop, transaction, prepared statements | everything below |
//! | [`policy`] | whether a statement may run (pure) | sniff, config |
//! | [`sniff`] | statement bytes → verb, read/write, hints, effects | wire |
//! | [`route`] | sniffed + session state + snapshot → `Route` (pure) | sniff, topology |
//! | [`plan`] | statement on sharded tables → what every shard runs, how the answers become one (pure) | sniff (its lexer), topology |
//! | [`scatter`] | runs a `Plan` on several leases | merge, plan, backend, net, wire |
//! | [`merge`] | row streams → one | plan, wire |
//! | [`relay`] | packets through, unparsed | backend, net, wire |
//! | [`backend`] | server connection, pool, lease | net, wire, topology, observe, config |
//! | [`net`] | sockets, ring, buffers, timers | wire, config |
//! | [`wire`] | framing, messages, both handshakes, reply tracker, error catalogue | – |
//! | [`topology`] | immutable snapshot: groups, servers, roles, users | config |
//! | [`throttle`] | token buckets, quotas | config |
//! | [`coordination`] | what must outlive the process: ids, jobs, rules (own thread) | – |
//! | [`import`] | other proxies' configurations → ours (a command of its own) | config |
//! | [`observe`] | metric names, counters, histograms, records | – |
//! | [`config`] | text → validated types | – |

// tests run off the workers and may block
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod admin;
pub mod backend;
pub mod config;
pub mod control;
pub mod coordination;
pub mod import;
pub mod merge;
pub mod net;
pub mod observe;
pub mod plan;
pub mod policy;
pub mod relay;
pub mod route;
pub mod scatter;
pub mod session;
pub mod sniff;
pub mod throttle;
pub mod topology;
pub mod wire;
pub mod worker;
