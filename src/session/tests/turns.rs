//! Whole turns of a session against mock servers.
use super::world::{in_transaction, mock, ok_with, packet, World, PASSWORD};
use crate::backend::tests::mock::{Answer, Mock};
use crate::net;
use crate::net::testing::run;
use crate::relay::WHOLE_LIMIT;
use crate::session::kill::kill_here;
use crate::session::shared::{Act, Whom};
use crate::wire::auth::native;
use crate::wire::packet::frame;
use crate::wire::{command, error, status};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

fn refusal(code: u16) -> Answer {
    Answer::Error(code)
}

/// The mock's commands without those that set a connection up.
fn seen(mock: &Mock) -> Vec<String> {
    let set_up = |c: &String| c.contains("@@SESSION.") || c.contains("TRANSACTION READ ONLY");
    mock.commands().into_iter().filter(|c| !set_up(c)).collect()
}

/// A server on which BEGIN begins a transaction that only COMMIT ends.
fn transactional() -> Mock {
    let open = std::sync::atomic::AtomicBool::new(false);
    mock(move |kind, text| {
        if kind == command::QUERY {
            match text {
                "BEGIN" => open.store(true, Relaxed),
                "COMMIT" => open.store(false, Relaxed),
                _ => {}
            }
        }
        let answered = !matches!(kind, command::STMT_PREPARE | command::STMT_SEND_LONG_DATA);
        (open.load(Relaxed) && answered).then(in_transaction)
    })
}

#[test]
fn reset_and_fetch_of_a_statement_without_a_cursor_leave_a_transaction_alone() {
    run(|| async {
        let primary = transactional();
        let world = World::new(&primary, None);
        let mut client = world.client().await;
        let id = client.prepare("SELECT 1").await;
        assert_eq!(client.query("BEGIN").await, 0);
        assert_eq!(client.query("UPDATE t SET a = 1").await, 0);
        assert_eq!(client.run(command::STMT_RESET, &id).await, 0);
        let fetch = [&id[..], &[1, 0, 0, 0]].concat();
        assert_ne!(client.run(command::STMT_FETCH, &fetch).await, 0);
        assert_eq!(client.query("COMMIT").await, 0);
        let seen = seen(&primary);
        let behind = seen.iter().skip_while(|c| *c != "3 BEGIN");
        let expected = ["3 BEGIN", "3 UPDATE t SET a = 1", "3 COMMIT"];
        assert_eq!(behind.collect::<Vec<_>>(), expected);
        assert_eq!(primary.accepted(), 1);
    });
}

#[test]
fn what_follows_a_command_that_was_answered_early_is_never_run() {
    run(|| async {
        let primary = mock(|_, _| None);
        let world = World::new(&primary, None);
        // an EXECUTE of an unknown statement is answered at once; its long parameter holds a command
        let mut body = vec![command::STMT_EXECUTE, 9, 9, 9, 9, 0, 1, 0, 0, 0];
        body.resize(2 * WHOLE_LIMIT, 0);
        let hidden = b"\x0b\0\0\0\x03DROP TABLE";
        let mut stream = Vec::new();
        frame(&body, 0, &mut stream);
        for at in (WHOLE_LIMIT..stream.len() - hidden.len()).step_by(hidden.len()) {
            stream[at..at + hidden.len()].copy_from_slice(hidden);
        }
        let mut client = world.client().await;
        client.send_raw(stream);
        assert_eq!(client.outcome().await, 1243);
        assert_eq!(client.receive().await, None, "the session ends");
        assert_eq!(primary.saw("3 DROP"), 0);
    });
}

#[test]
fn long_data_goes_to_a_connection_in_the_sessions_own_state() {
    run(|| async {
        let primary = mock(|_, _| None);
        let world = World::new(&primary, None);
        let mut one = world.client_in("one").await;
        let mut two = world.client_in("two").await;
        let id = two.prepare("INSERT INTO t VALUES (1)").await;
        assert_eq!(one.query("UPDATE t SET a = 1").await, 0);
        // the one connection has the statement, and the other client's schema
        two.send(
            command::STMT_SEND_LONG_DATA,
            &[&id[..], &[0, 0, b'x']].concat(),
        );
        let execute = [&id[..], &[0, 1, 0, 0, 0]].concat();
        assert_eq!(two.run(command::STMT_EXECUTE, &execute).await, 0);
        let seen = seen(&primary);
        let at = seen
            .iter()
            .position(|c| c.starts_with("24 "))
            .expect("long data");
        let schema = seen[..at].iter().rfind(|c| c.starts_with("2 "));
        assert_eq!(schema.map(String::as_str), Some("2 two"));
        assert_eq!(primary.accepted(), 1);
    });
}

