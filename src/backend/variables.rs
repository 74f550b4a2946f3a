//! Which session variables are state that may be replayed on another connection, and which the servers
//! are asked to report.

/// What to do about a session variable that a client set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    /// Part of the state: replayed on whatever connection the session gets.
    Yes,
    /// No state: read-only, or a mere report.
    Never,
    /// Bound to this connection: the session must keep it once this was set, and the connection is
    /// reset ([`super::After::Reset`]) when the session lets it go.
    Pins,
}

/// The policy for a variable; its name in any case. Unknown ones are replayed.
pub fn replay_policy(name: &[u8]) -> Replay {
    let known = POLICY
        .iter()
        .find(|entry| entry.0.as_bytes().eq_ignore_ascii_case(name));
    known.map_or(Replay::Yes, |entry| entry.1)
}

/// The exceptions, each with its reason.
const POLICY: &[(&str, Replay, &str)] = &[
    (
        "statement_id",
        Replay::Never,
        "read-only; counts statements",
    ),
    (
        "last_gtid",
        Replay::Never,
        "read-only; reported after each logged write",
    ),
    ("error_count", Replay::Never, "read-only"),
    ("warning_count", Replay::Never, "read-only"),
    ("external_user", Replay::Never, "read-only"),
    ("proxy_user", Replay::Never, "read-only"),
    ("gtid_owned", Replay::Never, "read-only"),
    (
        "in_transaction",
        Replay::Never,
        "read-only; the status flags tell",
    ),
    (
        "session_track_system_variables",
        Replay::Pins,
        "the proxy's own tracking depends on it",
    ),
    (
        "session_track_schema",
        Replay::Pins,
        "the proxy's own tracking depends on it",
    ),
    (
        "session_track_state_change",
        Replay::Pins,
        "the proxy's own tracking depends on it",
    ),
    (
        "session_track_gtids",
        Replay::Pins,
        "changes what each reply carries",
    ),
    (
        "session_track_transaction_info",
        Replay::Pins,
        "changes what each reply carries",
    ),
    (
        "timestamp",
        Replay::Pins,
        "DEFAULT is reported as a time, so that it cannot be told from a fixed one",
    ),
    (
        "insert_id",
        Replay::Pins,
        "holds for the next INSERT on this connection only",
    ),
    (
        "last_insert_id",
        Replay::Pins,
        "later inserts change it without a report",
    ),
    ("identity", Replay::Pins, "another name of last_insert_id"),
    (
        "rand_seed1",
        Replay::Pins,
        "each RAND() changes it without a report",
    ),
    (
        "rand_seed2",
        Replay::Pins,
        "each RAND() changes it without a report",
    ),
    (
        "pseudo_thread_id",
        Replay::Pins,
        "names the connection itself",
    ),
    ("pseudo_slave_mode", Replay::Pins, "binary log replay"),
    ("pseudo_replica_mode", Replay::Pins, "binary log replay"),
    ("gtid_next", Replay::Pins, "belongs to the next transaction"),
    (
        "gtid_seq_no",
        Replay::Pins,
        "belongs to the next transaction",
    ),
    ("gtid_domain_id", Replay::Pins, "binary log replay"),
    ("server_id", Replay::Pins, "binary log replay"),
    ("skip_replication", Replay::Pins, "binary log replay"),
    (
        "skip_parallel_replication",
        Replay::Pins,
        "binary log replay",
    ),
    (
        "wsrep_gtid_seq_no",
        Replay::Pins,
        "belongs to the next transaction",
    ),
    (
        "original_commit_timestamp",
        Replay::Pins,
        "binary log replay",
    ),
    ("original_server_version", Replay::Pins, "binary log replay"),
    (
        "immediate_server_version",
        Replay::Pins,
        "binary log replay",
    ),
    (
        "require_row_format",
        Replay::Pins,
        "cannot be switched off again",
    ),
    (
        "default_master_connection",
        Replay::Pins,
        "a name that may look like a number",
    ),
    (
        "character_set_database",
        Replay::Pins,
        "every USE overwrites it without a report",
    ),
    (
        "collation_database",
        Replay::Pins,
        "every USE overwrites it without a report",
    ),
    (
        "max_join_size",
        Replay::Pins,
        "changes sql_big_selects without a report",
    ),
    (
        "sql_max_join_size",
        Replay::Pins,
        "another name of max_join_size",
    ),
    (
        "profiling",
        Replay::Pins,
        "its results stay on the connection",
    ),
    (
        "profiling_history_size",
        Replay::Pins,
        "its results stay on the connection",
    ),
    (
        "optimizer_trace",
        Replay::Pins,
        "its results stay on the connection",
    ),
    (
        "optimizer_trace_limit",
        Replay::Pins,
        "its results stay on the connection",
    ),
    (
        "optimizer_trace_offset",
        Replay::Pins,
        "its results stay on the connection",
    ),
    ("debug", Replay::Pins, "a stack, not a value"),
    ("debug_dbug", Replay::Pins, "a stack, not a value"),
    ("debug_sync", Replay::Pins, "actions, not a value"),
    (
        "enforce_storage_engine",
        Replay::Pins,
        "NULL is reported as an empty name",
    ),
    (
        "innodb_tmpdir",
        Replay::Pins,
        "NULL is reported as an empty name",
    ),
    (
        "innodb_ft_user_stopword_table",
        Replay::Pins,
        "NULL is reported as an empty name",
    ),
];

