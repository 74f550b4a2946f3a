//! sqlx.
#![allow(deprecated, reason = "fetch_many shows each result's counts")]
use crate::{env, out, port, sync, work, Line};
use futures_util::TryStreamExt;
use sqlx::mysql::{
    MySqlConnectOptions, MySqlConnection, MySqlPool, MySqlPoolOptions, MySqlRow, MySqlSslMode,
};
use sqlx::{Column, Connection, Either, Error, Executor, Row, TypeInfo, ValueRef};
use std::time::Duration;

fn options(user: &str, password: &str, schema: &str) -> MySqlConnectOptions {
    MySqlConnectOptions::new()
        .host(&env("DB_HOST"))
        .port(port())
        .username(user)
        .password(password)
        .database(schema)
        .ssl_mode(MySqlSslMode::Disabled)
}

fn own() -> MySqlConnectOptions {
    options(&env("DB_USER"), &env("DB_PASSWORD"), &env("DB_NAME"))
}

fn fail(label: &str, error: &Error) {
    match error {
        Error::Database(error) => {
            let mysql = error.downcast_ref::<sqlx::mysql::MySqlDatabaseError>();
            out(label, (mysql.number(), error.code(), error.message()));
        }
        other => out(label, other.to_string()),
    }
}

fn show_row(label: &str, row: &MySqlRow) {
    for column in row.columns() {
        let value = row.try_get_raw(column.ordinal()).expect("a value");
        let bytes = match value.is_null() {
            true => None,
            false => <&[u8] as sqlx::Decode<sqlx::MySql>>::decode(value).ok(),
        };
        let kind = column.type_info();
        out(
            label,
            (
                column.name(),
                kind.name(),
                bytes.map(String::from_utf8_lossy),
            ),
        );
    }
}

/// By COM_QUERY, with all results.
async fn query(conn: &mut MySqlConnection, sql: &str) {
    let mut results = sqlx::raw_sql(sql).fetch_many(conn);
    loop {
        match results.try_next().await {
            Ok(Some(Either::Left(done))) => {
                out(sql, ("counts", done.rows_affected(), done.last_insert_id()));
            }
            Ok(Some(Either::Right(row))) => show_row(sql, &row),
            Ok(None) => return,
            Err(error) => return fail(sql, &error),
        }
    }
}

/// A prepared statement, which the connection keeps.
macro_rules! execute {
    ($on:expr, $sql:expr $(, $value:expr)*) => {{
        let label = format!("{} {:?}", $sql, ($(&$value,)*));
        let mut results = sqlx::query($sql)$(.bind($value))*.fetch_many(&mut *$on);
        loop {
            match results.try_next().await {
                Ok(Some(Either::Left(done))) => {
                    out(&label, ("counts", done.rows_affected(), done.last_insert_id()));
                }
                Ok(Some(Either::Right(row))) => show_row(&label, &row),
                Ok(None) => break,
                Err(error) => {
                    fail(&label, &error);
                    break;
                }
            }
        }
    }};
}

async fn prepared(conn: &mut MySqlConnection) {
    let sql = "SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id";
    execute!(conn, sql, 5);
    execute!(conn, sql, "five 😀");
    execute!(conn, sql, None::<i64>);
    execute!(conn, sql, 5.5);
    execute!(conn, sql, vec![0u8, 255]);
    execute!(conn, sql, i64::MIN);
    execute!(conn, sql, true);
    execute!(conn, sql, (1u64 << 63) + 1);
    for id in 1..4 {
        execute!(conn, "SELECT * FROM types WHERE id = ?", id);
    }
    for _ in 0..2 {
        execute!(
            conn,
            "INSERT INTO items (name, n) VALUES (?, ?)",
            "prepared",
            1
        );
    }
    execute!(conn, "DELETE FROM items WHERE name = ?", "prepared");
    // more statements than a connection keeps
    for n in 0..150 {
        let sql = format!("SELECT {n} + ?");
        let value: Result<i64, _> = sqlx::query_scalar(&sql).bind(n).fetch_one(&mut *conn).await;
        out("kept", value.map_err(|e| e.to_string()));
    }
    match conn
        .describe("SELECT id, vc, de FROM types WHERE id = ?")
        .await
    {
        Ok(described) => {
            for column in described.columns() {
                out("described", (column.name(), column.type_info().name()));
            }
        }
        Err(error) => fail("described", &error),
    }
}

async fn streams(conn: &mut MySqlConnection) {
    let sql = "SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n";
    let mut rows = sqlx::query_as::<_, (i64, i64, String)>(sql).fetch(conn);
    let mut sum = 0;
    loop {
        match rows.try_next().await {
            Ok(Some((n, square, text))) => sum += n + square + text.len() as i64,
            Ok(None) => return out("streamed", sum),
            Err(error) => return out("streamed", error.to_string()),
        }
    }
}

async fn large(conn: &mut MySqlConnection) {
    let data = [b"abcdefgh".repeat(17 << 17), b"tail".to_vec()].concat();
    let written = sqlx::query("INSERT INTO big VALUES (1, ?)")
        .bind(&data)
        .execute(&mut *conn)
        .await;
    out(
        "large",
        written
            .map(|done| done.rows_affected())
            .map_err(|e| e.to_string()),
    );
    let read: Result<Vec<u8>, _> = sqlx::query_scalar("SELECT data FROM big")
        .fetch_one(conn)
        .await;
    out(
        "large",
        read.map(|read| read == data).map_err(|e| e.to_string()),
    );
}