#[test]
fn a_read_whose_server_is_lost_runs_on_another_one() {
    run(|| async {
        let primary = mock(|_, _| None);
        let replica = mock(|_, text| text.starts_with("SELECT").then_some(Answer::Close));
        let world = World::new(&primary, Some(&replica));
        let mut client = world.client().await;
        for _ in 0..10 {
            assert_eq!(client.query("SELECT a FROM t").await, 0);
        }
        assert_eq!(replica.saw("3 SELECT"), 10, "each is tried there once");
        assert_eq!(primary.saw("3 SELECT"), 10);
        assert_eq!(world.shared.stats.retries.get(), 10);
    });
}

#[test]
fn a_read_cut_short_by_a_shutdown_runs_on_another_server_and_a_write_does_not() {
    run(|| async {
        let stopping = |_, text: &str| {
            let statement = text.starts_with("SELECT") || text.starts_with("INSERT");
            statement.then(|| refusal(1053))
        };
        let (primary, replica) = (mock(stopping), mock(stopping));
        let world = World::new(&primary, Some(&replica));
        let mut client = world.client().await;
        assert_eq!(
            client.query("SELECT a FROM t").await,
            1053,
            "there is no other"
        );
        let sent = (replica.saw("3 SELECT"), primary.saw("3 SELECT"));
        assert_eq!(sent, (2, 2), "in turn, and not for ever");
        assert_eq!(client.query("INSERT INTO t VALUES (1)").await, 1053);
        assert_eq!(primary.saw("3 INSERT"), 1);
        let healthy = mock(|_, _| None);
        let world = World::new(&healthy, Some(&replica));
        let mut client = world.client().await;
        assert_eq!(client.query("SELECT a FROM t").await, 0);
        assert_eq!(healthy.saw("3 SELECT"), 1);
    });
}

#[test]
fn a_write_whose_server_is_lost_is_not_sent_again_and_counts_as_one() {
    run(|| async {
        let primary = mock(|_, text| text.starts_with("INSERT").then_some(Answer::Close));
        let replica = mock(|_, _| None);
        let world = World::new(&primary, Some(&replica));
        let mut client = world.client().await;
        assert_eq!(
            client.query("INSERT INTO t VALUES (1)").await,
            error::server_lost().code
        );
        assert_eq!(primary.saw("3 INSERT"), 1);
        assert_ne!(world.user.last_write.load(Relaxed), 0);
        assert_eq!(client.query("SELECT a FROM t").await, 0);
        assert_eq!((primary.saw("3 SELECT"), replica.saw("3 SELECT")), (1, 0));
    });
}

#[test]
fn a_transaction_whose_server_is_lost_ends_its_session() {
    run(|| async {
        let primary = mock(|_, text| match text {
            "BEGIN" => Some(in_transaction()),
            "SELECT a FROM t" => Some(Answer::Close),
            _ => None,
        });
        let world = World::new(&primary, None);
        let mut client = world.client().await;
        assert_eq!(client.query("BEGIN").await, 0);
        client.send(command::QUERY, b"SELECT a FROM t");
        assert_eq!(client.receive().await, None);
        assert_eq!(primary.saw("3 SELECT"), 1);
    });
}

#[test]
fn an_error_under_autocommit_off_keeps_the_connection_until_a_reply_tells() {
    run(|| async {
        let primary = mock(|_, text| match text {
            "SET autocommit=0" => Some(ok_with(0)),
            "UPDATE t SET a = 1" => Some(refusal(1062)),
            "SELECT a FROM t" => Some(ok_with(status::IN_TRANS)),
            "COMMIT" => Some(ok_with(0)),
            _ => None,
        });
        let world = World::new(&primary, None);
        let mut client = world.client().await;
        assert_eq!(client.query("SET autocommit=0").await, 0);
        assert_eq!(client.query("UPDATE t SET a = 1").await, 1062);
        let rows = || world.shared.registry.info(net::now(), &|_| None);
        assert!(
            rows()[0].in_transaction,
            "it may have begun: {:?}",
            rows()[0]
        );
        assert_eq!(client.query("SELECT a FROM t").await, 0);
        assert!(rows()[0].in_transaction);
        assert_eq!(client.query("COMMIT").await, 0);
        assert!(!rows()[0].in_transaction);
    });
}

