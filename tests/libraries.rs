//! Libraries: whose statements run where, for ever; and what a session leaves behind when it changes its library.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::proxy::ProxyConfig;
use common::several::Servers;
use common::{code, needs, rows, scalar, try_rows, wait_until, Cluster, Proxy};
use common::{Login, RawClient};
use mysql::prelude::Queryable;
use mysql::Conn;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write;
use tempfile::TempDir;

/// Servers of the libraries main (two), second and third.
const NAMES: [&str; 4] = ["main", "main-next", "second", "third"];

struct World {
    servers: Servers,
    proxy: Proxy,
    config: ProxyConfig,
    store: TempDir,
}

impl World {
    fn mariadb() -> World {
        let clusters = std::thread::scope(|scope| {
            let start = |_| scope.spawn(|| Cluster::start(0));
            let starting: Vec<_> = NAMES.iter().map(start).collect();
            let started = starting.into_iter().map(|t| t.join().expect("a server"));
            started.collect()
        });
        World::on(Servers::MariaDb(clusters))
    }

    fn mysql() -> Option<World> {
        Some(World::on(Servers::MySql(MysqlPair::apart(NAMES.len())?)))
    }

    fn on(servers: Servers) -> World {
        for (at, name) in NAMES.iter().enumerate() {
            let insert = format!("INSERT INTO whoami VALUES ('{name}')");
            servers.run(
                at,
                &[
                    "USE app",
                    "CREATE TABLE whoami (name VARCHAR(20))",
                    "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, x INT)",
                    &insert,
                ],
            );
        }
        let store = tempfile::tempdir().expect("a folder");
        let ports = [servers.port(0), servers.port(1)];
        let mut config = ProxyConfig::for_ports(vec![(ports[0], "primary"), (ports[1], "replica")]);
        config.split = false;
        // a server that gets no processor for a while is not dead
        config.monitor_interval_ms = 500;
        config.more = format!(
            "[coordination]\nstore = \"file:{}\"\n[[library]]\nname = \"main\"\n{}",
            store.path().display(),
            library("second", servers.port(2)),
        );
        World {
            proxy: config.start(),
            servers,
            config,
            store,
        }
    }

    fn client(&self) -> Conn {
        self.proxy.client()
    }

    /// Where an object's statements run.
    fn home(&self, object: &str) -> String {
        let mut client = self.client();
        query(&mut client, &format!("SELECT LIBRARY '{object}'"));
        whoami(&mut client)
    }

    /// An object of this library.
    fn object_of(&self, library: &str) -> String {
        let mut objects = (0..200).map(|n| format!("{library}{n}"));
        let found = objects.find(|object| self.home(object) == library);
        found.expect("one of them")
    }

    fn kill_and_start(&mut self) {
        self.proxy.signal("KILL");
        wait_until("the proxy is dead", || !self.proxy.is_alive());
        self.proxy = self.config.start();
    }
}

fn library(name: &str, port: u16) -> String {
    format!(
        "[[library]]\nname = \"{name}\"\n[[group]]\nname = \"{name}\"\nread_write_split = false\n\
         servers = [{{ address = \"127.0.0.1:{port}\", role = \"primary\" }}]\n\
         monitor = {{ user = \"monitor\", password = \"monitorpw\", interval_ms = 500 }}\n"
    )
}

fn query(client: &mut Conn, sql: &str) {
    client
        .query_drop(sql)
        .unwrap_or_else(|e| panic!("{sql}: {e}"));
}

fn refused(client: &mut Conn, sql: &str, words: &str) -> u16 {
    let error = client.query_drop(sql).expect_err(sql);
    assert!(error.to_string().contains(words), "{sql}: {error}");
    code(&error)
}

fn whoami(client: &mut Conn) -> String {
    scalar(client, "SELECT name FROM whoami")
}

