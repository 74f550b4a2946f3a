//! Accounts of the servers: whoever can log in at the server can log in here, as the same account.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::server::Server;
use common::{code, marker, needs, scalar, wait_until, Cluster, Proxy, ProxyConfig};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder};
use std::sync::OnceLock;

/// A server that looks up names, as most do, and a proxy that takes its users from it.
struct World {
    cluster: Cluster,
    proxy: Proxy,
}

fn config(cluster: &Cluster, accounts: &str) -> ProxyConfig {
    let mut config = ProxyConfig::new(cluster);
    config.group = format!("accounts = \"server\"\n{accounts}");
    // of the two users that tests have, the servers' own accounts are used
    config.users = false;
    config
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let cluster = Cluster::start_with(0, &["--skip-name-resolve=0"]);
        cluster
            .primary()
            .run(&["GRANT SELECT ON mysql.* TO monitor@'%'"]);
        let proxy = config(&cluster, "").start();
        World { cluster, proxy }
    })
}

fn login(port: u16, user: &str, password: &str) -> mysql::Result<Conn> {
    Conn::new(
        OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(port)
            .prefer_socket(false)
            .user(Some(user))
            .pass(Some(password)),
    )
}

impl World {
    fn server(&self) -> &Server {
        self.cluster.primary()
    }

    fn same(&self, user: &str, password: &str) -> Result<Conn, u16> {
        same(self.server().port, self.proxy.port, user, password)
    }
}

/// The same login at the proxy and at the server; both let in, or both refuse with the same error.
fn same(server: u16, proxy: u16, user: &str, password: &str) -> Result<Conn, u16> {
    let there = login(server, user, password);
    let here = login(proxy, user, password);
    match (here, there) {
        (Ok(mut here), Ok(mut there)) => {
            let sql = "SELECT CURRENT_USER()";
            assert_eq!(scalar(&mut here, sql), scalar(&mut there, sql));
            Ok(here)
        }
        (Err(here), Err(there)) => {
            assert_eq!(here.to_string(), there.to_string(), "{user}");
            Err(code(&here))
        }
        (here, there) => panic!(
            "{user}: here {:?}, at the server {:?}",
            here.map(drop),
            there.map(drop)
        ),
    }
}

#[test]
fn an_account_that_was_created_through_the_proxy_works_at_once_and_a_dropped_one_no_longer() {
    needs!(the_proxy);
    let world = world();
    world.server().run(&[
        "CREATE USER IF NOT EXISTS boss@localhost IDENTIFIED BY 'bosspw'",
        "GRANT ALL ON *.* TO boss@localhost WITH GRANT OPTION",
    ]);
    let mut boss = world.same("boss", "bosspw").unwrap();
    for round in 0..5 {
        let user = format!("made_{round}");
        let run = |boss: &mut Conn, sql: &str| boss.query_drop(sql.replace("$", &user)).unwrap();
        run(&mut boss, "CREATE USER $@localhost IDENTIFIED BY 'one'");
        drop(world.same(&user, "one").unwrap());
        assert_eq!(world.same(&user, "two").err(), Some(1045));
        run(&mut boss, "SET PASSWORD FOR $@localhost = PASSWORD('two')");
        assert_eq!(world.same(&user, "one").err(), Some(1045));
        drop(world.same(&user, "two").unwrap());
        run(&mut boss, "RENAME USER $@localhost TO x$@localhost");
        assert_eq!(world.same(&user, "two").err(), Some(1045));
        drop(world.same(&format!("x{user}"), "two").unwrap());
        run(&mut boss, "DROP USER x$@localhost");
        assert_eq!(world.same(&format!("x{user}"), "two").err(), Some(1045));
    }
}

#[test]
fn an_account_that_was_created_at_the_server_a_moment_ago_works() {
    needs!(the_proxy);
    let world = world();
    let user = marker();
    assert_eq!(world.same(&user, "pw").err(), Some(1045));
    world
        .server()
        .run(&[&format!("CREATE USER '{user}'@'%' IDENTIFIED BY 'pw'")]);
    drop(world.same(&user, "pw").unwrap());
    world
        .server()
        .run(&[&format!("ALTER USER '{user}'@'%' IDENTIFIED BY ''")]);
    drop(world.same(&user, "").unwrap());
}

