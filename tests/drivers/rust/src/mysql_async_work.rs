//! mysql_async.
use crate::{bytes, env, out, statements, sync, Error};
use futures_util::StreamExt;
use mysql_async::prelude::*;
use mysql_async::{Conn, IsolationLevel, OptsBuilder, Pool, Row, TxOpts, Value};

fn options() -> OptsBuilder {
    OptsBuilder::default()
        .ip_or_hostname(env("DB_HOST"))
        .tcp_port(env("DB_PORT").parse().unwrap_or(0))
        .user(Some(env("DB_USER")))
        .pass(Some(env("DB_PASSWORD")))
        .db_name(Some(env("DB_NAME")))
        .prefer_socket(false)
        .init(vec!["SET time_zone = '+03:00'"])
        .max_allowed_packet(Some(64 << 20))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Bytes(b) => format!("bytes {}", bytes(b)),
        other => format!("{other:?}"),
    }
}

fn row(label: &str, row: &Row) {
    let values: Vec<_> = (0..row.len()).map(|i| row.as_ref(i).map_or("?".into(), shown)).collect();
    out(format!("{label} row {}", values.join(", ")));
}

async fn text(conn: &mut Conn, sql: &str) {
    match conn.query_iter(sql).await {
        Err(e) => out(format!("{sql} error {e}")),
        Ok(mut result) => loop {
            for c in result.columns().iter().flat_map(|c| c.iter()) {
                out(format!("{sql} column {} {:?} {:?} {} {}", c.name_str(), c.column_type(), c.flags(), c.column_length(), c.character_set()));
            }
            out(format!("{sql} count {} {:?} {} {}", result.affected_rows(), result.last_insert_id(), result.warnings(), result.info()));
            match result.collect::<Row>().await {
                Ok(rows) => rows.iter().for_each(|r| row(sql, r)),
                Err(e) => out(format!("{sql} rows error {e}")),
            }
            if result.is_empty() {
                break;
            }
        },
    }
}

async fn prepared(conn: &mut Conn) -> Result<(), Error> {
    let statement = conn.prep("SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id").await?;
    let values: [Value; 6] = [5.into(), "five 😀".into(), Value::NULL, 5.5.into(), vec![0u8, 255].into(), u64::MAX.into()];
    for value in values {
        let rows: Vec<Row> = conn.exec(&statement, (value.clone(),)).await?;
        rows.iter().for_each(|r| row(&format!("prepared {value:?}"), r));
    }
    conn.close(statement).await?;
    for id in 1..4 {
        let rows: Vec<Row> = conn.exec("SELECT * FROM types WHERE id = ?", (id,)).await?;
        rows.iter().for_each(|r| row(&format!("prepared types {id}"), r));
    }
    let batch = (0..50).map(|n| (format!("batch {n} 😀"), n));
    conn.exec_batch("INSERT INTO items (name, n) VALUES (?, ?)", batch).await?;
    if let Err(e) = conn.exec_drop("INSERT INTO items (name, n) VALUES (?, ?)", ("batch 5 😀", 1)).await {
        out(format!("prepared error {e}"));
    }
    conn.exec_drop("DELETE FROM items WHERE name LIKE ?", ("batch%",)).await?;
    out(format!("prepared count {}", conn.affected_rows()));
    Ok(())
}

async fn streaming(conn: &mut Conn) -> Result<(), Error> {
    let mut stream = conn.query_stream::<(u64, u64, String), _>("SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n").await?;
    let mut sum = 0;
    while let Some(row) = stream.next().await {
        let (n, square, text) = row?;
        sum += n + square + text.len() as u64;
    }
    out(format!("streamed {sum}"));
    Ok(())
}

async fn transactions(pool: &Pool) -> Result<(), Error> {
    let (mut one, mut two) = (pool.get_conn().await?, pool.get_conn().await?);
    let mut tx = one.start_transaction(TxOpts::default()).await?;
    tx.query_drop("UPDATE locked SET n = 10 WHERE id = 1").await?;
    two.query_drop("SET innodb_lock_wait_timeout = 1").await?;
    text(&mut two, "UPDATE locked SET n = 11 WHERE id = 1").await;
    tx.rollback().await?;
    let mut level = TxOpts::default();
    level.with_isolation_level(IsolationLevel::ReadCommitted);
    let mut tx = one.start_transaction(level).await?;
    tx.query_drop("UPDATE locked SET n = 12 WHERE id = 1").await?;
    tx.commit().await?;
    text(&mut two, "SELECT * FROM locked ORDER BY id").await;
    two.ping().await?;
    text(&mut two, "SET @mine = 1").await;
    out(format!("reset {}", two.reset().await?));
    text(&mut two, "SELECT @mine, DATABASE()").await;
    Ok(())
}

pub async fn run() -> Result<(), Error> {
    out("##version 0.36");
    let pool = Pool::new(options());
    let mut conn = pool.get_conn().await?;
    for statement in statements() {
        match statement {
            None => sync(),
            Some(sql) => text(&mut conn, &sql).await,
        }
    }
    prepared(&mut conn).await?;
    let data = vec![7u8; (17 << 20) + 5];
    conn.exec_drop("INSERT INTO big VALUES (1, ?)", (&data,)).await?;
    let read: Option<Vec<u8>> = conn.query_first("SELECT data FROM big").await?;
    out(format!("big {}", read.as_deref() == Some(&data[..])));
    streaming(&mut conn).await?;
    for sql in ["CALL two_results()", "SELECT 1; SELECT 2, 'b'; DO 1; SELECT 3", "SELECT 'goes on'"] {
        text(&mut conn, sql).await;
    }
    drop(conn);
    transactions(&pool).await?;
    sync();
    let mut conn = pool.get_conn().await?;
    streaming(&mut conn).await?;
    drop(conn);
    pool.disconnect().await?;
    Ok(())
}