fn before_a_library_is_selected(world: &World) {
    let mut client = world.client();
    for sql in [
        "SELECT @@version_comment LIMIT 1",
        "SET NAMES utf8mb4",
        "SET autocommit=0",
        "SET SESSION sql_mode='STRICT_TRANS_TABLES', @a = 5",
        "SELECT @@session.auto_increment_increment AS i, @@character_set_client AS c",
        "SHOW VARIABLES LIKE 'lower_case%'",
        "SELECT DATABASE(), USER(), VERSION(), CONNECTION_ID()",
        "USE app",
        "SHOW WARNINGS",
        "ROLLBACK",
        "SET autocommit=1",
        "EXPLAIN ROUTE SELECT 1",
    ] {
        query(&mut client, sql);
    }
    for sql in [
        "SELECT * FROM whoami",
        "INSERT INTO t (x) VALUES (1)",
        "UPDATE t SET x = 1",
        "CREATE TABLE n (i INT)",
        "CREATE TEMPORARY TABLE n (i INT)",
        "DROP TABLE t",
        "BEGIN",
        "LOCK TABLES t READ",
        "SELECT GET_LOCK('l', 1)",
        "SELECT (SELECT COUNT(*) FROM t)",
        "CALL p()",
        "SET @x = (SELECT COUNT(*) FROM t)",
        "PREPARE s FROM 'SELECT 1'",
        "TRUNCATE t",
        "SELECT 1; DELETE FROM t",
    ] {
        assert_eq!(
            refused(&mut client, sql, "No library selected"),
            1046,
            "{sql}"
        );
    }
    let prepared = client.prep("SELECT * FROM whoami").expect_err("no library");
    assert_eq!(code(&prepared), 1046);
    refused(&mut client, "SELECT LIBRARY", "command too short");
    refused(&mut client, "SELECT LIBRARY a b", "too many names");
    refused(&mut client, "SELECT LIBRARY a; SELECT 1", "sent alone");
    refused(&mut client, "SELECT 1; SELECT LIBRARY a", "sent alone");
    let long = "x".repeat(256);
    refused(&mut client, &format!("SELECT LIBRARY {long}"), "256 bytes");
    query(&mut client, &format!("SELECT LIBRARY {}", &long[1..]));
    let prepared = client
        .prep("SELECT LIBRARY 'x'")
        .expect_err("not preparable");
    assert!(
        prepared.to_string().contains("cannot be prepared"),
        "{prepared}"
    );
    refused(
        &mut client,
        "PREPARE s FROM 'select library x'",
        "cannot be prepared",
    );
    // a reset session has none
    client.reset().expect("reset");
    refused(&mut client, "SELECT * FROM whoami", "No library selected");
    let mut raw = RawClient::login(world.proxy.port, &Login::default()).expect("logged in");
    assert_eq!(
        raw.command(0x05, b"x").expect("an answer").code(),
        1046,
        "COM_CREATE_DB"
    );
}

fn spellings_of_one_object(world: &World) {
    let home = world.home("Cäsar 7");
    for sql in [
        "select library 'Cäsar 7';",
        "/* c */ SeLeCt\n LIBRARY \"Cäsar 7\" -- end",
        "SELECT library `Cäsar 7` ; ",
    ] {
        let mut client = world.client();
        query(&mut client, sql);
        assert_eq!(whoami(&mut client), home, "{sql}");
    }
}