#[test]
fn a_session_that_begins_after_a_grant_has_it() {
    needs!(the_proxy);
    let world = world();
    let user = marker();
    let run = |sql: &str| world.server().run(&[&sql.replace("$", &user)]);
    run("CREATE DATABASE IF NOT EXISTS granted");
    run("CREATE TABLE IF NOT EXISTS granted.t (a INT)");
    run("CREATE USER '$'@'%' IDENTIFIED BY 'pw'");
    let mut boss = login(world.proxy.port, "root", "").expect("root can log in");
    let mut early = world.same(&user, "pw").unwrap();
    let select = "SELECT COUNT(*) FROM granted.t";
    assert_eq!(code(&early.query_drop(select).unwrap_err()), 1142);
    boss.query_drop(format!("GRANT SELECT ON *.* TO '{user}'@'%'"))
        .unwrap();
    let mut late = world.same(&user, "pw").unwrap();
    assert_eq!(scalar(&mut late, select), "0");
}

#[test]
fn locked_and_expired_accounts_are_refused_as_by_the_server() {
    needs!(the_proxy);
    let world = world();
    world.server().run(&[
        "CREATE USER locked@'%' IDENTIFIED BY 'pw' ACCOUNT LOCK",
        "CREATE USER expired@'%' IDENTIFIED BY 'pw' PASSWORD EXPIRE",
        "CREATE USER tls@'%' IDENTIFIED BY 'pw' REQUIRE SSL",
        "CREATE USER either@'%' IDENTIFIED VIA unix_socket OR mysql_native_password USING PASSWORD('pw')",
        "CREATE ROLE just_a_role",
        "SET GLOBAL disconnect_on_expired_password = 1",
    ]);
    assert_eq!(world.same("locked", "pw").err(), Some(4151));
    assert_eq!(world.same("locked", "wrong").err(), Some(1045));
    assert_eq!(world.same("expired", "wrong").err(), Some(1045));
    let expired = login(world.proxy.port, "expired", "pw").unwrap_err();
    assert_eq!(code(&expired), 1862);
    assert_eq!(world.same("tls", "pw").err(), Some(1045));
    assert_eq!(world.same("just_a_role", "").err(), Some(1045));
    drop(world.same("either", "pw").unwrap());
}

#[test]
fn the_account_is_the_one_that_the_server_itself_finds() {
    needs!(the_proxy);
    let world = world();
    let user = marker();
    let hosts = [
        "%",
        "localhost",
        "127.0.0.1",
        "127.0.0.%",
        "127.%",
        "local%",
        "127.0.0.0/255.255.255.0",
        "127.0.0._",
        "_2%",
        "l%",
        "%.0.0.1",
        "_27.0.0.1",
    ];
    for host in hosts {
        world
            .server()
            .run(&[&format!("CREATE USER '{user}'@'{host}' IDENTIFIED BY 'pw'")]);
    }
    let mut boss = login(world.proxy.port, "root", "").expect("root can log in");
    for left in (0..hosts.len()).rev() {
        let mut client = world.same(&user, "pw").unwrap();
        let account = scalar(&mut client, "SELECT CURRENT_USER()");
        drop(client);
        let (name, host) = account.split_once('@').unwrap();
        // through the proxy: what is changed past it is seen a little later
        boss.query_drop(format!("DROP USER '{name}'@'{host}'"))
            .unwrap();
        assert!(left > 0 || world.same(&user, "pw").is_err());
    }
}

#[test]
fn an_account_that_the_server_would_not_find_for_the_proxy_is_refused_with_the_reason() {
    needs!(the_proxy);
    let world = world();
    world.server().run(&[
        "CREATE USER elsewhere@localhost IDENTIFIED BY 'pw'",
        "CREATE USER elsewhere@'127.0.0.2' IDENTIFIED BY 'pw'",
    ]);
    drop(world.same("elsewhere", "pw").unwrap());
    // a client from 127.0.0.2, where the server sees the proxy at 127.0.0.1; and names neither
    let mut boss = login(world.proxy.port, "root", "").expect("root can log in");
    boss.query_drop("DROP USER elsewhere@localhost").unwrap();
    let refused = from_127_0_0_2(world.proxy.port, "elsewhere", "pw");
    assert!(refused.contains("has no account 'elsewhere'"), "{refused}");
    world.proxy.wait_for_log("a login was refused");
}

/// The error of a login from another address of this machine.
fn from_127_0_0_2(port: u16, user: &str, password: &str) -> String {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some("127.0.0.1"))
        .bind_address(Some(([127, 0, 0, 2], 0)))
        .tcp_port(port)
        .prefer_socket(false)
        .user(Some(user))
        .pass(Some(password));
    match Conn::new(options) {
        Ok(_) => panic!("{user} was let in"),
        Err(refused) => refused.to_string(),
    }
}

