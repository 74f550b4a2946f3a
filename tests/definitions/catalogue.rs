//! information_schema, SHOW and DESCRIBE tell of sharded tables as if they were on one server: each once, under its own name,
//! with sums for figures.
use super::common::{needs, rows};
use super::world::{sharded, World};
use mysql::prelude::Queryable;
use mysql::{Conn, Row, Value};

/// What one server would answer in the same way. `app` has the tables of [`World`], two tied by a foreign key, a sharded and
/// a whole table of which nothing is on the user's own group, and a plain one; `other` is on another group.
const ALIKE: &[&str] = &[
    // as written by hand
    "SELECT TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY TABLE_NAME",
    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME = 't'",
    "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = SCHEMA() AND TABLE_NAME IN ('t', 'far', 'plain', 't_0')",
    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME LIKE 't%'",
    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_NAME LIKE 'far%'",
    "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN \
     ('mysql', 'sys', 'performance_schema', 'information_schema') ORDER BY 1, 2",
    "SELECT COUNT(*), COUNT(DISTINCT TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ('app', 'other')",
    "select table_name as n from INFORMATION_SCHEMA.tables as x where x.table_schema = database() and table_name like 't%' order by 1",
    "SELECT information_schema.tables.table_name AS n FROM information_schema.tables WHERE information_schema.tables.table_schema = \
     'app' AND tables.table_name < 'r' ORDER BY n",
    "SELECT tables.TABLE_NAME FROM information_schema.tables WHERE tables.TABLE_SCHEMA = 'other'",
    "SELECT 1 FROM information_schema.tables WHERE table_schema = 'app' AND table_name = 'missing' LIMIT 1",
    "SELECT 't' IN (SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app'), \
     't_0' IN (SELECT TABLE_NAME FROM information_schema.TABLES)",
    "SELECT EXISTS (SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME = 'far' AND COLUMN_NAME = 'id')",
    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app' UNION ALL SELECT COLUMN_NAME FROM \
     information_schema.COLUMNS WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME = 'u' ORDER BY 1",
    "WITH x AS (SELECT TABLE_NAME AS n FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app') SELECT COUNT(*), MAX(n) FROM x",
    "SELECT COUNT(*) FROM (SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app') AS d",
    "SELECT TABLE_NAME, COUNT(*) AS n FROM `information_schema`.`COLUMNS` WHERE TABLE_SCHEMA IN ('app') GROUP BY TABLE_NAME ORDER BY 1",
    "SELECT t.TABLE_NAME, c.COLUMN_NAME FROM information_schema.TABLES t JOIN information_schema.COLUMNS c USING (TABLE_SCHEMA, \
     TABLE_NAME) WHERE t.TABLE_SCHEMA = 'app' AND t.TABLE_TYPE = 'BASE TABLE' ORDER BY t.TABLE_NAME, c.ORDINAL_POSITION",
    "SELECT a.TABLE_NAME FROM information_schema.TABLES a, information_schema.TABLES b WHERE a.TABLE_SCHEMA = b.TABLE_SCHEMA AND \
     a.TABLE_NAME = b.TABLE_NAME AND b.TABLE_SCHEMA = 'app' ORDER BY 1",
    // SQLAlchemy, Django, ActiveRecord and the like
    "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'app' AND table_name = 't'",
    "SELECT table_schema AS table_schema, table_name AS table_name, column_name AS column_name FROM information_schema.columns WHERE \
     (table_schema, table_name, lower(column_name)) IN (('app', 't', 'id'), ('app', 'far', 'id')) ORDER BY 2",
    "SELECT column_name AS a, data_type AS b, character_maximum_length AS c, numeric_precision AS d, numeric_scale AS e, extra AS f, \
     column_default AS g, CASE WHEN collation_name = 'utf8mb4_general_ci' THEN NULL ELSE collation_name END AS h, \
     CASE WHEN column_type LIKE '%% unsigned' THEN 1 ELSE 0 END AS i, column_comment AS j FROM information_schema.columns WHERE \
     table_name = 't' AND table_schema = DATABASE() ORDER BY ordinal_position",
    "SELECT column_name AS c, referenced_table_name AS r, referenced_column_name AS k FROM information_schema.key_column_usage WHERE \
     table_name = 'c' AND table_schema = DATABASE() AND referenced_table_schema = DATABASE() AND referenced_table_name IS NOT NULL AND \
     referenced_column_name IS NOT NULL",
    "SELECT kc.constraint_name AS n, kc.column_name AS c, kc.referenced_table_name AS r, kc.referenced_column_name AS k, \
     tc.constraint_type AS t FROM information_schema.key_column_usage AS kc JOIN information_schema.table_constraints AS tc ON \
     tc.table_name = kc.table_name AND tc.table_schema = kc.table_schema AND kc.constraint_name = tc.constraint_name WHERE \
     kc.table_schema = DATABASE() AND kc.table_name = 'c' ORDER BY kc.constraint_name, kc.ordinal_position",
    "SELECT fk.referenced_table_name AS to_table, fk.referenced_column_name AS primary_key, fk.column_name AS col, \
     fk.constraint_name AS name, rc.update_rule AS on_update, rc.delete_rule AS on_delete FROM \
     information_schema.referential_constraints rc JOIN information_schema.key_column_usage fk USING (constraint_schema, \
     constraint_name) WHERE fk.referenced_column_name IS NOT NULL AND fk.table_schema = database() AND fk.table_name = 'c' AND \
     rc.constraint_schema = database() AND rc.table_name = 'c'",
    "SELECT index_name AS i, seq_in_index AS s, column_name AS c, non_unique AS u, table_name AS t FROM information_schema.statistics \
     WHERE table_schema = 'app' ORDER BY t, i, s",
    "SELECT k.column_name AS c FROM information_schema.key_column_usage k WHERE k.constraint_name = 'PRIMARY' AND k.table_schema = \
     'app' AND k.table_name = 'u' ORDER BY k.ordinal_position",
    "SELECT CONSTRAINT_NAME, TABLE_NAME, CONSTRAINT_TYPE FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = 'app' ORDER BY \
     1, 2, 3",
    "SELECT CONSTRAINT_NAME, UNIQUE_CONSTRAINT_NAME, TABLE_NAME, REFERENCED_TABLE_NAME, DELETE_RULE FROM \
     information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'app'",
    "SELECT CONSTRAINT_SCHEMA, CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = 'app'",
    "SELECT TABLE_NAME, VIEW_DEFINITION IS NOT NULL FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'app'",
    "SELECT TABLE_NAME, PARTITION_NAME, SUBPARTITION_NAME FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'app' ORDER BY 1",
    "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'app'",
    // JDBC's getTables, getColumns, getPrimaryKeys
    "SELECT TABLE_SCHEMA AS TABLE_CAT, NULL AS TABLE_SCHEM, TABLE_NAME, CASE WHEN TABLE_TYPE='BASE TABLE' THEN CASE WHEN TABLE_SCHEMA = \
     'mysql' OR TABLE_SCHEMA = 'performance_schema' THEN 'SYSTEM TABLE' ELSE 'TABLE' END WHEN TABLE_TYPE='TEMPORARY' THEN \
     'LOCAL_TEMPORARY' ELSE TABLE_TYPE END AS TABLE_TYPE, TABLE_COMMENT AS REMARKS FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = \
     'app' HAVING TABLE_TYPE IN ('TABLE','VIEW') ORDER BY TABLE_TYPE, TABLE_SCHEMA, TABLE_NAME",
    "SELECT TABLE_SCHEMA AS TABLE_CAT, NULL AS TABLE_SCHEM, TABLE_NAME, COLUMN_NAME, CASE UPPER(DATA_TYPE) WHEN 'DECIMAL' THEN 3 WHEN \
     'INT' THEN 4 ELSE 12 END AS DATA_TYPE, UPPER(DATA_TYPE) AS TYPE_NAME, CASE WHEN CHARACTER_MAXIMUM_LENGTH IS NULL THEN \
     NUMERIC_PRECISION ELSE CHARACTER_MAXIMUM_LENGTH END AS COLUMN_SIZE, IF(EXTRA LIKE '%auto_increment%', 'YES', 'NO') AS \
     IS_AUTOINCREMENT, ORDINAL_POSITION, IS_NULLABLE FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME LIKE \
     'f%' ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION",
    "SELECT TABLE_NAME, COLUMN_NAME, SEQ_IN_INDEX AS KEY_SEQ, 'PRIMARY' AS PK_NAME FROM INFORMATION_SCHEMA.STATISTICS WHERE \
     TABLE_SCHEMA = 'app' AND TABLE_NAME = 'r' AND INDEX_NAME='PRIMARY' ORDER BY COLUMN_NAME, SEQ_IN_INDEX",
    // DBeaver, phpMyAdmin, mysqldump
    "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'app' ORDER BY \
     TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION",
    "SELECT `TABLE_NAME` AS `Name`, `TABLE_TYPE` AS `TABLE_TYPE`, `ENGINE` AS `Engine`, `ENGINE` AS `Type`, `TABLE_COLLATION` AS \
     `Collation`, `TABLE_COMMENT` AS `Comment` FROM `information_schema`.`TABLES` t WHERE `TABLE_SCHEMA` IN ('app') ORDER BY Name ASC \
     LIMIT 250 OFFSET 0",
    "SELECT ENGINE FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'far'",
    "SELECT /*!40001 SQL_NO_CACHE */ table_name AS n FROM information_schema.tables WHERE table_schema = 'app' AND table_name = 'u'",
    "SHOW TABLES",
    "SHOW TABLES LIKE 'f%'",
    "SHOW TABLES FROM other",
    "SHOW TABLES WHERE Tables_in_app < 'd'",
    "SHOW FULL TABLES",
    "SHOW FULL TABLES FROM `app` WHERE Table_type = 'BASE TABLE'",
    "SHOW COLUMNS FROM t",
    "SHOW FULL COLUMNS FROM `far` FROM `app` LIKE '%'",
    "SHOW FIELDS FROM app.u WHERE Field = 'k'",
    "DESCRIBE r",
    "DESC app.placed id",
    "EXPLAIN far",
    "SHOW CREATE TABLE t",
    "SHOW CREATE TABLE app.c",
    "SHOW CREATE TABLE far",
    "SHOW TRIGGERS",
    "SHOW FULL TRIGGERS LIKE 'c%'",
];

