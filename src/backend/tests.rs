//! Tests of server connections: the pure parts here, the others against servers on real sockets.
mod gate;
mod prepared;
mod queue;
mod state;
mod sync;
