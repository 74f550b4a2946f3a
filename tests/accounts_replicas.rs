//! Accounts of the servers where a replica has not heard of their last change yet.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::{code, marker, needs, scalar, wait_until, Cluster, Proxy, ProxyConfig};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};

fn login(proxy: &Proxy, user: &str) -> Conn {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .tcp_port(proxy.port)
        .prefer_socket(false)
        .user(Some(user))
        .pass(Some("pw"));
    Conn::new(options).unwrap_or_else(|e| panic!("{user} can log in: {e}"))
}

/// A primary and a replica, by root past the proxy; and a proxy with their accounts.
struct World<'w> {
    proxy: &'w Proxy,
    on_primary: &'w dyn Fn(&str),
    replica: &'w mut Conn,
    sync: &'w dyn Fn(),
}

impl World<'_> {
    /// The replica executes nothing of what the primary sends until [`World::go_on`].
    fn hold_replication(&mut self) {
        self.replica
            .query_drop("FLUSH TABLES WITH READ LOCK")
            .expect("the lock");
    }

    fn go_on(&mut self) {
        self.replica
            .query_drop("UNLOCK TABLES")
            .expect("they are unlocked");
        (self.sync)();
    }

    fn as_user(&self, user: &str, sql: &str) {
        (self.on_primary)(&sql.replace('$', user));
    }

    /// Reads go there, in the end.
    fn reads_reach_the_replica(&self, client: &mut Conn) {
        wait_until("the replica serves the account's reads", || {
            scalar(client, "SELECT @@server_id") == "2"
        });
    }

    fn all(&mut self) {
        self.a_new_account_reads_from_the_primary();
        self.a_session_is_the_account_that_it_is_on_the_primary();
        self.what_was_revoked_does_not_stay_on_a_connection();
    }

    fn a_new_account_reads_from_the_primary(&mut self) {
        let user = marker();
        self.hold_replication();
        self.as_user(&user, "CREATE USER '$'@'%' IDENTIFIED BY 'pw'");
        let mut client = login(self.proxy, &user);
        assert_eq!(
            scalar(&mut client, "SELECT CURRENT_USER()"),
            format!("{user}@%")
        );
        assert_eq!(scalar(&mut client, "SELECT @@server_id"), "1");
        self.proxy.wait_for_log("a replica refuses a login");
        self.go_on();
        self.reads_reach_the_replica(&mut client);
    }

    fn a_session_is_the_account_that_it_is_on_the_primary(&mut self) {
        let user = marker();
        self.as_user(&user, "CREATE USER '$'@'%' IDENTIFIED BY 'pw'");
        self.as_user(&user, "CREATE USER '$'@'127.0.0.1' IDENTIFIED BY 'pw'");
        (self.sync)();
        let mut before = login(self.proxy, &user);
        self.reads_reach_the_replica(&mut before);
        let account = scalar(&mut before, "SELECT CURRENT_USER()");
        assert_eq!(account, format!("{user}@127.0.0.1"));
        self.hold_replication();
        self.as_user(&user, "DROP USER '$'@'127.0.0.1'");
        // past the proxy: the change is seen a little later
        let mut client = None;
        wait_until("the proxy has read the accounts again", || {
            let mut new = login(self.proxy, &user);
            let account = scalar(&mut new, "SELECT CURRENT_USER()");
            client = Some(new);
            account == format!("{user}@%")
        });
        let mut client = client.expect("one is logged in");
        for _ in 0..5 {
            assert_eq!(
                scalar(&mut client, "SELECT CURRENT_USER()"),
                format!("{user}@%")
            );
            assert_eq!(scalar(&mut client, "SELECT @@server_id"), "1");
        }
        self.go_on();
        self.reads_reach_the_replica(&mut client);
        assert_eq!(
            scalar(&mut client, "SELECT CURRENT_USER()"),
            format!("{user}@%")
        );
    }

    fn what_was_revoked_does_not_stay_on_a_connection(&mut self) {
        let user = marker();
        let read = "SELECT COUNT(*), @@server_id FROM revoked.t";
        self.as_user(&user, "CREATE DATABASE revoked");
        self.as_user(&user, "CREATE TABLE revoked.t (a INT)");
        self.as_user(&user, "CREATE USER '$'@'%' IDENTIFIED BY 'pw'");
        self.as_user(&user, "GRANT SELECT ON *.* TO '$'@'%'");
        (self.sync)();
        let mut before = login(self.proxy, &user);
        self.reads_reach_the_replica(&mut before);
        self.hold_replication();
        self.as_user(&user, "REVOKE SELECT ON *.* FROM '$'@'%'");
        let refused = |client: &mut Conn| client.query_drop(read).is_err_and(|e| code(&e) == 1142);
        // the replica still lets it read, as with any data that is behind
        let new = || login(self.proxy, &user);
        let primary = "START TRANSACTION READ WRITE";
        wait_until("the proxy has read the accounts again", || {
            let mut client = new();
            client.query_drop(primary).expect("a transaction");
            refused(&mut client)
        });
        let mut client = new();
        client.query_drop(read).expect("the replica is behind");
        self.go_on();
        wait_until(
            "the replica's connections have what was granted now",
            || refused(&mut client),
        );
        self.reads_reach_the_replica(&mut client);
        assert!(refused(&mut client));
    }
}

/// Lag of the replica keeps no reads away; what happens past the proxy is seen soon.
fn with_accounts(mut config: ProxyConfig) -> Proxy {
    config.group = "accounts = \"server\"\naccounts_interval_ms = 100\n".into();
    config.max_replica_lag_ms = 600_000;
    config.users = false;
    config.start()
}

#[test]
fn a_replica_that_is_behind_with_accounts_serves_nobody_as_somebody_else() {
    needs!(the_proxy);
    let cluster = Cluster::start_with(1, &["--skip-name-resolve=1"]);
    cluster
        .primary()
        .run(&["GRANT SELECT ON mysql.* TO monitor@'%'"]);
    cluster.sync();
    let proxy = with_accounts(ProxyConfig::new(&cluster));
    World {
        proxy: &proxy,
        on_primary: &|sql| cluster.primary().run(&[sql]),
        replica: &mut cluster.replicas()[0].root(),
        sync: &|| cluster.sync(),
    }
    .all();
}

#[test]
fn on_mysql_a_replica_that_is_behind_with_accounts_serves_nobody_as_somebody_else() {
    needs!(the_proxy);
    let Some(pair) = MysqlPair::shared() else {
        return;
    };
    pair.run(0, &["GRANT SELECT ON mysql.* TO monitor@'%'"]);
    pair.sync();
    let servers = vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")];
    let proxy = with_accounts(ProxyConfig::for_ports(servers));
    World {
        proxy: &proxy,
        on_primary: &|sql| pair.run(0, &[sql]),
        replica: &mut pair.try_root(1).expect("root can log in"),
        sync: &|| pair.sync(),
    }
    .all();
}