/// Of these the first so many columns are alike; the others are each server's own figures.
const ALIKE_BEGINNING: &[(&str, usize)] = &[
    ("SHOW TABLE STATUS", 4),
    ("SHOW TABLE STATUS LIKE 'u'", 4),
    ("SHOW TABLE STATUS FROM app WHERE Name IN ('t', 'far', 'b')", 4),
    ("SHOW TABLE STATUS FROM other", 4),
    ("SHOW INDEX FROM t", 5),
    ("SHOW KEYS FROM far FROM app", 5),
    ("SELECT TABLE_SCHEMA, TABLE_NAME, t.* FROM information_schema.TABLES t WHERE TABLE_SCHEMA = 'app' ORDER BY 2", 7),
    ("SELECT TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, CARDINALITY FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'app' ORDER BY 1, 2, 3", 3),
    ("SELECT TABLE_NAME, PARTITION_ORDINAL_POSITION, TABLE_ROWS FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'app' ORDER BY 1", 2),
];

const FOREIGN: &str = "id INT NOT NULL PRIMARY KEY, v INT, CHECK (v > 0)";

fn rules() -> String {
    let far = "\n[[table]]\nname = \"app.far\"\nkey = \"id\"\nmethod = \"hash\"\n\
               shards = [{ group = \"second\", table = \"far_0\" }, { group = \"second\", table = \"far_1\" }]\n\
               [[table]]\nname = \"app.placed\"\ngroup = \"second\"\n\
               [[database]]\nname = \"other\"\ngroup = \"second\"\n";
    format!(
        "{}{}{far}",
        sharded("p", "id", "hash"),
        sharded("c", "id", "hash")
    )
}

