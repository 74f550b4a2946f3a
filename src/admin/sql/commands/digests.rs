//! SHOW DIGESTS [LIKE 'pattern']: statements by digest, user and group, of all workers together.

use super::{unknown, NO_ANSWER};
use crate::admin::digests;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::sql::statement;
use crate::control::Handle;

pub async fn run(handle: &Handle, rest: &str) -> Answer {
    let Ok(pattern) = statement::like(rest) else {
        return Answer::Refused(unknown(rest));
    };
    let all = digests::gather(handle.mailboxes()).await;
    let mut table = Table::new(&[
        "digest", "user", "group", "calls", "errors", "rows", "bytes", "total_ms", "mean_ms",
        "p95_ms", "p99_ms", "max_ms", "text",
    ]);
    for worker in all.silent {
        let mut row = vec![
            Some(NO_ANSWER.to_string()),
            Some(format!("worker {worker}")),
        ];
        row.resize(table.columns.len(), None);
        table.rows.push(row);
    }
    for row in all.rows {
        if pattern
            .as_ref()
            .is_some_and(|p| !statement::matches(p, &row.text))
        {
            continue;
        }
        let ms = |micros: u64| format!("{:.3}", micros as f64 / 1000.0);
        table.push([
            format!("{:016x}", row.digest),
            row.user.clone(),
            row.group.clone(),
            row.calls.to_string(),
            row.errors.to_string(),
            row.rows.to_string(),
            row.bytes.to_string(),
            ms(row.micros),
            ms(row.micros / row.calls.max(1)),
            ms(row.quantile(0.95)),
            ms(row.quantile(0.99)),
            ms(row.most),
            row.text,
        ]);
    }
    Answer::Rows(table)
}
