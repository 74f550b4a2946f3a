//! mysql_async.
use crate::{env, out, port, sync, work, Line};
use mysql_async::prelude::{Protocol, Queryable};
use mysql_async::{
    ChangeUserOpts, Conn, Error, IsolationLevel, Opts, OptsBuilder, Params, Pool, PoolConstraints,
    PoolOpts, QueryResult, Row, TxOpts, Value, WhiteListFsHandler,
};
use std::time::Duration;

fn options(user: &str, password: &str, schema: &str) -> OptsBuilder {
    OptsBuilder::default()
        .ip_or_hostname(env("DB_HOST"))
        .tcp_port(port())
        .user(Some(user))
        .pass(Some(password))
        .db_name(Some(schema))
        .prefer_socket(false)
        .max_allowed_packet(Some(64 << 20))
        .local_infile_handler(Some(WhiteListFsHandler::new([env("LOAD")])))
}

fn own() -> OptsBuilder {
    options(&env("DB_USER"), &env("DB_PASSWORD"), &env("DB_NAME"))
}

fn fail(label: &str, error: &Error) {
    match error {
        Error::Server(error) => out(label, (error.code, &error.state, &error.message)),
        other => out(label, other.to_string()),
    }
}

/// Every result of a statement: columns, rows, counts.
async fn show<P: Protocol>(label: &str, result: Result<QueryResult<'_, '_, P>, Error>) {
    let mut result = match result {
        Ok(result) => result,
        Err(error) => return fail(label, &error),
    };
    loop {
        for column in result.columns_ref() {
            let (kind, flags) = (column.column_type(), column.flags());
            let of = (
                column.schema_str(),
                column.table_str(),
                column.org_name_str(),
            );
            let size = (
                column.column_length(),
                column.decimals(),
                column.character_set(),
            );
            out(label, ("column", column.name_str(), of, kind, flags, size));
        }
        match result.collect::<Row>().await {
            Ok(rows) => rows.into_iter().for_each(|row| out(label, row.unwrap())),
            Err(error) => return fail(label, &error),
        }
        let counts = (
            result.affected_rows(),
            result.last_insert_id(),
            result.warnings(),
        );
        out(label, ("counts", counts, result.info()));
        if result.is_empty() {
            return;
        }
    }
}

async fn query(conn: &mut Conn, sql: &str) {
    let result = conn.query_iter(sql).await;
    show(sql, result).await;
}

async fn execute(conn: &mut Conn, sql: &str, values: Vec<Value>) {
    let label = format!("{sql} {values:?}");
    let result = conn.exec_iter(sql, Params::Positional(values)).await;
    show(&label, result).await;
}

async fn prepared(conn: &mut Conn) {
    let values = [
        Value::from(5),
        Value::from("five 😀"),
        Value::NULL,
        Value::from(5.5),
        Value::from(vec![0u8, 255]),
        Value::from(i64::MIN),
        Value::from(true),
        Value::Date(2024, 2, 29, 1, 2, 3, 4567),
        Value::Time(true, 1, 2, 3, 4, 5),
        Value::from((1u64 << 63) + 1),
    ];
    for value in values {
        let sql = "SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id";
        execute(conn, sql, vec![value]).await;
    }
    for id in 1..4 {
        execute(conn, "SELECT * FROM types WHERE id = ?", vec![id.into()]).await;
    }
    for _ in 0..2 {
        let row = vec!["prepared".into(), 1.into()];
        execute(conn, "INSERT INTO items (name, n) VALUES (?, ?)", row).await;
    }
    execute(
        conn,
        "DELETE FROM items WHERE name = ?",
        vec!["prepared".into()],
    )
    .await;
    let batch = (0..3).map(|n| (format!("batch {n}"), n));
    let done = conn
        .exec_batch("INSERT INTO items (name, n) VALUES (?, ?)", batch)
        .await;
    out(
        "batch",
        (done.map_err(|e| e.to_string()), conn.affected_rows()),
    );
    query(conn, "DELETE FROM items WHERE name LIKE 'batch %'").await;
}

async fn streams(conn: &mut Conn) {
    let sql = "SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n";
    let folded = conn.query_fold(sql, 0i64, |sum, (n, square, text): (i64, i64, String)| {
        sum + n + square + text.len() as i64
    });
    out("streamed", folded.await.map_err(|e| e.to_string()));
}

async fn large(conn: &mut Conn) {
    let data = [b"abcdefgh".repeat(17 << 17), b"tail".to_vec()].concat();
    execute(
        conn,
        "INSERT INTO big VALUES (1, ?)",
        vec![data.clone().into()],
    )
    .await;
    let read: Result<Option<Vec<u8>>, _> = conn.query_first("SELECT data FROM big").await;
    out(
        "large",
        read.map(|read| read == Some(data))
            .map_err(|e| e.to_string()),
    );
}