/// The further tables, past the proxy.
fn fill(world: &World) {
    const PLAIN: usize = 2;
    world.create_table("p", "id INT NOT NULL PRIMARY KEY", true);
    for at in 0..3 {
        let pairs = match at {
            PLAIN => vec![("c".to_owned(), "p".to_owned())],
            _ => [2 * at, 2 * at + 1]
                .map(|n| (format!("c_{n}"), format!("p_{n}")))
                .to_vec(),
        };
        for (child, parent) in pairs {
            let create = format!(
                "CREATE TABLE {child} ({FOREIGN}, FOREIGN KEY (id) REFERENCES {parent} (id) ON DELETE CASCADE) ENGINE=InnoDB"
            );
            world.run_on(at, &create);
        }
    }
    let far = "(id INT NOT NULL PRIMARY KEY, name VARCHAR(20))";
    for (at, table) in [
        (1, "far_0"),
        (1, "far_1"),
        (2, "far"),
        (1, "placed"),
        (2, "placed"),
        (0, "plain"),
        (2, "plain"),
    ] {
        world.run_on(at, &format!("CREATE TABLE {table} {far} ENGINE=InnoDB"));
    }
    for at in 0..3 {
        world.run_on(at, "CREATE DATABASE IF NOT EXISTS other");
        world.run_on(at, "GRANT ALL ON other.* TO 'app'@'%'");
    }
    for at in [1, 2] {
        world.run_on(at, "CREATE TABLE other.elsewhere (id INT) ENGINE=InnoDB");
    }
    // what a table's move to its shards has left
    world.run_on(0, "CREATE TABLE far (old INT) ENGINE=InnoDB");
}

