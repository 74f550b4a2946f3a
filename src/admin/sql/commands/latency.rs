//! SHOW LATENCY: turn times since the start, all workers together and each by itself.

use super::NO_ANSWER;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::workers::ask;
use crate::control::Handle;
use crate::worker::mailbox::Message;
use hdrhistogram::Histogram;

pub async fn run(handle: &Handle) -> Answer {
    let answers = ask(handle.mailboxes(), Message::Latency).await;
    let columns = [
        "worker", "turns", "p50_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms",
    ];
    let mut table = Table::new(&columns);
    if let Some(all) = together(answers.iter().flatten()) {
        table.push(row("all".into(), &all));
    }
    for (worker, answer) in answers.iter().enumerate() {
        match answer {
            Some(histogram) => table.push(row(worker.to_string(), histogram)),
            None => {
                let mut row = vec![Some(worker.to_string()), Some(NO_ANSWER.into())];
                row.resize(columns.len(), None);
                table.rows.push(row);
            }
        }
    }
    Answer::Rows(table)
}

/// None: no worker has answered.
fn together<'a>(
    mut histograms: impl Iterator<Item = &'a Histogram<u64>>,
) -> Option<Histogram<u64>> {
    let mut sum = histograms.next()?.clone();
    // A range that cannot be resized is the one way to fail; the sum may grow by itself.
    sum.auto(true);
    for histogram in histograms {
        if let Err(e) = sum.add(histogram) {
            tracing::warn!("latencies of a worker are left out of the sum: {e}");
        }
    }
    Some(sum)
}

fn row(worker: String, turns: &Histogram<u64>) -> [String; 7] {
    let at = |quantile| milliseconds(turns.value_at_quantile(quantile));
    let largest = milliseconds(turns.max());
    [
        worker,
        turns.len().to_string(),
        at(0.5),
        at(0.95),
        at(0.99),
        at(0.999),
        largest,
    ]
}

fn milliseconds(microseconds: u64) -> String {
    format!("{:.3}", microseconds as f64 / 1000.0)
}