async fn transactions(pool: &Pool) {
    let mut other = pool.get_conn().await.expect("a connection");
    let mut isolated = TxOpts::default();
    isolated.with_isolation_level(IsolationLevel::RepeatableRead);
    let mut open = pool.start_transaction(isolated).await.expect("BEGIN");
    let updated = open
        .query_drop("UPDATE locked SET n = 10 WHERE id = 1")
        .await;
    out("update", updated.map_err(|e| e.to_string()));
    query(&mut other, "SET innodb_lock_wait_timeout = 1").await;
    query(&mut other, "UPDATE locked SET n = 11 WHERE id = 1").await;
    open.rollback().await.expect("ROLLBACK");
    let mut open = pool
        .start_transaction(TxOpts::default())
        .await
        .expect("BEGIN");
    open.query_drop("UPDATE locked SET n = 12 WHERE id = 1")
        .await
        .expect("UPDATE");
    open.commit().await.expect("COMMIT");
    query(&mut other, "SELECT * FROM locked ORDER BY id").await;
    let mut reading = TxOpts::default();
    reading.with_readonly(Some(true));
    let mut open = pool.start_transaction(reading).await.expect("BEGIN");
    match open
        .query_drop("UPDATE locked SET n = 13 WHERE id = 1")
        .await
    {
        Ok(()) => out("read only", "written"),
        Err(error) => fail("read only", &error),
    }
    open.rollback().await.expect("ROLLBACK");
    // what a transaction leaves behind when it is dropped is rolled back by the pool
    let mut open = pool
        .start_transaction(TxOpts::default())
        .await
        .expect("BEGIN");
    open.query_drop("UPDATE locked SET n = 99 WHERE id = 1")
        .await
        .expect("UPDATE");
    drop(open);
    query(&mut other, "SELECT n FROM locked WHERE id = 1 FOR UPDATE").await;
}

async fn kills(pool: &Pool) {
    let mut victim = pool.get_conn().await.expect("a connection");
    let id = victim.id();
    let same: Result<Option<u32>, _> = victim.query_first("SELECT CONNECTION_ID()").await;
    out(
        "id",
        same.map(|shown| shown == Some(id))
            .map_err(|e| e.to_string()),
    );
    let sleeping = tokio::spawn(async move {
        let ended = victim.query_drop("SELECT SLEEP(25) FROM numbers").await;
        (ended, victim)
    });
    let mut killer = pool.get_conn().await.expect("a connection");
    while !sleeping.is_finished() {
        let _ = killer.query_drop(format!("KILL QUERY {id}")).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let (ended, mut victim) = sleeping.await.expect("no panic");
    match ended {
        Ok(()) => out("killed query", "ended"),
        Err(error) => fail("killed query", &error),
    }
    query(&mut victim, "SELECT 'alive'").await;
    query(&mut killer, "KILL 4000000000").await;
}

async fn pooled(pool: &Pool) {
    let asked = (0..40u32).map(|n| {
        let pool = pool.clone();
        tokio::spawn(async move {
            let mut conn = pool.get_conn().await.map_err(|e| e.to_string())?;
            let sql = "SELECT ? + n FROM numbers WHERE n = ?";
            let value: Result<Option<u32>, _> = conn.exec_first(sql, (n, n)).await;
            value.map_err(|e| e.to_string())
        })
    });
    for task in asked.collect::<Vec<_>>() {
        out("pool", task.await.expect("no panic"));
    }
}

async fn sessions(conn: &mut Conn) {
    query(conn, "SET @left = 5").await;
    out("reset", conn.reset().await.map_err(|e| e.to_string()));
    query(conn, "SELECT @left IS NULL, DATABASE()").await;
    query(conn, "SET @left = 6").await;
    let changed = conn.change_user(ChangeUserOpts::default()).await;
    out("change user", changed.map_err(|e| e.to_string()));
    query(conn, "SELECT @left IS NULL, DATABASE(), CURRENT_USER()").await;
}

async fn logins() {
    let (user, password, schema) = (env("DB_USER"), env("DB_PASSWORD"), env("DB_NAME"));
    for (user, password, schema) in [
        (&*user, "wrong", &*schema),
        ("nobody_here", "x", &*schema),
        (&*user, &*password, "no_such_database"),
    ] {
        match Conn::new(options(user, password, schema)).await {
            Ok(_) => out("login", "accepted"),
            Err(error) => fail("login", &error),
        }
    }
}

pub async fn run() {
    println!("##version 0.36.2");
    let constraints = PoolConstraints::new(0, 5).expect("in order");
    let pool_opts = PoolOpts::default().with_constraints(constraints);
    let pool = Pool::new(Opts::from(own().pool_opts(pool_opts)));
    let mut conn = Conn::new(own()).await.expect("a connection");
    query(&mut conn, "SET time_zone = '+03:00'").await;
    for line in work() {
        match line {
            Line::Sync => sync(),
            Line::Sql(sql) => query(&mut conn, &sql).await,
        }
    }
    prepared(&mut conn).await;
    large(&mut conn).await;
    streams(&mut conn).await;
    for sql in [
        "CALL two_results()",
        "SELECT 1; SELECT 2, 'b'; SELECT 3",
        "SELECT 1; SELECT no_such_column; SELECT 3",
        "SELECT 'goes on'",
    ] {
        query(&mut conn, sql).await;
    }
    let load = format!(
        "LOAD DATA LOCAL INFILE '{}' INTO TABLE loaded FIELDS TERMINATED BY ','",
        env("LOAD")
    );
    query(&mut conn, &load).await;
    query(&mut conn, "SELECT * FROM loaded ORDER BY a").await;
    sessions(&mut conn).await;
    transactions(&pool).await;
    kills(&pool).await;
    pooled(&pool).await;
    logins().await;
    sync();
    execute(
        &mut conn,
        "SELECT * FROM types WHERE id = ?",
        vec![1.into()],
    )
    .await;
    streams(&mut conn).await;
    conn.disconnect().await.expect("COM_QUIT");
    pool.disconnect().await.expect("COM_QUIT");
}