type Answer = (Vec<String>, Vec<Vec<String>>);

/// The columns' names, and the rows as text.
fn answer(client: &mut Conn, sql: &str, prepared: bool) -> mysql::Result<Answer> {
    let mut names = Vec::new();
    let rows: Vec<Row> = match prepared {
        true => {
            let mut result = client.exec_iter(sql, ())?;
            let columns = result.columns();
            names.extend(columns.as_ref().iter().map(|c| c.name_str().into_owned()));
            result.by_ref().collect::<Result<_, _>>()?
        }
        false => {
            let mut result = client.query_iter(sql)?;
            let columns = result.columns();
            names.extend(columns.as_ref().iter().map(|c| c.name_str().into_owned()));
            result.by_ref().collect::<Result<_, _>>()?
        }
    };
    let text = |value: Value| match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(true),
    };
    let rows = rows
        .into_iter()
        .map(|row| row.unwrap().into_iter().map(text).collect());
    Ok((names, rows.collect()))
}

/// What differs between the two, in the first so many columns.
fn difference(clients: &mut [Conn; 2], sql: &str, alike: usize, prepared: bool) -> Option<String> {
    let [client, direct] = clients;
    // some servers prepare less than others
    if prepared && direct.prep(sql).is_err() {
        return None;
    }
    let first = |(names, rows): Answer| -> Answer {
        let row = |row: Vec<String>| row.into_iter().take(alike).collect();
        (names, rows.into_iter().map(row).collect())
    };
    let theirs = answer(direct, sql, prepared)
        .map(first)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    match answer(client, sql, prepared).map(first) {
        Ok(ours) if ours == theirs => None,
        Ok(ours) => Some(format!(
            "{sql}\n  prepared: {prepared}\n  {ours:?}\n  {theirs:?}\n"
        )),
        Err(error) => Some(format!("{sql}\n  prepared: {prepared}\n  {error}\n")),
    }
}

fn check(world: &World) {
    fill(world);
    let mut clients = [world.umpire(), world.direct()];
    let mut differences = Vec::new();
    let whole = ALIKE.iter().map(|sql| (*sql, usize::MAX));
    for (sql, alike) in whole.chain(ALIKE_BEGINNING.iter().copied()) {
        for prepared in [false, true] {
            differences.extend(difference(&mut clients, sql, alike, prepared));
        }
    }
    assert!(differences.is_empty(), "{}", differences.concat());
    parameters(&mut clients);
    let [client, _] = &mut clients;
    figures(world, client);
    refusals(client);
    for conn in &mut clients {
        conn.query_drop("USE information_schema")
            .expect("it is there");
    }
    for sql in [
        "SELECT TABLE_NAME FROM TABLES WHERE TABLE_SCHEMA = 'app' ORDER BY TABLE_NAME",
        "SELECT TABLES.TABLE_NAME FROM TABLES JOIN columns c USING (TABLE_SCHEMA, TABLE_NAME) WHERE c.TABLE_SCHEMA = 'app' ORDER BY 1",
        "SHOW TABLES FROM app",
    ] {
        assert_eq!(difference(&mut clients, sql, usize::MAX, false), None);
    }
}

