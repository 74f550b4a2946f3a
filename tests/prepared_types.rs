//! MySQL keeps the types that a prepared statement's parameters had: those of other sessions never show.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests block"
)]

mod common;

use common::mysql_pair::MysqlPair;
use common::proxy::ProxyConfig;
use common::reply::{text, Reply};
use common::{cluster, needs, Proxy, RawClient};

const EXECUTE: u8 = 0x17;
const LONG_DATA: u8 = 0x18;
const RESET_CONNECTION: u8 = 0x1f;

/// A value with its type; None: NULL.
type Bound = ([u8; 2], Option<Vec<u8>>);

fn signed() -> Bound {
    ([8, 0], Some(7i64.to_le_bytes().to_vec()))
}

fn unsigned() -> Bound {
    ([8, 0x80], Some(u64::MAX.to_le_bytes().to_vec()))
}

fn double() -> Bound {
    ([5, 0], Some(1.75f64.to_le_bytes().to_vec()))
}

fn decimal() -> Bound {
    ([246, 0], Some(text(b"1.50")))
}

fn date() -> Bound {
    ([10, 0], Some(vec![4, 0xe8, 7, 1, 2]))
}

fn datetime() -> Bound {
    ([12, 0], Some(vec![7, 0xe8, 7, 1, 2, 3, 4, 5]))
}

fn time() -> Bound {
    ([11, 0], Some(vec![8, 0, 0, 0, 0, 0, 1, 2, 3]))
}

fn string(value: &str) -> Bound {
    ([253, 0], Some(text(value.as_bytes())))
}

fn null() -> Bound {
    ([6, 0], None)
}

/// One of each kind, and texts that are numbers.
fn kinds() -> Vec<Bound> {
    let mut all = vec![
        signed(),
        unsigned(),
        double(),
        decimal(),
        date(),
        datetime(),
        time(),
        null(),
    ];
    all.extend(["abc", "12", "-3", "1.5", ""].map(string));
    all
}

const TEXTS: [&str; 6] = [
    "SELECT ?",
    "SELECT ? + 1",
    "SELECT id, CONCAT(?, 'x') FROM words WHERE id < 3",
    "SELECT id FROM words WHERE w = ?",
    "SELECT id FROM words WHERE ? = 'abc' ORDER BY id",
    "UPDATE words SET w = ? WHERE id = 9",
];

/// MySQL, and a proxy whose sessions share one connection to it.
fn servers() -> Option<(&'static MysqlPair, Proxy)> {
    let pair = MysqlPair::shared()?;
    let port = pair.ports[0];
    pair.run(
        0,
        &[
            "CREATE TABLE IF NOT EXISTS app.words (id INT PRIMARY KEY, w VARCHAR(20), KEY (w))",
            "REPLACE INTO app.words VALUES (1, 'abc'), (2, '7'), (3, '1.75'), (4, '2024-01-02')",
        ],
    );
    // a raw client has the fast path of caching_sha2_password only
    mysql::Conn::new(cluster::client_options(port)).expect("app logs in");
    let mut config = ProxyConfig::for_ports(vec![(port, "primary")]).proxy("workers = [0]");
    config.servers[0].2 = "max_connections = 1".into();
    Some((pair, config.start()))
}

/// EXECUTE with the types of all values.
fn execute(client: &mut RawClient, id: u32, values: &[Bound]) -> Reply {
    let mut body = id.to_le_bytes().to_vec();
    body.extend([0, 1, 0, 0, 0]);
    let mut nulls = vec![0u8; values.len().div_ceil(8)];
    for (at, _) in values.iter().enumerate().filter(|(_, v)| v.1.is_none()) {
        nulls[at / 8] |= 1 << (at % 8);
    }
    body.extend(nulls);
    body.push(1);
    body.extend(values.iter().flat_map(|(kind, _)| *kind));
    body.extend(
        values
            .iter()
            .filter_map(|(_, value)| value.as_deref())
            .flatten(),
    );
    let mut reply = client.command(EXECUTE, &body).expect("EXECUTE");
    // MySQL says that session tracking follows where none can
    reply.sets.iter_mut().for_each(|set| set.status &= !0x4000);
    reply
}

/// What a client that says all this gets, each time by a statement and a connection of its own.
fn answers(port: u16, sql: &str, values: &[Bound]) -> Vec<Reply> {
    let mut client = RawClient::connect(port);
    let mut answer = |value: &Bound| {
        client.command(RESET_CONNECTION, b"").expect("reset");
        client.query("USE app").expect("USE");
        let id = client.prepare(sql).id;
        execute(&mut client, id, std::slice::from_ref(value))
    };
    values.iter().map(&mut answer).collect()
}