fn a_switch_leaves_nothing_behind(world: &World) {
    let (here, there) = (world.object_of("main"), world.object_of("second"));
    let to = |client: &mut Conn, object: &str| query(client, &format!("select library {object}"));
    let mut client = world.client();
    to(&mut client, &here);
    let select = client.prep("SELECT name, ? FROM whoami").expect("prepared");
    let name = |client: &mut Conn| -> (String, i32) {
        let row = client.exec_first(&select, (5,)).expect("executed");
        row.expect("a row")
    };
    assert_eq!(name(&mut client), ("main".into(), 5));
    query(
        &mut client,
        "SET @literal = 'kept', sql_mode = 'ANSI_QUOTES'",
    );
    query(&mut client, "CREATE TEMPORARY TABLE mine (i INT)");
    assert_eq!(scalar(&mut client, "SELECT GET_LOCK('library', 5)"), "1");
    query(&mut client, "SELECT 1 + 1 INTO @computed");
    query(&mut client, "PREPARE s FROM 'SELECT 1'");
    // not in a transaction
    query(&mut client, "BEGIN");
    query(&mut client, "INSERT INTO t (x) VALUES (2)");
    refused(
        &mut client,
        &format!("select library {there}"),
        "a transaction is open",
    );
    query(&mut client, &format!("select library {here}"));
    assert_eq!(
        scalar(&mut client, "SELECT COUNT(*) FROM t WHERE x = 2"),
        "1"
    );
    query(&mut client, "ROLLBACK");
    query(&mut client, "INSERT INTO t (x) VALUES (1)");
    let inserted = scalar(&mut client, "SELECT LAST_INSERT_ID()");
    to(&mut client, &there);
    assert_eq!(name(&mut client), ("second".into(), 5), "prepared anew");
    assert_eq!(scalar(&mut client, "SELECT @literal"), "kept");
    assert_eq!(scalar(&mut client, "SELECT @@sql_mode"), "ANSI_QUOTES");
    assert_eq!(scalar(&mut client, "SELECT LAST_INSERT_ID()"), inserted);
    assert_eq!(scalar(&mut client, "SELECT @computed IS NULL"), "1");
    assert!(try_rows(&mut client, "SELECT * FROM mine").is_err());
    assert!(client.query_drop("EXECUTE s").is_err());
    // whoever gets the connections of the library that was left
    for _ in 0..6 {
        let mut next = world.client();
        to(&mut next, &here);
        wait_until("the lock goes with its connection", || {
            scalar(&mut next, "SELECT IS_FREE_LOCK('library')") == "1"
        });
        assert!(try_rows(&mut next, "SELECT * FROM mine").is_err());
        assert_eq!(
            scalar(&mut next, "SELECT @computed IS NULL AND @literal IS NULL"),
            "1"
        );
        assert!(next.query_drop("EXECUTE s").is_err());
        assert_eq!(scalar(&mut next, "SELECT COUNT(*) FROM t WHERE x = 2"), "0");
    }
    // and back
    to(&mut client, &here);
    assert_eq!(name(&mut client), ("main".into(), 5));
    // what is meant for the next transaction has none there
    query(&mut client, "SET TRANSACTION READ ONLY");
    refused(
        &mut client,
        &format!("select library {there}"),
        "cannot go along",
    );
    query(&mut client, "BEGIN");
    query(&mut client, "COMMIT");
    // autocommit = 0: open once a table is used
    query(&mut client, "SET autocommit = 0");
    to(&mut client, &there);
    assert_eq!(whoami(&mut client), "second");
    refused(
        &mut client,
        &format!("select library {here}"),
        "a transaction is open",
    );
    query(&mut client, "COMMIT");
    to(&mut client, &here);
    assert_eq!(whoami(&mut client), "main");
}

fn related_objects(world: &World) {
    let (here, there) = (world.object_of("main"), world.object_of("second"));
    let mut client = world.client();
    let relate = |core: &str| format!("set correl_object mail 'a b@c' {core};");
    refused(
        &mut client,
        "SELECT library_by_correl_object mail 'a b@c'",
        "is not known",
    );
    refused(
        &mut client,
        &relate("'nobody'"),
        "belongs to no library yet",
    );
    query(&mut client, &relate(&there));
    query(&mut client, &relate(&there));
    refused(&mut client, &relate(&here), "never changes");
    refused(&mut client, "SET CORREL_OBJECT mail x", "command too short");
    query(&mut client, "select LIBRARY_BY_CORREL_OBJECT mail 'a b@c'");
    assert_eq!(whoami(&mut client), "second");
    let route = rows(&mut client, "EXPLAIN ROUTE SELECT * FROM whoami");
    let told = route.iter().find(|row| row[0] == "library");
    let told = told.expect("a line about it");
    assert!(
        told[1].contains("group second") && told[1].contains("a b@c"),
        "{told:?}"
    );
}

fn the_rules(world: &World) {
    before_a_library_is_selected(world);
    spellings_of_one_object(world);
    a_switch_leaves_nothing_behind(world);
    related_objects(world);
    world.proxy.assert_no_panic();
}

#[test]
fn a_session_selects_its_library_and_leaves_nothing_in_the_last_one() {
    needs!(the_proxy);
    the_rules(&World::mariadb());
}

#[test]
fn so_it_does_on_mysql() {
    needs!(the_proxy);
    if let Some(world) = World::mysql() {
        the_rules(&world);
    }
}

/// Asks for all of them at once, on as many connections; each object's answers.
fn ask_at_once(world: &World, objects: &[String]) -> BTreeMap<String, BTreeSet<String>> {
    let mut answers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    std::thread::scope(|scope| {
        let ask = |_| {
            scope.spawn(|| {
                let mut client = world.client();
                let mut found = Vec::new();
                for object in objects {
                    query(&mut client, &format!("select library {object}"));
                    found.push((object.clone(), whoami(&mut client)));
                }
                found
            })
        };
        let asking: Vec<_> = (0..6).map(ask).collect();
        for asked in asking {
            for (object, library) in asked.join().expect("answers") {
                answers.entry(object).or_default().insert(library);
            }
        }
    });
    answers
}