fn parameters([client, direct]: &mut [Conn; 2]) {
    let sql = "SELECT column_name AS c FROM information_schema.columns WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position";
    for table in ["u", "far", "plain", "u_1", "missing"] {
        let names = |client: &mut Conn| -> Vec<String> {
            let names = client.exec(sql, ("app", table));
            names.unwrap_or_else(|error| panic!("{sql}: {error}"))
        };
        assert_eq!(names(client), names(direct), "{table}");
    }
}

/// Sums are those of all shards, copies count once.
fn figures(world: &World, client: &mut Conn) {
    let values: Vec<String> = (0..200).map(|n| format!("({n}, {n}, 'x')")).collect();
    client
        .query_drop(format!(
            "INSERT INTO u (id, k, name) VALUES {}",
            values.join(", ")
        ))
        .expect("inserted");
    client
        .query_drop("INSERT INTO b VALUES (1, 'a'), (2, 'b')")
        .expect("inserted");
    for at in 0..2 {
        for n in [2 * at, 2 * at + 1] {
            world.run_on(at, &format!("ANALYZE TABLE u_{n}"));
        }
        world.run_on(at, "ANALYZE TABLE b");
    }
    let sums = "SELECT CONCAT_WS(',', SUM(TABLE_ROWS), SUM(DATA_LENGTH), SUM(INDEX_LENGTH)) FROM information_schema.TABLES WHERE \
                TABLE_SCHEMA = 'app' AND TABLE_NAME";
    let numbers = |text: &str| -> Vec<u64> {
        let numbers = text.split(',').map(|number| number.parse());
        numbers.collect::<Result<_, _>>().expect("numbers")
    };
    let groups = world.ask_groups(&format!("{sums} LIKE 'u\\_%'"));
    let groups: Vec<Vec<u64>> = groups.iter().map(|text| numbers(text)).collect();
    let total: Vec<u64> = groups[0]
        .iter()
        .zip(&groups[1])
        .map(|(a, b)| a + b)
        .collect();
    assert_eq!(total[0], 200, "the servers know how many there are");
    let ours = rows(client, &format!("{sums} = 'u'"));
    assert_eq!(numbers(&ours[0][0]), total);
    let status = rows(client, "SHOW TABLE STATUS LIKE 'u'");
    let [count, bytes, index] =
        [4, 6, 8].map(|at: usize| status[0][at].parse::<u64>().expect("a number"));
    assert_eq!(vec![count, bytes, index], total);
    assert_eq!(status[0][5], (bytes / count).to_string(), "bytes a row");
    let copies = rows(client, &format!("{sums} = 'b'"));
    assert_eq!(numbers(&copies[0][0])[0], 2);
    let partitions = "SELECT SUM(TABLE_ROWS) FROM information_schema.PARTITIONS WHERE TABLE_SCHEMA = 'app' AND TABLE_NAME = 'u'";
    assert_eq!(rows(client, partitions), [["200"]]);
}

/// What cannot be right says what to do.
fn refusals(client: &mut Conn) {
    for (sql, why) in [
        (
            "SELECT COUNT(*) FROM t JOIN information_schema.TABLES x ON x.TABLE_NAME = t.s",
            "ask it on its own",
        ),
        (
            "CREATE TABLE plain2 AS SELECT TABLE_NAME FROM information_schema.TABLES",
            "SELECT from it alone",
        ),
        (
            "SET @n = (SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_NAME = 't')",
            "SELECT from it alone",
        ),
        (
            "SELECT TABLE_NAME, DATA_LENGTH INTO @a, @b FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'app' LIMIT 1",
            "SELECT from it alone",
        ),
    ] {
        let error = client.query_drop(sql).expect_err(sql);
        assert!(error.to_string().contains(why), "{sql}: {error}");
    }
}

#[test]
fn a_sharded_table_is_in_information_schema_once() {
    needs!(the_proxy);
    check(&World::with(&rules()));
}

#[test]
fn a_sharded_table_is_in_mysqls_information_schema_once() {
    needs!(the_proxy);
    if let Some(world) = World::mysql_with(&rules()) {
        check(&world);
    }
}