#[test]
fn a_session_never_sees_the_types_that_another_session_has_bound() {
    needs!(the_proxy);
    let Some((pair, proxy)) = servers() else {
        return;
    };
    let kinds = kinds();
    for sql in TEXTS {
        let direct = answers(pair.ports[0], sql, &kinds);
        for first in &kinds {
            let mut other = RawClient::connect(proxy.port);
            let id = other.prepare(sql).id;
            execute(&mut other, id, std::slice::from_ref(first));
            let proxied = answers(proxy.port, sql, &kinds);
            for ((value, direct), proxied) in kinds.iter().zip(&direct).zip(&proxied) {
                assert_eq!(
                    proxied, direct,
                    "{sql}: {value:?} after another's {first:?}"
                );
            }
        }
    }
}

/// One session's values for `SELECT ?, ?`, in order.
fn histories() -> Vec<Vec<[Bound; 2]>> {
    vec![
        // NULL is taken for what the parameter was before, until the other one makes MySQL resolve the statement anew
        vec![
            [signed(), signed()],
            [null(), signed()],
            [signed(), null()],
            [null(), double()],
            [null(), null()],
        ],
        // numbers go into wider ones
        vec![
            [double(), decimal()],
            [signed(), signed()],
            [decimal(), unsigned()],
            [null(), null()],
        ],
        // a text is converted
        vec![
            [signed(), datetime()],
            [string("abc"), datetime()],
            [string("12"), string("2024-01-02")],
        ],
        vec![
            [datetime(), time()],
            [time(), datetime()],
            [signed(), signed()],
        ],
        vec![
            [string("x"), null()],
            [date(), null()],
            [datetime(), null()],
        ],
    ]
}

#[test]
fn a_session_has_the_types_that_it_has_bound_itself_between_those_of_others() {
    needs!(the_proxy);
    let Some((pair, proxy)) = servers() else {
        return;
    };
    const SQL: &str = "SELECT ?, ?";
    let mut direct = RawClient::connect(pair.ports[0]);
    let mut proxied = RawClient::connect(proxy.port);
    let mut other = RawClient::connect(proxy.port);
    let others = other.prepare(SQL).id;
    for history in histories() {
        let ids = (direct.prepare(SQL).id, proxied.prepare(SQL).id);
        for (at, values) in history.iter().enumerate() {
            for noise in kinds() {
                execute(&mut other, others, &[noise.clone(), noise]);
            }
            let there = execute(&mut direct, ids.0, values);
            let here = execute(&mut proxied, ids.1, values);
            assert_eq!(here, there, "{:?}", &history[..=at]);
        }
    }
}

#[test]
fn a_failed_execute_and_long_data_leave_no_types_to_others() {
    needs!(the_proxy);
    let Some((pair, proxy)) = servers() else {
        return;
    };
    pair.run(
        0,
        &[
            "CREATE TABLE IF NOT EXISTS app.taken (a INT PRIMARY KEY)",
            "REPLACE INTO app.taken VALUES (7)",
        ],
    );
    for sql in ["SELECT ?", "INSERT INTO taken VALUES (?)", "SELECT ? + 1"] {
        let run = |port: u16, disturbed: bool| -> Vec<Reply> {
            let mut other = RawClient::connect(port);
            if disturbed {
                let id = other.prepare(sql).id;
                // BIT cannot be bound
                let bit = ([16, 0], Some(text(b"1")));
                assert_eq!(execute(&mut other, id, &[bit]).code(), 1210);
                execute(&mut other, id, &[signed()]);
                let mut part = id.to_le_bytes().to_vec();
                part.extend(b"\0\x001.5");
                other.send_command(LONG_DATA, &part).expect("sent");
                execute(&mut other, id, &[([252, 0], Some(Vec::new()))]);
                execute(&mut other, id, &[datetime()]);
            }
            answers(port, sql, &[string("1.9"), null(), string("abc"), signed()])
        };
        assert_eq!(run(proxy.port, true), run(pair.ports[0], false), "{sql}");
    }
}

#[test]
fn values_whose_types_were_never_told_are_refused_by_the_server_itself() {
    needs!(the_proxy);
    let Some((pair, proxy)) = servers() else {
        return;
    };
    const SQL: &str = "SELECT ?, DATABASE()";
    let mut other = RawClient::connect(proxy.port);
    let id = other.prepare(SQL).id;
    execute(&mut other, id, &[signed()]);
    let run = |port: u16| -> Vec<Reply> {
        let mut client = RawClient::connect(port);
        let id = client.prepare(SQL).id;
        let mut typeless = id.to_le_bytes().to_vec();
        typeless.extend([0, 1, 0, 0, 0, 0, 0]);
        typeless.extend(7i64.to_le_bytes());
        let mut replies = Vec::new();
        replies.push(client.command(EXECUTE, &typeless).expect("EXECUTE"));
        assert_eq!(replies[0].code(), 1210);
        // COM_INIT_DB counts the statement's error
        replies.push(client.command(0x02, b"app").expect("COM_INIT_DB"));
        replies.push(execute(&mut client, id, &[datetime()]));
        replies
    };
    assert_eq!(run(proxy.port), run(pair.ports[0]));
}