async fn transactions(pool: &MySqlPool) {
    let mut other = pool.acquire().await.expect("a connection");
    let mut open = pool.begin().await.expect("BEGIN");
    execute!(open, "UPDATE locked SET n = 10 WHERE id = ?", 1);
    query(&mut other, "SET innodb_lock_wait_timeout = 1").await;
    query(&mut other, "UPDATE locked SET n = 11 WHERE id = 1").await;
    open.rollback().await.expect("ROLLBACK");
    let mut open = pool.begin().await.expect("BEGIN");
    execute!(open, "UPDATE locked SET n = 12 WHERE id = ?", 1);
    {
        // a transaction inside is a savepoint
        let mut inside = open.begin().await.expect("SAVEPOINT");
        execute!(inside, "UPDATE locked SET n = 13 WHERE id = ?", 1);
        inside.rollback().await.expect("ROLLBACK TO");
    }
    open.commit().await.expect("COMMIT");
    query(&mut other, "SELECT * FROM locked ORDER BY id").await;
    let mut open = pool
        .begin_with("START TRANSACTION READ ONLY")
        .await
        .expect("BEGIN");
    execute!(open, "UPDATE locked SET n = 14 WHERE id = ?", 1);
    open.rollback().await.expect("ROLLBACK");
    // what is dropped open is rolled back when its connection is used again
    let mut open = pool.begin().await.expect("BEGIN");
    execute!(open, "UPDATE locked SET n = 99 WHERE id = ?", 1);
    drop(open);
    query(&mut other, "SELECT n FROM locked WHERE id = 1 FOR UPDATE").await;
}

async fn kills(pool: &MySqlPool) {
    let mut victim = pool.acquire().await.expect("a connection");
    let id: u64 = sqlx::query_scalar("SELECT CONNECTION_ID()")
        .fetch_one(&mut *victim)
        .await
        .expect("an id");
    let mut killer = pool.acquire().await.expect("a connection");
    let kill = format!("KILL QUERY {id}");
    let ended = {
        let mut sleeping =
            std::pin::pin!(sqlx::raw_sql("SELECT SLEEP(25) FROM numbers").execute(&mut *victim));
        loop {
            tokio::select! {
                ended = &mut sleeping => break ended,
                () = tokio::time::sleep(Duration::from_millis(100)) => {
                    let _ = killer.execute(sqlx::raw_sql(&kill)).await;
                }
            }
        }
    };
    match ended {
        Ok(_) => out("killed query", "ended"),
        Err(error) => fail("killed query", &error),
    }
    query(&mut victim, "SELECT 'alive'").await;
    query(&mut killer, "KILL 4000000000").await;
}

async fn pooled(pool: &MySqlPool) {
    let asked = (0..40i64).map(|n| {
        let pool = pool.clone();
        tokio::spawn(async move {
            let sql = "SELECT ? + n FROM numbers WHERE n = ?";
            let value: Result<i64, _> = sqlx::query_scalar(sql)
                .bind(n)
                .bind(n)
                .fetch_one(&pool)
                .await;
            value.map_err(|e| e.to_string())
        })
    });
    for task in asked.collect::<Vec<_>>() {
        out("pool", task.await.expect("no panic"));
    }
}

async fn logins() {
    let (user, password, schema) = (env("DB_USER"), env("DB_PASSWORD"), env("DB_NAME"));
    for (user, password, schema) in [
        (&*user, "wrong", &*schema),
        ("nobody_here", "x", &*schema),
        (&*user, &*password, "no_such_database"),
    ] {
        match MySqlConnection::connect_with(&options(user, password, schema)).await {
            Ok(_) => out("login", "accepted"),
            Err(error) => fail("login", &error),
        }
    }
}

pub async fn run() {
    println!("##version 0.8.6");
    let pool = MySqlPoolOptions::new()
        .max_connections(5)
        .connect_lazy_with(own());
    let mut owned = MySqlConnection::connect_with(&own())
        .await
        .expect("a connection");
    let conn = &mut owned;
    query(conn, "SET time_zone = '+03:00'").await;
    for line in work() {
        match line {
            Line::Sync => sync(),
            // this driver does not know the answer to LOAD DATA LOCAL
            Line::Sql(sql) => query(conn, &sql).await,
        }
    }
    prepared(conn).await;
    large(conn).await;
    streams(conn).await;
    for sql in [
        "CALL two_results()",
        "SELECT 1; SELECT 2, 'b'; SELECT 3",
        "SELECT 1; SELECT no_such_column; SELECT 3",
        "SELECT 'goes on'",
    ] {
        query(conn, sql).await;
    }
    out("ping", conn.ping().await.map_err(|e| e.to_string()));
    transactions(&pool).await;
    kills(&pool).await;
    pooled(&pool).await;
    logins().await;
    sync();
    execute!(conn, "SELECT * FROM types WHERE id = ?", 1);
    streams(conn).await;
    owned.close().await.expect("COM_QUIT");
    pool.close().await;
}
