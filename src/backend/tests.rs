//! Tests of server connections: the pure parts here, the others against servers on real sockets.
mod gate;
mod login;
pub(crate) mod mock;
mod pools;
mod prepared;
mod queue;
mod state;
mod sync;
pub(crate) mod world;
