//! Policies on real servers: what they deny never reaches one, whichever way it is sent.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::{code, needs, scalar, Cluster, Proxy, ProxyConfig};
use mysql::prelude::Queryable;

fn proxy_with(policies: &str) -> Proxy {
    let mut config = ProxyConfig::new(Cluster::shared());
    config.more = policies.into();
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    proxy
}

fn count(proxy: &Proxy, counter: &str) -> u64 {
    let rows = proxy.ask_admin(&format!("SHOW STATUS LIKE '{counter}'"));
    rows[0][1].parse().expect("a number")
}

#[test]
fn a_denied_statement_reaches_no_server_and_names_its_policy_to_the_user_it_is_for() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&[
        "CREATE OR REPLACE TABLE policy_t (a INT PRIMARY KEY)",
        "INSERT INTO policy_t VALUES (1), (2)",
    ]);
    let proxy = proxy_with(
        "[[policy]]\nname = \"keep where\"\naction = \"deny\"\nusers = [\"app\"]\nno_where = true\n\
         [[policy]]\nname = \"see through\"\naction = \"deny\"\nusers = [\"app\"]\nopaque = true\n",
    );
    let mut client = proxy.client();
    for sql in [
        "DELETE FROM policy_t",
        "delete/* WHERE a = 1 */from policy_t",
        "/*!50000 DELETE FROM policy_t */",
        "/*M! DELETE FROM policy_t */",
        "PREPARE s FROM 'DELETE FROM policy_t'",
        "EXECUTE IMMEDIATE 'DELETE FROM policy_t'",
        "EXECUTE IMMEDIATE CONCAT('DELETE FROM ', 'policy_t')",
        "BEGIN NOT ATOMIC DELETE FROM policy_t; END",
        "SET STATEMENT max_statement_time = 10 FOR DELETE FROM policy_t",
        "SELECT 1; DELETE FROM policy_t",
    ] {
        let error = client.query_drop(sql).unwrap_err();
        assert_eq!(code(&error), 1227, "{sql}: {error}");
        assert!(error.to_string().contains("policy '"), "{sql}: {error}");
    }
    let error = client.prep("DELETE FROM policy_t").unwrap_err();
    assert_eq!(code(&error), 1227, "{error}");
    assert_eq!(scalar(&mut client, "SELECT COUNT(*) FROM policy_t"), "2");
    assert!(count(&proxy, "policies_denied") >= 11);
    // the same user's other statements, and the other user's
    client
        .query_drop("DELETE FROM policy_t WHERE a = 1")
        .expect("allowed");
    let mut other = proxy.client_as("app2", "app2pw");
    other.query_drop("DELETE FROM policy_t").expect("allowed");
}

#[test]
fn a_policy_of_a_table_holds_where_the_client_has_switched_reports_off() {
    needs!(the_proxy);
    Cluster::shared().prepare(&["CREATE OR REPLACE TABLE other.policy_kept (a INT)"]);
    let proxy = proxy_with(
        "[[policy]]\nname = \"kept\"\naction = \"deny\"\ntables = [\"other.policy_kept\"]\n",
    );
    let mut client = proxy.client();
    for sql in ["SET session_track_schema = OFF", "USE other"] {
        client.query_drop(sql).expect(sql);
    }
    let error = client.query_drop("SELECT * FROM policy_kept").unwrap_err();
    assert_eq!(code(&error), 1227, "{error}");
}

/// The connection ends with a command that was not read to its end, which a client that still sends may see first.
fn denied_or_cut_off(error: mysql::Error) {
    if let mysql::Error::MySqlError(error) = error {
        assert_eq!(error.code, 1227, "{}", error.message);
    }
}

/// Longer than what Umpire looks at before it passes a command on.
#[test]
fn a_statement_behind_a_long_comment_is_denied() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&[
        "CREATE OR REPLACE TABLE policy_long (a INT PRIMARY KEY, b LONGTEXT)",
        "INSERT INTO policy_long VALUES (1, '')",
    ]);
    let proxy = proxy_with(
        "[[policy]]\nname = \"no deletes\"\naction = \"deny\"\nusers = [\"app\"]\nkinds = [\"delete\"]\n",
    );
    let padding = "x".repeat(400_000);
    let huge = "x".repeat(17 << 20);
    for padding in [&padding, &huge] {
        // whatever a client may send in one command
        for sql in [
            format!("/* {padding} */ DELETE FROM policy_long"),
            format!("SELECT 1 /* {padding} */; DELETE FROM policy_long"),
        ] {
            let mut client = proxy.client();
            denied_or_cut_off(client.query_drop(&sql).unwrap_err());
        }
    }
    // of one packet all is looked at
    let mut client = proxy.client();
    let long_insert = format!("INSERT INTO policy_long VALUES (2, '{padding}')");
    client.query_drop(&long_insert).expect("no DELETE in it");
    let error = client
        .query_drop(format!("DELETE /* {padding} */ FROM policy_long"))
        .unwrap_err();
    assert_eq!(code(&error), 1227, "{error}");
    let rows = || {
        cluster
            .primary()
            .ask("SELECT COUNT(*) FROM app.policy_long")
    };
    assert_eq!(rows(), "2");
    // of more its beginning: this may go on with another statement, unless the client sends one at a time
    let huge_insert = format!("INSERT INTO policy_long VALUES (3, '{huge}')");
    denied_or_cut_off(proxy.client().query_drop(&huge_insert).unwrap_err());
    let mut single = common::RawClient::connect(proxy.port);
    let reply = single.query(&huge_insert).expect("connected");
    assert!(reply.error.is_none(), "{:?}", reply.error);
    assert_eq!(rows(), "3");
}