#[test]
fn a_configured_user_adds_its_limits_to_the_servers_account_or_replaces_it() {
    needs!(the_proxy);
    let world = world();
    world
        .server()
        .run(&["CREATE USER limited@'%' IDENTIFIED BY 'pw'"]);
    let mut config = config(&world.cluster, "accounts_interval_ms = 60000");
    config.more = "[[user]]\nname = \"limited\"\ngroup = \"main\"\nmax_connections = 1\n\
                   [[user]]\nname = \"app\"\npassword = \"apppw\"\ngroup = \"main\"\nallow = [\"10.9.9.9\"]\n"
        .to_owned();
    let proxy = config.start();
    let first = login(proxy.port, "limited", "pw").unwrap();
    let second = login(proxy.port, "limited", "pw").unwrap_err();
    assert_eq!(code(&second), 1203);
    drop(first);
    assert_eq!(code(&login(proxy.port, "app", "apppw").unwrap_err()), 1045);
    drop(login(proxy.port, "app2", "app2pw").unwrap());
}

#[test]
fn a_monitor_that_may_not_read_the_accounts_is_told_so() {
    needs!(the_proxy);
    let cluster = Cluster::start_with(0, &["--plugin-load-add=auth_ed25519"]);
    let proxy = config(&cluster, "").proxy("lease_timeout_ms = 300").start();
    proxy.wait_for_log("GRANT SELECT ON mysql.* TO");
    let refused = login(proxy.port, "app", "apppw").unwrap_err();
    assert!(refused.to_string().contains("GRANT SELECT"), "{refused}");
    cluster.primary().run(&[
        "GRANT SELECT ON mysql.* TO monitor@'%'",
        "CREATE USER curve@'%' IDENTIFIED VIA ed25519 USING PASSWORD('pw')",
    ]);
    common::wait_until("the accounts are read", || {
        login(proxy.port, "app", "apppw").is_ok()
    });
    // what leaves nothing to log in at the server with
    let unusable = login(proxy.port, "curve", "pw").unwrap_err();
    assert!(unusable.to_string().contains("over TLS only"), "{unusable}");
}

#[test]
fn servers_that_demand_encryption_demand_it_of_umpires_clients_too() {
    needs!(the_proxy);
    let cluster = Cluster::start_with(0, &[]);
    let server = cluster.primary();
    server.run(&["GRANT SELECT ON mysql.* TO monitor@'%'"]);
    let proxy = config(&cluster, "accounts_interval_ms = 100").start();
    let refused = || login(proxy.port, "app", "apppw").err().map(|e| code(&e));
    assert_eq!(refused(), None);
    let mut root = server.root();
    root.query_drop("SET GLOBAL require_secure_transport = ON")
        .expect("SET");
    assert_eq!(
        login(server.port, "app", "apppw").err().map(|e| code(&e)),
        Some(1045)
    );
    wait_until("clients without encryption are refused", || {
        refused() == Some(1045)
    });
    root.query_drop("SET GLOBAL require_secure_transport = OFF")
        .expect("SET");
    wait_until("they are let in again", || refused().is_none());
}

#[test]
fn limits_of_an_account_that_only_the_servers_know_can_be_set_at_run_time() {
    needs!(the_proxy);
    let world = world();
    let user = marker();
    world
        .server()
        .run(&[&format!("CREATE USER '{user}'@'%' IDENTIFIED BY 'pw'")]);
    let first = world.same(&user, "pw").unwrap();
    let set = |sql: &str| world.proxy.admin().query_drop(sql);
    set(&format!("SET USER '{user}' max_connections = 1")).expect("the limit is set");
    let second = login(world.proxy.port, &user, "pw").unwrap_err();
    assert_eq!(code(&second), 1203);
    let limits = world.proxy.ask_admin("SHOW LIMITS");
    let row = limits.iter().find(|row| row[0] == user).expect("its row");
    assert_eq!((row[1].as_str(), row[2].as_str()), ("1", "1"));
    set(&format!("SET USER '{user}' max_connections = NONE")).expect("the limit is taken away");
    drop(login(world.proxy.port, &user, "pw").unwrap());
    drop(first);
    let unknown = set("SET USER nobody_of_this_name qps = 5").expect_err("no such user");
    assert!(
        unknown
            .to_string()
            .contains("there is no user 'nobody_of_this_name'"),
        "{unknown}"
    );
    // what was set for an account goes with it
    set(&format!("SET USER '{user}' qps = 1000")).expect("the limit is set");
    world.server().run(&[&format!("DROP USER '{user}'@'%'")]);
    common::wait_until("the account is gone", || {
        login(world.proxy.port, &user, "pw").is_err_and(|e| code(&e) == 1045)
    });
}

