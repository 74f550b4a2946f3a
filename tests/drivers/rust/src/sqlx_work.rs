//! sqlx.
use crate::{bytes, env, out, statements, sync, Error};
use futures_util::TryStreamExt;
use sqlx::mysql::{MySqlConnectOptions, MySqlPoolOptions, MySqlRow, MySqlSslMode};
use sqlx::{Column, Connection, Either, Executor, MySqlConnection, Row, TypeInfo, ValueRef};

fn options() -> MySqlConnectOptions {
    MySqlConnectOptions::new()
        .host(&env("DB_HOST"))
        .port(env("DB_PORT").parse().unwrap_or(0))
        .username(&env("DB_USER"))
        .password(&env("DB_PASSWORD"))
        .database(&env("DB_NAME"))
        .ssl_mode(MySqlSslMode::Disabled)
}

/// Name, type and bytes of each value.
fn row(label: &str, row: &MySqlRow) {
    let mut text = format!("{label} row");
    for column in row.columns() {
        let value = row.try_get_raw(column.ordinal());
        let shown = match value {
            Err(e) => format!("error {e}"),
            Ok(value) if value.is_null() => "NULL".into(),
            Ok(value) => match value.type_info().name() {
                "BIGINT UNSIGNED" => format!("{:?}", row.try_get::<u64, _>(column.ordinal())),
                "BIGINT" | "INT" | "TINYINT" | "SMALLINT" | "MEDIUMINT" => format!("{:?}", row.try_get::<i64, _>(column.ordinal())),
                "DOUBLE" => format!("{:?}", row.try_get::<f64, _>(column.ordinal())),
                _ => row.try_get_unchecked::<Vec<u8>, _>(column.ordinal()).map_or_else(|e| e.to_string(), |b| bytes(&b)),
            },
        };
        text += &format!(" {}:{}={shown}", column.name(), column.type_info().name());
    }
    out(text);
}

async fn text(conn: &mut MySqlConnection, sql: &str) {
    let mut results = conn.fetch_many(sqlx::raw_sql(sql));
    loop {
        match results.try_next().await {
            Ok(Some(Either::Left(done))) => out(format!("{sql} count {} {}", done.rows_affected(), done.last_insert_id())),
            Ok(Some(Either::Right(found))) => row(sql, &found),
            Ok(None) => return,
            Err(e) => return out(format!("{sql} error {e}")),
        }
    }
}

async fn prepared(conn: &mut MySqlConnection) -> Result<(), Error> {
    for id in 1..4 {
        for found in sqlx::query("SELECT * FROM types WHERE id = ?").bind(id).fetch_all(&mut *conn).await? {
            row(&format!("prepared types {id}"), &found);
        }
    }
    let insert = "INSERT INTO items (name, n) VALUES (?, ?)";
    let done = sqlx::query(insert).bind("prepared 😀").bind(u64::MAX >> 1).execute(&mut *conn).await?;
    out(format!("prepared {} {}", done.rows_affected(), done.last_insert_id()));
    if let Err(e) = sqlx::query(insert).bind("prepared 😀").bind(1i8).execute(&mut *conn).await {
        out(format!("prepared error {e}"));
    }
    let done = sqlx::query("DELETE FROM items WHERE name = ?").bind("prepared 😀").execute(&mut *conn).await?;
    out(format!("prepared delete {}", done.rows_affected()));
    Ok(())
}

async fn streaming(conn: &mut MySqlConnection) -> Result<(), Error> {
    let mut rows = sqlx::query("SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n").fetch(conn);
    let mut sum = 0;
    while let Some(found) = rows.try_next().await? {
        sum += i64::from(found.try_get::<i32, _>(0)?) + found.try_get::<i64, _>(1)? + found.try_get::<String, _>(2)?.len() as i64;
    }
    out(format!("streamed {sum}"));
    Ok(())
}

pub async fn run() -> Result<(), Error> {
    out("##version 0.8");
    let mut conn = MySqlConnection::connect_with(&options()).await?;
    for statement in statements() {
        match statement {
            None => sync(),
            Some(sql) => text(&mut conn, &sql).await,
        }
    }
    prepared(&mut conn).await?;
    let data = vec![7u8; (17 << 20) + 5];
    sqlx::query("INSERT INTO big VALUES (1, ?)").bind(&data).execute(&mut conn).await?;
    let read: Vec<u8> = sqlx::query_scalar("SELECT data FROM big").fetch_one(&mut conn).await?;
    out(format!("big {}", read == data));
    streaming(&mut conn).await?;
    text(&mut conn, "CALL two_results()").await;
    let pool = MySqlPoolOptions::new().max_connections(3).connect_with(options()).await?;
    let mut tx = pool.begin().await?;
    text(&mut tx, "UPDATE locked SET n = 10 WHERE id = 1").await;
    text(&mut conn, "SELECT * FROM locked ORDER BY id").await;
    tx.rollback().await?;
    let mut tx = pool.begin().await?;
    let mut nested = tx.begin().await?;
    text(&mut nested, "UPDATE locked SET n = 12 WHERE id = 1").await;
    nested.rollback().await?;
    tx.commit().await?;
    text(&mut conn, "SELECT * FROM locked ORDER BY id").await;
    conn.ping().await?;
    sync();
    prepared(&mut conn).await?;
    streaming(&mut conn).await?;
    pool.close().await;
    conn.close().await?;
    Ok(())
}
