//! Names of all metrics, as they stand on `/metrics`. A name once released keeps its meaning.

pub const BUILD_INFO: &str = "umpire_build_info";
pub const WORKERS: &str = "umpire_workers";

// one value a worker
pub const CLIENTS: &str = "umpire_clients";
pub const CLIENTS_ACCEPTED: &str = "umpire_clients_accepted_total";
pub const CLIENTS_REFUSED: &str = "umpire_clients_refused_total";
pub const CLIENTS_DENIED: &str = "umpire_clients_denied_total";
pub const PROXY_HEADERS_REFUSED: &str = "umpire_proxy_headers_refused_total";
pub const LOGINS_DELAYED: &str = "umpire_logins_delayed_total";
pub const LOGINS_FAILED: &str = "umpire_logins_failed_total";
pub const TURNS: &str = "umpire_turns_total";
pub const TURNS_TO_PRIMARY: &str = "umpire_turns_to_primary_total";
pub const TURNS_TO_REPLICA: &str = "umpire_turns_to_replica_total";
pub const TURNS_LOCAL: &str = "umpire_turns_local_total";
pub const TURNS_FANNED_OUT: &str = "umpire_turns_fanned_out_total";
pub const TURNS_GATHERED: &str = "umpire_turns_gathered_total";
pub const PLANS_MADE: &str = "umpire_plans_made_total";
pub const PLANS_CACHED: &str = "umpire_plans_cached_total";
pub const PARTIAL_COMMITS: &str = "umpire_partial_commits_total";
pub const LIBRARIES_SELECTED: &str = "umpire_libraries_selected_total";
pub const LIBRARY_OBJECTS_ASSIGNED: &str = "umpire_library_objects_assigned_total";
pub const TURNS_FAILED: &str = "umpire_turns_failed_total";
pub const RETRIES: &str = "umpire_retries_total";
pub const HEALED_WRITES: &str = "umpire_healed_writes_total";
pub const SYNC_STATEMENTS: &str = "umpire_sync_statements_total";
pub const SERVER_CONNECTIONS: &str = "umpire_server_connections";
pub const SERVER_CONNECTS: &str = "umpire_server_connects_total";
pub const SERVER_CONNECT_ERRORS: &str = "umpire_server_connect_errors_total";
pub const SERVER_CONNECTIONS_LOST: &str = "umpire_server_connections_lost_total";
pub const LEASE_WAITS: &str = "umpire_lease_waits_total";
pub const POLICIES_DENIED: &str = "umpire_policies_denied_total";
pub const POLICIES_NOTED: &str = "umpire_policies_noted_total";
pub const AUDIT_RECORDS: &str = "umpire_audit_records_total";
pub const AUDIT_DROPPED: &str = "umpire_audit_dropped_total";
pub const AUDIT_WAITS: &str = "umpire_audit_waits_total";
pub const DIGESTS_EVICTED: &str = "umpire_digests_evicted_total";
pub const LEASE_TIMEOUTS: &str = "umpire_lease_timeouts_total";
pub const PINNED: &str = "umpire_pinned_sessions";
pub const BYTES_FROM_CLIENTS: &str = "umpire_bytes_from_clients_total";
pub const BYTES_TO_CLIENTS: &str = "umpire_bytes_to_clients_total";
pub const BACKPRESSURE_PAUSES: &str = "umpire_backpressure_pauses_total";
pub const BUFFERS_SPILLED: &str = "umpire_buffers_spilled_total";
pub const RING_ENTERS: &str = "umpire_ring_enters_total";
pub const RING_EVENTS: &str = "umpire_ring_events_total";
pub const MEMORY_PRESSED: &str = "umpire_memory_pressed_total";
pub const MEMORY_EVICTIONS: &str = "umpire_memory_evictions_total";
pub const HEAP_BYTES: &str = "umpire_worker_heap_bytes";
/// Histogram in seconds.
pub const TURN_SECONDS: &str = "umpire_turn_seconds";

// one value a server
pub const SERVER_UP: &str = "umpire_server_up";
pub const SERVER_WRITABLE: &str = "umpire_server_writable";
pub const SERVER_READABLE: &str = "umpire_server_readable";
pub const SERVER_PRIMARY: &str = "umpire_server_primary";
pub const SERVER_LAG_SECONDS: &str = "umpire_server_lag_seconds";
pub const SERVER_WEIGHT: &str = "umpire_server_weight";
pub const SERVER_BUDGET_USED: &str = "umpire_server_budget_used";
pub const SERVER_BUDGET_LIMIT: &str = "umpire_server_budget_limit";