#[test]
fn a_refusal_of_a_replica_heals_once_and_is_remembered() {
    run(|| async {
        let primary = mock(|_, _| None);
        let replica = mock(|_, text| text.starts_with("SELECT").then_some(refusal(1792)));
        let world = World::new(&primary, Some(&replica));
        let mut client = world.client().await;
        for value in 1..4 {
            let sql = format!("SELECT f({value})");
            assert_eq!(client.query(&sql).await, 0);
        }
        assert_eq!((replica.saw("3 SELECT"), primary.saw("3 SELECT")), (1, 3));
        assert_eq!(world.shared.stats.healed_writes.get(), 1);
    });
}

#[test]
fn a_command_with_an_effect_is_not_sent_when_the_state_cannot_be_set() {
    run(|| async {
        let primary = mock(|kind, text| {
            let gone = kind == command::INIT_DB && text == "gone";
            (gone && DROPPED.load(Relaxed)).then_some(refusal(1049))
        });
        static DROPPED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
        let world = World::new(&primary, None);
        let mut client = world.client_in("gone").await;
        let mut other = world.client_in("other").await;
        assert_eq!(other.query("UPDATE t SET a = 1").await, 0);
        DROPPED.store(true, Relaxed);
        assert_eq!(client.query("UPDATE t SET a = 2").await, 1049);
        assert_eq!(
            client.query("SELECT a FROM t").await,
            1049,
            "its reply is seen by nobody"
        );
        assert_eq!(primary.saw("3 UPDATE t SET a = 2"), 0);
        assert_eq!(client.run(command::PING, b"").await, 0);
    });
}

#[test]
fn a_server_that_does_not_answer_a_state_statement_is_given_up() {
    run(|| async {
        let primary = mock(|_, _| None);
        let replica = mock(|kind, text| {
            let stuck = kind == command::INIT_DB || text.starts_with("SELECT");
            stuck.then_some(Answer::Silence)
        });
        let quick = |proxy: &mut crate::config::Proxy| {
            proxy.login_timeout = Duration::from_millis(300);
        };
        let world = World::with(&primary, Some(&replica), quick);
        let started = Instant::now();
        let mut client = world.client_in("shop").await;
        assert_eq!(client.query("SELECT a FROM t").await, 0);
        assert!(started.elapsed() < Duration::from_secs(5));
        assert!(replica.saw("2 shop") > 0);
        assert_eq!(primary.saw("3 SELECT"), 1);
    });
}

#[test]
fn kill_ends_a_wait_for_a_connection() {
    run(|| async {
        let primary = mock(|_, text| match text {
            "BEGIN" => Some(in_transaction()),
            _ => None,
        });
        let world = World::new(&primary, None);
        let budget = world.shared.snapshot().groups[0].servers[0].budget.clone();
        budget.set_limit(1);
        let mut holder = world.client().await;
        assert_eq!(holder.query("BEGIN").await, 0);
        let mut waiter = world.client().await;
        waiter.send(command::QUERY, b"UPDATE t SET a = 1");
        let victim = loop {
            net::sleep_until(net::now() + Duration::from_millis(5)).await;
            let rows = world.shared.registry.info(net::now(), &|_| None);
            if let Some(row) = rows.iter().find(|r| r.state.starts_with("waiting")) {
                break row.id;
            }
        };
        kill_here(&world.shared, &Whom::Id(victim), Act::Kill, None).await;
        // the place that comes free is not used for the statement of a session that was ended
        drop(holder);
        assert_eq!(waiter.outcome().await, 1317);
        assert_eq!(waiter.receive().await, None);
        assert_eq!(primary.saw("3 UPDATE"), 0);
    });
}

#[test]
fn a_large_execute_is_never_sent_to_a_server_that_may_refuse_it() {
    run(|| async {
        let primary = mock(|_, _| None);
        let replica = mock(|kind, _| (kind == command::STMT_EXECUTE).then(|| refusal(1290)));
        let world = World::new(&primary, Some(&replica));
        let mut client = world.client().await;
        let id = client.prepare("SELECT a FROM t").await;
        let mut body = [&id[..], &[0, 1, 0, 0, 0]].concat();
        body.resize(2 * WHOLE_LIMIT, 0);
        assert_eq!(client.run(command::STMT_EXECUTE, &body).await, 0);
        assert_eq!((primary.saw("23 "), replica.saw("23 ")), (1, 0));
        assert_eq!(client.run(command::PING, b"").await, 0);
    });
}

