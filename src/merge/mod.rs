//! Several shards' rows → one result, streaming, with bounded buffers.