/// A real MySQL and a proxy that takes its users from it.
fn mysql() -> Option<(&'static MysqlPair, &'static Proxy)> {
    static PROXY: OnceLock<Proxy> = OnceLock::new();
    let pair = MysqlPair::shared()?;
    let proxy = PROXY.get_or_init(|| {
        pair.run(0, &["GRANT SELECT ON mysql.* TO monitor@'%'"]);
        pair.sync();
        let servers = vec![(pair.ports[0], "primary"), (pair.ports[1], "replica")];
        let mut config = ProxyConfig::for_ports(servers);
        config.group = "accounts = \"server\"".into();
        config.users = false;
        config.start()
    });
    Some((pair, proxy))
}

#[test]
fn on_mysql_the_account_is_the_one_that_the_server_itself_finds() {
    needs!(the_proxy);
    let Some((pair, proxy)) = mysql() else { return };
    let user = marker();
    // no two whose wildcards begin at the same place: their order is not defined on MySQL
    let hosts = [
        "%",
        "localhost",
        "127.0.0.1",
        "127.0.0.%",
        "127.%",
        "local%",
        "127.0.0.0/255.255.255.0",
        "127.0.0.0/8",
        "l%",
    ];
    for host in hosts {
        pair.run(
            0,
            &[&format!("CREATE USER '{user}'@'{host}' IDENTIFIED BY 'pw'")],
        );
    }
    let mut boss = login(proxy.port, "root", "").or_else(|_| {
        pair.run(
            0,
            &[
                "CREATE USER boss@'%' IDENTIFIED BY 'bosspw'",
                "GRANT ALL ON *.* TO boss@'%' WITH GRANT OPTION",
            ],
        );
        login(proxy.port, "boss", "bosspw")
    });
    let boss = boss.as_mut().expect("an administrator can log in");
    for left in (0..hosts.len()).rev() {
        let mut client = same(pair.ports[0], proxy.port, &user, "pw").unwrap();
        let account = scalar(&mut client, "SELECT CURRENT_USER()");
        drop(client);
        let (name, host) = account.split_once('@').unwrap();
        boss.query_drop(format!("DROP USER '{name}'@'{host}'"))
            .unwrap();
        assert!(left > 0 || login(proxy.port, &user, "pw").is_err());
    }
}

#[test]
fn on_mysql_locked_and_expired_accounts_are_refused_as_by_the_server() {
    needs!(the_proxy);
    let Some((pair, proxy)) = mysql() else { return };
    let same = |user: &str, password: &str| same(pair.ports[0], proxy.port, user, password);
    pair.run(
        0,
        &[
            "CREATE USER locked@'%' IDENTIFIED BY 'pw' ACCOUNT LOCK",
            "CREATE USER expired@'%' IDENTIFIED BY 'pw' PASSWORD EXPIRE",
            "CREATE USER secure@'%' IDENTIFIED BY 'pw' REQUIRE SSL",
            "CREATE USER turned@'%' IDENTIFIED BY 'one'",
            "CREATE ROLE just_a_role",
        ],
    );
    assert_eq!(same("locked", "pw").err(), Some(3118));
    assert_eq!(same("locked", "wrong").err(), Some(1045));
    assert_eq!(same("expired", "pw").err(), Some(1862));
    assert_eq!(same("expired", "wrong").err(), Some(1045));
    assert_eq!(same("secure", "pw").err(), Some(1045));
    assert!(same("just_a_role", "").is_err());
    // a lock, a new password: from the next login on
    drop(same("turned", "one").unwrap());
    pair.run(0, &["ALTER USER turned@'%' IDENTIFIED BY 'two'"]);
    drop(same("turned", "two").unwrap());
    assert_eq!(same("turned", "one").err(), Some(1045));
    pair.run(0, &["ALTER USER turned@'%' ACCOUNT LOCK"]);
    common::wait_until("the lock is seen", || {
        login(proxy.port, "turned", "two").is_err_and(|e| code(&e) == 3118)
    });
    pair.run(0, &["ALTER USER turned@'%' ACCOUNT UNLOCK"]);
    common::wait_until("the lock is gone", || {
        login(proxy.port, "turned", "two").is_ok()
    });
}

