use super::*;
use hdrhistogram::Histogram;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

fn server(address: &str, lag: Option<Duration>) -> ServerInfo {
    ServerInfo {
        group: "main".into(),
        address: address.into(),
        role: "replica".into(),
        primary: false,
        alive: true,
        writable: false,
        readable: true,
        lag,
        weight: 3,
        used: 7,
        limit: 200,
        reason: String::new(),
    }
}

/// The values of one metric, as `labels value`.
fn lines<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    text.lines()
        .filter_map(|line| line.strip_prefix(name))
        .filter(|rest| rest.starts_with(['{', ' ']))
        .collect()
}

#[test]
fn each_worker_has_a_line_of_its_own() {
    let stats = [
        Arc::new(WorkerStats::default()),
        Arc::new(WorkerStats::default()),
    ];
    stats[0].turns.add(5);
    stats[1].turns.add(7);
    let text = prometheus(&stats, &[], &[]);
    assert_eq!(
        lines(&text, names::TURNS),
        ["{worker=\"0\"} 5", "{worker=\"1\"} 7"]
    );
    assert_eq!(lines(&text, names::WORKERS), [" 2"]);
}

#[test]
fn every_line_belongs_to_a_metric_announced_once_with_help_and_type() {
    let stats = [Arc::new(WorkerStats::default())];
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    histogram.record(300).unwrap();
    let text = prometheus(
        &stats,
        &[server("a:1", Some(Duration::ZERO))],
        &[(0, histogram)],
    );
    let (mut helped, mut typed) = (HashSet::new(), HashSet::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["#", "HELP", name, _, ..] => assert!(helped.insert(name), "{name} is announced twice"),
            ["#", "TYPE", name, "counter" | "gauge" | "histogram"] => {
                assert!(typed.insert(name), "{line}")
            }
            [.., value] => {
                let name = line.split(['{', ' ']).next().unwrap();
                let base = ["_bucket", "_sum", "_count"]
                    .iter()
                    .find_map(|end| name.strip_suffix(end));
                assert!(typed.contains(base.unwrap_or(name)), "{line} has no type");
                assert!(value.parse::<f64>().is_ok(), "{line} has no number");
            }
            [] => panic!("an empty line"),
        }
    }
    assert_eq!(helped, typed);
}

#[test]
fn counters_end_in_total_and_gauges_do_not() {
    let text = prometheus(&[], &[], &[]);
    for line in text.lines().filter(|line| line.starts_with("# TYPE")) {
        assert_eq!(
            line.ends_with(" counter"),
            line.contains("_total "),
            "{line}"
        );
    }
}

#[test]
fn no_counter_of_a_worker_is_left_out_or_shown_twice() {
    let stats = WorkerStats::default();
    let counters = [
        &stats.clients,
        &stats.clients_accepted,
        &stats.clients_refused,
        &stats.clients_denied,
        &stats.proxy_headers_refused,
        &stats.logins_delayed,
        &stats.logins_failed,
        &stats.policies_denied,
        &stats.policies_noted,
        &stats.audit_records,
        &stats.audit_dropped,
        &stats.audit_waits,
        &stats.digests_evicted,
        &stats.turns,
        &stats.turns_to_primary,
        &stats.turns_to_replica,
        &stats.turns_local,
        &stats.turns_fanned_out,
        &stats.turns_gathered,
        &stats.plans_made,
        &stats.plans_cached,
        &stats.partial_commits,
        &stats.libraries_selected,
        &stats.library_objects_assigned,
        &stats.turns_failed,
        &stats.retries,
        &stats.healed_writes,
        &stats.sync_statements,
        &stats.server_connections,
        &stats.server_connects,
        &stats.server_connect_errors,
        &stats.server_connections_lost,
        &stats.lease_waits,
        &stats.lease_timeouts,
        &stats.pinned,
        &stats.bytes_from_clients,
        &stats.bytes_to_clients,
        &stats.backpressure_pauses,
        &stats.buffers_spilled,
        &stats.ring_enters,
        &stats.ring_events,
        &stats.memory_pressed,
        &stats.memory_evictions,
        &stats.heap_bytes,
    ];
    for (i, counter) in counters.iter().enumerate() {
        counter.set(1_000 + i as u64);
    }
    let expected = 1_000..1_000 + counters.len() as u64;
    let text = prometheus(&[Arc::new(stats)], &[], &[]);
    let values = text
        .lines()
        .filter(|l| l.contains("worker="))
        .map(|l| l.rsplit(' ').next().unwrap());
    let shown: Vec<u64> = values.map(|v| v.parse().unwrap()).collect();
    assert_eq!(shown, expected.collect::<Vec<_>>());
}

#[test]
fn turn_buckets_are_cumulative_and_end_with_the_count() {
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    for microseconds in [40, 50, 51, 900, 20_000_000] {
        histogram.record(microseconds).unwrap();
    }
    let text = prometheus(&[], &[], &[(1, histogram)]);
    let buckets = lines(&text, "umpire_turn_seconds_bucket");
    let bucket = |le: &str| {
        let start = format!("{{worker=\"1\",le=\"{le}\"}} ");
        let value = buckets.iter().find_map(|line| line.strip_prefix(&start));
        value
            .unwrap_or_else(|| panic!("no bucket {le} in {buckets:?}"))
            .parse::<u64>()
            .unwrap()
    };
    assert_eq!(
        ["0.00005", "0.0001", "0.0005", "0.001", "10", "+Inf"].map(bucket),
        [2, 3, 3, 4, 4, 5]
    );
    assert_eq!(
        lines(&text, "umpire_turn_seconds_count"),
        ["{worker=\"1\"} 5"]
    );
    let sum = lines(&text, "umpire_turn_seconds_sum")[0]
        .rsplit(' ')
        .next()
        .unwrap()
        .parse::<f64>()
        .unwrap();
    assert!((sum - 20.001_041).abs() < 0.02, "{sum}");
}

#[test]
fn a_server_of_unknown_lag_has_no_lag_line() {
    let servers = [
        server("a:1", None),
        server("b:1", Some(Duration::from_millis(1_500))),
    ];
    let text = prometheus(&[], &servers, &[]);
    assert_eq!(
        lines(&text, names::SERVER_LAG_SECONDS),
        ["{group=\"main\",server=\"b:1\",role=\"replica\"} 1.5"]
    );
    assert_eq!(lines(&text, names::SERVER_BUDGET_USED).len(), 2);
}

#[test]
fn label_values_cannot_break_out_of_their_quotes() {
    assert_eq!(escape_label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    let text = prometheus(&[], &[server("x\"} 1\nevil 2", None)], &[]);
    assert!(!text.lines().any(|line| line.starts_with("evil")));
}

#[test]
fn a_counter_adds_and_subtracts() {
    let counter = Counter::default();
    counter.add(5);
    counter.sub(2);
    assert_eq!(counter.get(), 3);
}