#[test]
fn a_write_is_followed_by_the_users_reads_on_all_connections() {
    run(|| async {
        let (primary, replica) = (mock(|_, _| None), mock(|_, _| None));
        let world = World::new(&primary, Some(&replica));
        let (mut one, mut two) = (world.client().await, world.client().await);
        assert_eq!(one.query("INSERT INTO t VALUES (1)").await, 0);
        assert_eq!(two.query("SELECT a FROM t").await, 0);
        assert_eq!((primary.saw("3 SELECT"), replica.saw("3 SELECT")), (1, 0));
        net::sleep_until(net::now() + Duration::from_millis(310)).await;
        assert_eq!(two.query("SELECT a FROM t").await, 0);
        assert_eq!((primary.saw("3 SELECT"), replica.saw("3 SELECT")), (1, 1));
    });
}

#[test]
fn a_reset_connection_forgets_how_text_was_read() {
    run(|| async {
        let sets = |text: &str| text == "SET sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'";
        let primary = mock(move |_, text| {
            sets(text).then(|| ok_with(status::AUTOCOMMIT | status::NO_BACKSLASH_ESCAPES))
        });
        let replica = mock(|_, _| None);
        let world = World::new(&primary, Some(&replica));
        let mut client = world.client().await;
        assert_eq!(
            client
                .query("SET sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'")
                .await,
            0
        );
        assert_eq!(client.run(command::RESET_CONNECTION, b"").await, 0);
        // with escapes the string has an end, and this is one read
        assert_eq!(client.query(r"SELECT '\'' FROM t").await, 0);
        assert_eq!(replica.saw("3 SELECT"), 1);
    });
}

#[test]
fn a_client_that_leaves_in_a_transaction_leaves_a_reset_connection() {
    run(|| async {
        let primary = transactional();
        let world = World::new(&primary, None);
        let mut client = world.client().await;
        assert_eq!(client.query("BEGIN").await, 0);
        drop(client);
        let deadline = Instant::now() + Duration::from_secs(5);
        while primary.saw("31 ") + primary.saw("17 ") == 0 {
            assert!(Instant::now() < deadline, "{:?}", primary.commands());
            net::sleep_until(net::now() + Duration::from_millis(5)).await;
        }
        assert!(world.shared.registry.is_empty());
    });
}

#[test]
fn an_unknown_command_is_refused_and_the_session_goes_on() {
    run(|| async {
        let primary = mock(|_, _| Some(packet(b"\x00\x00\x00\x02\x00\x00\x00")));
        let world = World::new(&primary, None);
        let mut client = world.client().await;
        assert_eq!(client.run(0x7f, b"").await, 1047);
        assert_eq!(client.run(command::PING, b"").await, 0);
    });
}

#[test]
fn pinned_sessions_and_bytes_are_counted() {
    run(|| async {
        let primary = transactional();
        let world = World::new(&primary, None);
        let stats = &world.shared.stats;
        let mut client = world.client().await;
        assert_eq!(client.query("BEGIN").await, 0);
        assert_eq!(world.shared.registry.pinned(), 1);
        assert_eq!(client.query("COMMIT").await, 0);
        assert_eq!(world.shared.registry.pinned(), 0);
        assert_eq!(client.query("BEGIN").await, 0);
        assert_eq!(stats.bytes_from_clients.get(), 5 + 5 + 5 + 6 + 5 + 5);
        // an OK packet each, and that of the login
        assert_eq!(stats.bytes_to_clients.get(), 4 * 11);
        drop(client);
        net::sleep_until(net::now() + Duration::from_millis(50)).await;
        assert_eq!(world.shared.registry.pinned(), 0);
    });
}

#[test]
fn commands_sent_right_behind_a_change_of_user_are_not_lost() {
    run(|| async {
        let primary = mock(|_, _| None);
        let world = World::new(&primary, None);
        let mut client = world.client().await;
        let proof = native::respond(PASSWORD.as_bytes(), &client.scramble);
        let mut change = b"\x11app\0\x14".to_vec();
        change.extend_from_slice(&proof);
        change.extend_from_slice(b"\0\x2d\0mysql_native_password\0");
        let mut both = Vec::new();
        frame(&change, 0, &mut both);
        frame(b"\x0e", 0, &mut both);
        client.send_raw(both);
        assert_eq!(client.outcome().await, 0, "the change of user");
        assert_eq!(client.outcome().await, 0, "the ping");
    });
}