#[test]
fn on_mysql_accounts_made_through_the_proxy_or_past_it_work_at_once_with_what_was_granted() {
    needs!(the_proxy);
    let Some((pair, proxy)) = mysql() else { return };
    let same = |user: &str, password: &str| same(pair.ports[0], proxy.port, user, password);
    pair.run(
        0,
        &[
            "CREATE USER IF NOT EXISTS maker@'%' IDENTIFIED BY 'makerpw'",
            "GRANT ALL ON *.* TO maker@'%' WITH GRANT OPTION",
            "CREATE DATABASE IF NOT EXISTS granted",
            "CREATE TABLE IF NOT EXISTS granted.t (a INT)",
        ],
    );
    pair.sync();
    let mut maker = same("maker", "makerpw").unwrap();
    let user = marker();
    let mut run = |sql: &str| maker.query_drop(sql.replace("$", &user)).unwrap();
    run("CREATE USER '$'@'%' IDENTIFIED BY 'one'");
    let mut early = same(&user, "one").unwrap();
    let select = "SELECT COUNT(*) FROM granted.t";
    assert_eq!(code(&early.query_drop(select).unwrap_err()), 1142);
    run("GRANT SELECT ON granted.* TO '$'@'%'");
    let mut late = same(&user, "one").unwrap();
    common::wait_until("the replica has the grant, too", || {
        late.query_first::<i64, _>(select).is_ok()
    });
    run("ALTER USER '$'@'%' IDENTIFIED BY 'two'");
    assert_eq!(same(&user, "one").err(), Some(1045));
    drop(same(&user, "two").unwrap());
    run("DROP USER '$'@'%'");
    // the server itself asks a client that it does not know for some plugin or other
    let refused = |user: &str| code(&login(proxy.port, user, "two").unwrap_err());
    assert_eq!(refused(&user), 1045);
    // past the proxy: found when somebody asks for it
    assert_eq!(refused("past"), 1045);
    pair.run(0, &["CREATE USER past@'%' IDENTIFIED BY 'pw'"]);
    drop(same("past", "pw").unwrap());
    // an account of the servers has limits at run time as any user
    let mut admin = proxy.admin();
    admin
        .query_drop("SET USER past max_connections = 0")
        .expect_err("below the range");
    admin
        .query_drop("SET USER past max_connections = 1")
        .expect("the limit is set");
    let held = login(proxy.port, "past", "pw").unwrap();
    assert_eq!(code(&login(proxy.port, "past", "pw").unwrap_err()), 1203);
    drop(held);
}

/// With autocommit off a kept connection reads the same snapshot for ever; the others cut lists, pad names and make names of
/// double-quoted texts.
const UNUSUAL: [&str; 3] = [
    "SET GLOBAL autocommit = 0",
    "SET GLOBAL sql_select_limit = 1",
    "SET GLOBAL sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,ANSI_QUOTES'",
];

#[test]
fn accounts_are_read_whole_and_anew_whatever_the_servers_give_new_sessions() {
    needs!(the_proxy);
    let cluster = Cluster::start(0);
    let grant = "GRANT SELECT ON mysql.* TO monitor@'%'";
    let server = cluster.primary();
    server.run(&[&[grant], &UNUSUAL[..]].concat());
    let proxy = config(&cluster, "").start();
    made_one_by_one(proxy.port, |sql| server.run(&[sql]));
    let Some(pair) = MysqlPair::apart(1) else {
        return;
    };
    pair.run(0, &[&[grant], &UNUSUAL[..]].concat());
    let mut config = ProxyConfig::for_ports(vec![(pair.ports[0], "primary")]);
    config.group = "accounts = \"server\"".into();
    config.users = false;
    let proxy = config.start();
    made_one_by_one(proxy.port, |sql| pair.run(0, &[sql]));
}

#[track_caller]
fn made_one_by_one(port: u16, run: impl Fn(&str)) {
    for user in ["first", "second", "third"] {
        let refused = login(port, user, "pw").expect_err("there is no such account");
        assert_eq!(code(&refused), 1045);
        run(&format!("CREATE USER {user}@'%' IDENTIFIED BY 'pw'"));
        login(port, user, "pw").expect("there is now");
    }
}