/// What MySQL is asked to report: every session variable of MySQL 5.7 to 9 that a client can set. Not `*`: that
/// adds the read-only statement_id to every single reply. Names that a version lacks are ignored by MySQL.
/// MariaDB refuses unknown names, and there `*` adds last_gtid after writes only.
pub(super) const MYSQL_TRACKED: &str = "auto_increment_increment,auto_increment_offset,autocommit,big_tables,\
binlog_direct_non_transactional_updates,binlog_format,binlog_row_image,binlog_row_value_options,\
binlog_rows_query_log_events,binlog_transaction_compression,binlog_transaction_compression_level_zstd,\
block_encryption_mode,bulk_insert_buffer_size,character_set_client,character_set_connection,\
character_set_database,character_set_filesystem,character_set_results,character_set_server,\
collation_connection,collation_database,collation_server,completion_type,connection_memory_chunk_size,\
connection_memory_limit,cte_max_recursion_depth,debug,debug_sync,default_collation_for_utf8mb4,\
default_storage_engine,default_table_encryption,default_tmp_storage_engine,default_week_format,\
div_precision_increment,enable_cascade_triggers,enable_secondary_engine_statistics,end_markers_in_json,\
eq_range_index_dive_limit,explain_format,explain_json_format_version,explicit_defaults_for_timestamp,\
external_table_secondary_storage_engine,external_table_storage_engine,foreign_key_checks,\
generated_random_password_length,global_connection_memory_tracking,group_concat_max_len,\
group_replication_consistency,gtid_next,histogram_generation_max_mem_size,identity,\
immediate_server_version,information_schema_stats_expiry,innodb_ddl_buffer_size,innodb_ddl_threads,\
innodb_ft_enable_stopword,innodb_ft_user_stopword_table,innodb_lock_wait_timeout,\
innodb_parallel_read_threads,innodb_strict_mode,innodb_table_locks,innodb_tmpdir,insert_id,\
interactive_timeout,internal_tmp_mem_storage_engine,join_buffer_size,keep_files_on_create,\
last_insert_id,lc_messages,lc_time_names,lock_wait_timeout,long_query_time,low_priority_updates,\
max_delayed_threads,max_error_count,max_execution_time,max_heap_table_size,max_insert_delayed_threads,\
max_join_size,max_length_for_sort_data,max_points_in_geometry,max_seeks_for_key,max_sort_length,\
max_sp_recursion_depth,max_statement_time,max_tmp_tables,min_examined_row_limit,multi_range_count,\
myisam_repair_threads,myisam_sort_buffer_size,myisam_stats_method,net_read_timeout,net_retry_count,\
net_write_timeout,new,old_alter_table,old_passwords,optimizer_max_subgraph_pairs,optimizer_prune_level,\
optimizer_search_depth,optimizer_switch,optimizer_trace,optimizer_trace_features,optimizer_trace_limit,\
optimizer_trace_max_mem_size,optimizer_trace_offset,original_commit_timestamp,original_server_version,\
parser_max_mem_size,preload_buffer_size,print_identified_with_as_hex,profiling,profiling_history_size,\
pseudo_replica_mode,pseudo_slave_mode,pseudo_thread_id,query_alloc_block_size,query_cache_type,\
query_cache_wlock_invalidate,query_prealloc_size,rand_seed1,rand_seed2,range_alloc_block_size,\
range_optimizer_max_mem_size,rbr_exec_mode,read_buffer_size,read_rnd_buffer_size,require_row_format,\
restrict_fk_on_non_standard_key,resultset_metadata,secondary_engine_cost_threshold,\
select_into_buffer_size,select_into_disk_sync,select_into_disk_sync_delay,session_track_gtids,\
session_track_schema,session_track_state_change,session_track_transaction_info,\
set_operations_buffer_size,show_create_table_skip_secondary_engine,show_create_table_verbosity,\
show_gipk_in_create_table_and_information_schema,show_old_temporals,sort_buffer_size,sql_auto_is_null,\
sql_big_selects,sql_buffer_result,sql_generate_invisible_primary_key,sql_log_bin,sql_log_off,sql_mode,\
sql_notes,sql_quote_show_create,sql_require_primary_key,sql_safe_updates,sql_select_limit,sql_warnings,\
storage_engine,terminology_use_previous,time_zone,timestamp,tmp_table_size,transaction_alloc_block_size,\
transaction_allow_batching,transaction_isolation,transaction_prealloc_size,transaction_read_only,\
transaction_write_set_extraction,tx_isolation,tx_read_only,unique_checks,updatable_views_with_limit,\
use_secondary_engine,wait_timeout,windowing_use_high_precision,xa_detach_on_prepare";