#[test]
fn a_statement_that_is_prepared_already_is_denied_once_a_policy_says_so() {
    needs!(the_proxy);
    let mut config = ProxyConfig::new(Cluster::shared());
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    let mut client = proxy.client();
    let statement = client.prep("SELECT 3 + ?").unwrap();
    client.exec_drop(&statement, (4,)).expect("allowed so far");
    config.more = "[[policy]]\nname = \"none\"\naction = \"deny\"\nkinds = [\"select\"]\n\
                   [[policy]]\nname = \"seen\"\naction = \"log\"\nkinds = [\"show\"]\n"
        .into();
    proxy.write_config(&config);
    let said = proxy.ask_admin("RELOAD");
    assert!(said.is_empty(), "{said:?}");
    common::wait_until("EXECUTE is denied", || {
        let outcome = client.exec_drop(&statement, (4,));
        outcome.is_err_and(|error| code(&error) == 1227)
    });
    let error = client.exec_drop(&statement, (4,)).unwrap_err();
    assert_eq!(code(&error), 1227, "{error}");
    client.query_drop("SHOW TABLES").expect("only noted");
    assert_eq!(count(&proxy, "policies_noted"), 1);
}

/// What the verdict of a text hangs on besides the text, each changed under a text that was let pass many times.
#[test]
fn a_text_that_was_let_pass_is_judged_anew_for_another_schema_mode_user_and_configuration() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&[
        "CREATE OR REPLACE TABLE policy_again (a INT PRIMARY KEY, b INT)",
        "CREATE OR REPLACE TABLE other.policy_again (a INT PRIMARY KEY, b INT)",
    ]);
    let mut config = ProxyConfig::new(cluster);
    config.more = "[[policy]]\nname = \"other\"\naction = \"deny\"\ntables = [\"other.policy_again\"]\n\
                   [[policy]]\nname = \"where\"\naction = \"deny\"\nno_where = true\n\
                   [[policy]]\nname = \"inserts\"\naction = \"deny\"\nusers = [\"app2\"]\nkinds = [\"insert\"]\n"
        .into();
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    let mut client = proxy.client();
    let denied = |client: &mut mysql::Conn, sql: &str| {
        let outcome = client.query_drop(sql);
        outcome.is_err_and(|error| code(&error) == 1227)
    };
    let read = |number: u32| format!("SELECT b FROM policy_again WHERE a = {number}");
    let pass_often = |client: &mut mysql::Conn, sql: &dyn Fn(u32) -> String| {
        for number in 1000..1010 {
            client.query_drop(sql(number)).expect("allowed");
        }
    };
    pass_often(&mut client, &read);
    client.query_drop("USE other").expect("allowed");
    assert!(denied(&mut client, &read(1000)));
    client.query_drop("USE app").expect("allowed");
    pass_often(&mut client, &read);

    let quoted = |number: u32| format!("DELETE FROM policy_again WHERE \"a\" = {number}");
    client
        .query_drop("SET sql_mode = 'ANSI_QUOTES'")
        .expect("allowed");
    pass_often(&mut client, &quoted);
    client.query_drop("SET sql_mode = ''").expect("allowed");
    assert!(denied(&mut client, &quoted(1000)), "\"a\" is a text now");
    // a number where a name was
    let named = |number: u32| format!("DELETE FROM policy_again WHERE a > {number}");
    pass_often(&mut client, &named);
    assert!(denied(
        &mut client,
        "DELETE FROM policy_again WHERE 1 > 1000"
    ));

    let write = |number: u32| format!("INSERT INTO policy_again (a) VALUES ({number})");
    pass_often(&mut client, &write);
    let mut other = proxy.client_as("app2", "app2pw");
    assert!(denied(&mut other, &write(2000)));

    config.more =
        "[[policy]]\nname = \"reads\"\naction = \"deny\"\ntables = [\"app.policy_again\"]\n".into();
    proxy.write_config(&config);
    let said = proxy.ask_admin("RELOAD");
    assert!(said.is_empty(), "{said:?}");
    common::wait_until("the text is denied", || denied(&mut client, &read(1000)));
    assert!(denied(&mut client, &read(1001)) && denied(&mut client, &named(1000)));
}

