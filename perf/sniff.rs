//! What the sniffer costs a statement: `cargo bench --bench sniff`.

use divan::{black_box, Bencher};
use umpire::sniff::{digest, sniff, Dialect};

const DIALECT: Dialect = Dialect {
    ansi_quotes: false,
    no_backslash_escapes: false,
    mariadb: true,
    version: 101_119,
    ambiguous_bytes: false,
};

const STATEMENTS: [&str; 6] = [
    "SELECT c FROM sbtest1 WHERE id=12345",
    "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 100 AND 199 ORDER BY c",
    "UPDATE sbtest1 SET k=k+1 WHERE id=12345",
    "BEGIN",
    "SET NAMES utf8mb4",
    "SELECT u.id, COUNT(*), MAX(o.total) FROM users u LEFT JOIN orders o ON o.user_id = u.id \
     WHERE u.name LIKE 'a%' AND o.created > NOW() - INTERVAL 1 DAY GROUP BY u.id HAVING COUNT(*) > 1 \
     ORDER BY 2 DESC LIMIT 10",
];

fn main() {
    divan::main();
}

#[divan::bench(args = STATEMENTS)]
fn sniffed(bencher: Bencher<'_, '_>, sql: &str) {
    bencher.bench(|| sniff(black_box(sql.as_bytes()), true, DIALECT));
}

#[divan::bench(args = STATEMENTS)]
fn digested(bencher: Bencher<'_, '_>, sql: &str) {
    bencher.bench(|| digest(black_box(sql.as_bytes()), DIALECT));
}