#[test]
fn an_object_has_one_library_for_ever_and_its_first_usable_server() {
    needs!(the_proxy);
    let mut world = World::mariadb();
    let objects: Vec<String> = (0..40).map(|n| format!("object{n}")).collect();
    let answers = ask_at_once(&world, &objects);
    assert!(
        answers.values().all(|libraries| libraries.len() == 1),
        "{answers:?}"
    );
    let libraries: BTreeSet<_> = answers.values().flatten().cloned().collect();
    assert_eq!(libraries.len(), 2);
    let (mut client, here) = (world.client(), world.object_of("main"));
    query(&mut client, &format!("set correl_object phone 1 {here}"));

    // the process dies, once with a line that was not written to its end
    world.kill_and_start();
    assert_eq!(ask_at_once(&world, &objects), answers, "after a restart");
    world.proxy.signal("KILL");
    wait_until("the proxy is dead", || !world.proxy.is_alive());
    let log = world.store.path().join("libraries.log");
    let mut log = OpenOptions::new().append(true).open(log).expect("the file");
    log.write_all(b"object 2026-11-30 09:00:00 torn ma")
        .expect("written");
    let saved = world.store.path().join("mysqlda.save");
    std::fs::write(&saved, "2017-08-24 22:17:11 13800000000 second\n").expect("written");
    let more = world.config.more.replacen(
        "[[library]]",
        &format!("library_save_file = \"{}\"\n[[library]]", saved.display()),
        1,
    );
    world.config.more = more;
    world.proxy = world.config.start();
    assert_eq!(ask_at_once(&world, &objects), answers, "after another one");
    assert_eq!(world.home("13800000000"), "second", "taken over");
    let mut client = world.client();
    query(&mut client, "select library_by_correl_object phone 1");
    assert_eq!(whoami(&mut client), "main");

    // a new library moves nothing and gets its share of what comes
    world.config.more += &library("third", world.servers.port(3));
    world.proxy.write_config(&world.config);
    world.proxy.reload();
    let listed = || world.proxy.ask_admin("SHOW LIBRARIES");
    wait_until("the third library is known", || listed().len() == 3);
    world.proxy.ask_admin("RAISE LIBRARY third BY 1000");
    let third = || listed().into_iter().find(|row| row[0] == "third");
    let third = || third().expect("a line of the third");
    assert_eq!((&*third()[2], &*third()[5]), ("0", "1000"));
    wait_until("its server is known", || !third()[6].is_empty());
    assert_eq!(
        ask_at_once(&world, &objects),
        answers,
        "with a third library"
    );
    world.object_of("third");
    assert_ne!(third()[2], "0");
    let found = world.proxy.ask_admin("SHOW LIBRARY OBJECTS LIKE 'object1'");
    let expected = answers["object1"].first().cloned().expect("an answer");
    assert_eq!(found, [["object1".to_string(), expected]]);
    let (_, metrics) = world.proxy.http("/metrics");
    assert!(
        metrics.contains("umpire_library_objects_assigned_total"),
        "{metrics}"
    );

    // the list's next server, and the first one again
    let Servers::MariaDb(clusters) = &world.servers else {
        panic!("started on MariaDB");
    };
    clusters[0].primary().kill();
    let mut client = world.client();
    query(&mut client, &format!("select library {here}"));
    wait_until("the next server has the library", || {
        try_rows(&mut client, "SELECT name FROM whoami").is_ok_and(|rows| rows == [["main-next"]])
    });
    // the other library's clients do not need this one, whose group is their users' own
    clusters[1].primary().kill();
    let there = answers
        .iter()
        .find(|(_, libraries)| libraries.contains("second"));
    let there = there.expect("one in the second").0;
    wait_until("a client logs in without the first library", || {
        let Ok(mut client) = world.proxy.try_client(world.proxy.options()) else {
            return false;
        };
        client.query_drop("SET NAMES utf8mb4").is_ok()
            && client.query_drop(format!("select library {there}")).is_ok()
            && try_rows(&mut client, "SELECT name FROM whoami")
                .is_ok_and(|rows| rows == [["second"]])
    });
    clusters[0].primary().launch();
    clusters[0].primary().wait_until_up();
    wait_until("the first server has it again", || {
        try_rows(&mut client, "SELECT name FROM whoami").is_ok_and(|rows| rows == [["main"]])
    });
    world.proxy.assert_no_panic();
}