#[test]
fn a_prepared_statement_is_judged_as_what_it_was_when_it_was_prepared() {
    needs!(the_proxy);
    let cluster = Cluster::shared();
    cluster.prepare(&["CREATE OR REPLACE TABLE policy_then (a INT PRIMARY KEY)"]);
    let mut config = ProxyConfig::new(cluster);
    let proxy = config.start();
    proxy.wait_for_readers(&[2, 3]);
    let mut client = proxy.client();
    let unqualified = client.prep("SELECT a FROM policy_then").unwrap();
    client
        .query_drop("SET sql_mode = 'ANSI_QUOTES'")
        .expect("allowed");
    let quoted = client
        .prep("SELECT \"a\" FROM \"policy_then\" WHERE a = ?")
        .unwrap();
    for sql in ["SET sql_mode = ''", "USE other"] {
        client.query_drop(sql).expect("allowed");
    }
    client.exec_drop(&unqualified, ()).expect("allowed so far");
    client.exec_drop(&quoted, (1,)).expect("allowed so far");
    config.more =
        "[[policy]]\nname = \"then\"\naction = \"deny\"\ntables = [\"app.policy_then\"]\n\
         [[policy]]\nname = \"all of it\"\naction = \"log\"\nfull_table_select = true\n"
            .into();
    proxy.write_config(&config);
    let said = proxy.ask_admin("RELOAD");
    assert!(said.is_empty(), "{said:?}");
    let denied = |outcome: mysql::Result<()>| outcome.is_err_and(|error| code(&error) == 1227);
    common::wait_until("EXECUTE is denied", || {
        denied(client.exec_drop(&unqualified, ()))
    });
    assert!(denied(client.exec_drop(&quoted, (1,))));
    // each EXECUTE is noted, not only the first one
    let whole = client.prep("SELECT * FROM app.policy_of_nobody");
    assert!(whole.is_err(), "there is no such table");
    let noted = count(&proxy, "policies_noted");
    let whole = client.prep("SELECT * FROM seq_1_to_3").unwrap();
    for _ in 0..3 {
        client.exec_drop(&whole, ()).expect("only noted");
    }
    assert_eq!(count(&proxy, "policies_noted") - noted, 4);
}

#[test]
fn a_list_of_statements_is_learnt_from_traffic_and_then_enforced() {
    needs!(the_proxy);
    learns_and_enforces(ProxyConfig::new(Cluster::shared()), &[2, 3]);
}

#[test]
fn on_mysql_a_list_of_statements_is_learnt_and_enforced_as_well() {
    needs!(the_proxy);
    let Some(pair) = common::mysql_pair::MysqlPair::shared() else {
        return;
    };
    let servers = vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")];
    learns_and_enforces(ProxyConfig::for_ports(servers), &[2]);
}

fn learns_and_enforces(mut config: ProxyConfig, readers: &[u32]) {
    let dir = tempfile::tempdir().expect("a folder");
    let list = dir.path().join("known.txt");
    let policy = |action: &str| {
        format!(
            "[[policy]]\nname = \"known\"\naction = \"{action}\"\nusers = [\"app2\"]\nallow_list = {list:?}\n"
        )
    };
    config.more = policy("learn");
    let proxy = config.start();
    proxy.wait_for_readers(readers);
    let mut client = proxy.client_as("app2", "app2pw");
    for n in 0..3 {
        client
            .query_drop(format!("SELECT {n} AS known_one"))
            .unwrap();
    }
    let statement = client.prep("SELECT ? + 1 AS known_two").unwrap();
    client.exec_drop(&statement, (1,)).unwrap();
    let learnt = || std::fs::read_to_string(&list).unwrap_or_default();
    common::wait_until("both are learnt", || learnt().contains("known_two"));
    assert_eq!(learnt().matches("known_one").count(), 1, "{}", learnt());
    assert!(
        learnt().contains(" app2 SELECT ? AS known_one"),
        "{}",
        learnt()
    );
    config.more = policy("deny");
    proxy.write_config(&config);
    proxy.ask_admin("RELOAD");
    common::wait_until("an unknown one is denied", || {
        client.query_drop("SELECT 1 AS unknown_one").is_err()
    });
    let error = client.query_drop("SELECT 1 AS unknown_one").unwrap_err();
    assert_eq!(code(&error), 1227, "{error}");
    client.query_drop("select 99 as known_one").expect("known");
    client.exec_drop(&statement, (5,)).expect("known");
    proxy
        .client()
        .query_drop("SELECT 1 AS unknown_one")
        .expect("not its user");
}
