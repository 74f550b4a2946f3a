//! Leases from a mock server: limits, waiting, coming back, reset, age.
use super::mock::{Answer, Login, Mock, Welcome};
use super::world::*;
use crate::backend::{After, LeaseError};
use crate::config::Role;
use crate::net::{self, Buf};
use crate::topology::{Budget, Snapshot, Target};
use crate::wire::reply::Change;
use crate::wire::status;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

fn quick() -> crate::config::Proxy {
    crate::config::Proxy {
        login_timeout: Duration::from_millis(500),
        ..settings()
    }
}

#[test]
fn a_lease_comes_back_and_is_lent_again() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 5), settings());
        let want = world.want(&world.fresh);
        assert!(
            world.pools.try_lease(&want).is_none(),
            "nothing is there yet"
        );
        let lease = world.pools.lease(&want, soon()).await.expect("a lease");
        let (id, uses) = (lease.id, lease.uses);
        assert_eq!((world.pools.load(world.server.id), world.idle()), (1, 0));
        drop(lease);
        assert_eq!((world.pools.load(world.server.id), world.idle()), (0, 1));
        let lease = world.pools.try_lease(&want).expect("the same again");
        assert_eq!((lease.id, lease.uses), (id, uses + 1));
        assert_eq!(mock.accepted(), 1);
    });
}

#[test]
fn the_nearest_state_is_lent() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 5), settings());
        let a = world.schema("a");
        let b = world
            .states
            .intern(a.with_schema(b"b").with_variable(b"sql_mode", b"ANSI"));
        let mut leases = Vec::new();
        for state in [&world.fresh, &a, &b] {
            let mut lease = world
                .pools
                .lease(&world.want(&world.fresh), soon())
                .await
                .expect("a lease");
            lease.state = state.clone();
            leases.push(lease);
        }
        drop(leases);
        for state in [&a, &b, &world.fresh] {
            let lease = world
                .pools
                .try_lease(&world.want(state))
                .expect("it is there");
            assert!(Rc::ptr_eq(&lease.state, state));
        }
        let c = world.schema("c");
        let lease = world
            .pools
            .try_lease(&world.want(&c))
            .expect("one to be synchronised");
        assert!(
            !Rc::ptr_eq(&lease.state, &b),
            "one command is less than two"
        );
        let info = world.pools.info();
        assert_eq!((info[0].fitted, info[0].synced), (6, 1));
    });
}

#[test]
fn connections_of_other_flags_are_not_lent() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 5), settings());
        drop(
            world
                .pools
                .lease(&world.want(&world.fresh), soon())
                .await
                .expect("a lease"),
        );
        let mut want = world.want(&world.fresh);
        want.capabilities |= crate::wire::capabilities::FOUND_ROWS;
        assert!(world.pools.try_lease(&want).is_none());
        drop(world.pools.lease(&want, soon()).await.expect("its own"));
        assert_eq!(mock.accepted(), 2);
    });
}

#[test]
fn the_budget_is_never_exceeded() {
    let mock = Mock::new();
    play(move || async move {
        let world = Rc::new(World::new(server(mock.address, 10), settings()));
        let (done, running, most) = (
            Rc::new(Cell::new(0)),
            Rc::new(Cell::new(0)),
            Rc::new(Cell::new(0)),
        );
        for _ in 0..200 {
            let (world, done) = (world.clone(), done.clone());
            let (running, most) = (running.clone(), most.clone());
            net::spawn(async move {
                let lease = world
                    .pools
                    .lease(&world.want(&world.fresh), soon())
                    .await
                    .expect("a lease");
                running.set(running.get() + 1);
                most.set(most.get().max(running.get()));
                pause(5).await;
                running.set(running.get() - 1);
                drop(lease);
                done.set(done.get() + 1);
            });
        }
        world.until("all leases", || done.get() == 200).await;
        assert!(most.get() <= 10, "{}", most.get());
        assert!(mock.most_at_once() <= 10, "{}", mock.most_at_once());
        assert_eq!(world.server.budget.used() as usize, world.idle());
        assert_eq!(world.pools.load(world.server.id), 0);
        world.pools.close_all();
        world
            .until("the end of all connections", || {
                world.server.budget.used() == 0
            })
            .await;
        assert_eq!(world.stats.server_connections.get(), 0);
    });
}

#[test]
fn one_who_waits_is_given_what_comes_back() {
    let mock = Mock::new();
    play(move || async move {
        let world = Rc::new(World::new(server(mock.address, 1), settings()));
        let lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        let (id, got) = (lease.id, Rc::new(Cell::new(0)));
        let (other, place) = (world.clone(), got.clone());
        net::spawn(async move {
            let lease = other
                .pools
                .lease(&other.want(&other.fresh), soon())
                .await
                .expect("the same one");
            place.set(lease.id);
        });
        world
            .until("the waiting", || world.pools.info()[0].waiting == 1)
            .await;
        world
            .until("the asking of others", || world.asked.get() > 0)
            .await;
        drop(lease);
        world.until("the handing over", || got.get() == id).await;
        assert_eq!(mock.accepted(), 1);
    });
}

#[test]
fn waiting_ends_at_the_deadline_and_leaves_no_trace() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 1), settings());
        let lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        let outcome = world
            .pools
            .lease(&world.want(&world.fresh), within(50))
            .await;
        let Err(LeaseError::Timeout(text)) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(text.contains("1 of 1"), "{text}");
        assert_eq!(world.stats.lease_timeouts.get(), 1);
        drop(lease);
        assert_eq!(world.idle(), 1);
        assert!(world.pools.try_lease(&world.want(&world.fresh)).is_some());
    });
}

#[test]
fn an_account_that_waits_gets_the_room_of_another_that_is_idle() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 1), settings());
        drop(
            world
                .pools
                .lease(&world.want(&world.fresh), soon())
                .await
                .expect("a lease"),
        );
        let other = account("other", "apppw");
        let mut want = world.want(&world.fresh);
        want.account = &other;
        let lease = world
            .pools
            .lease(&want, soon())
            .await
            .expect("room is made");
        assert_eq!(world.idle(), 0);
        assert!(mock.most_at_once() <= 2, "the old one may still be leaving");
        drop(lease);
    });
}

#[test]
fn a_schema_is_unselected_when_there_is_no_other_way() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 1), settings());
        let mut lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        lease.state = world.schema("shop");
        drop(lease);
        assert!(world.pools.try_lease(&world.want(&world.fresh)).is_none());
        let lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("renewed");
        assert!(Rc::ptr_eq(&lease.state, &world.fresh));
        assert_eq!((mock.accepted(), mock.saw("17 app")), (1, 1));
    });
}

#[test]
fn a_lease_dropped_in_the_middle_of_a_reply_is_closed() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 2), settings());
        let mut lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        lease.after = After::Close;
        lease.socket.send(Buf::from_static(b"\x01\0\0\0\x0e"));
        drop(lease);
        assert_eq!((world.idle(), world.server.budget.used()), (0, 0));
        world
            .until("the end at the server", || mock.open() == 0)
            .await;
    });
}

#[test]
fn a_used_connection_is_reset_and_set_up_again() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 1), settings());
        let mut lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        lease.state = world
            .states
            .intern(world.schema("shop").with_variable(b"sql_mode", b"ANSI"));
        lease.after = After::Reset;
        drop(lease);
        assert_eq!(world.idle(), 0, "not before it is clean");
        world.until("the reset", || world.idle() == 1).await;
        let seen = mock.commands();
        let names: Vec<&str> = seen[2..]
            .iter()
            .map(|text| &text[..text.len().min(28)])
            .collect();
        let expected = [
            "31 ",
            "2 shop",
            "3 SET @@SESSION.character_se",
            "3 SET @@SESSION.session_trac",
        ];
        assert_eq!(names, expected);
        let shop = world.schema("shop");
        let lease = world
            .pools
            .try_lease(&world.want(&shop))
            .expect("it is there");
        assert!(Rc::ptr_eq(&lease.state, &shop));
        assert_eq!(lease.after, After::Return);
    });
}

#[test]
fn a_server_without_reset_renews_the_session() {
    let reply = |command: &[u8]| {
        if command[0] == 31 {
            Answer::Error(1047)
        } else {
            Answer::Ok
        }
    };
    let mock = Mock::with(Login::default(), |_| Welcome::Greeting, reply);
    play(move || async move {
        let world = World::new(server(mock.address, 1), settings());
        let mut lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        lease.state = world.schema("shop");
        lease.after = After::Reset;
        drop(lease);
        world.until("the renewal", || world.idle() == 1).await;
        assert_eq!(mock.saw("17 app"), 1);
        let lease = world
            .pools
            .try_lease(&world.want(&world.fresh))
            .expect("it is there");
        assert!(Rc::ptr_eq(&lease.state, &world.fresh));
    });
}

#[test]
fn a_connection_that_cannot_be_reset_is_closed() {
    let reply = |command: &[u8]| match command[0] {
        31 => Answer::Silence,
        _ => Answer::Ok,
    };
    let mock = Mock::with(Login::default(), |_| Welcome::Greeting, reply);
    play(move || async move {
        let world = World::new(server(mock.address, 1), quick());
        let mut lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        lease.state = world.schema("shop");
        lease.after = After::Reset;
        drop(lease);
        assert_eq!(world.server.budget.used(), 1);
        world
            .until("the end", || world.server.budget.used() == 0)
            .await;
        assert_eq!(world.idle(), 0);
    });
}

#[test]
fn what_is_not_clean_is_not_lent_even_if_the_session_says_so() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 1), settings());
        let shop = world.schema("shop");
        let mut want = world.want(&shop);
        want.guarded = true;
        let mut lease = world.pools.lease(&want, soon()).await.expect("a lease");
        lease.state = shop.clone();
        lease.status |= status::IN_TRANS;
        drop(lease);
        world
            .until("the reset after a transaction", || {
                mock.saw("31") == 1 && world.idle() == 1
            })
            .await;
        let mut lease = world.pools.try_lease(&want).expect("it is there");
        lease.state = world
            .states
            .intern(shop.with_variable(b"tx_read_only", b"OFF"));
        drop(lease);
        assert_eq!(
            world.idle(),
            1,
            "a session's own wish does not touch the guard"
        );
        let mut lease = world.pools.try_lease(&want).expect("it is there");
        let (name, value) = (b"tx_read_only".to_vec(), b"OFF".to_vec());
        let pins = lease.note_changes(&[Change::Variable { name, value }], &world.states);
        assert!(!pins);
        drop(lease);
        world
            .until("the reset of the guard", || {
                mock.saw("31") == 2 && world.idle() == 1
            })
            .await;
        assert_eq!(mock.saw("3 SET SESSION TRANSACTION READ ONLY"), 3);
    });
}

#[test]
fn a_connection_that_died_while_idle_is_found_before_use() {
    let reply = |command: &[u8]| match command.ends_with(b"ended") {
        true => Answer::Farewell,
        false => Answer::Ok,
    };
    let mock = Mock::with(Login::default(), |_| Welcome::Greeting, reply);
    play(move || async move {
        let world = World::new(server(mock.address, 2), settings());
        let lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        let id = lease.id;
        lease.socket.send(Buf::from_static(b"\x06\0\0\0\x02ended"));
        lease.socket.recv().await.expect("the reply");
        drop(lease);
        world.until("the end", || mock.open() == 0).await;
        pause(20).await;
        assert!(world.pools.try_lease(&world.want(&world.fresh)).is_none());
        assert_eq!(world.stats.server_connections_lost.get(), 1);
        let lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a new one");
        assert_ne!(lease.id, id);
        assert_eq!(world.server.budget.used(), 1);
    });
}

#[test]
fn age_and_idleness_end_a_connection() {
    let mock = Mock::new();
    play(move || async move {
        let aged = crate::config::Proxy {
            server_max_age: Duration::from_millis(100),
            ..settings()
        };
        let world = World::new(server(mock.address, 2), aged);
        let lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        pause(120).await;
        drop(lease);
        assert_eq!(world.idle(), 0, "too old when it comes back");
        drop(
            world
                .pools
                .lease(&world.want(&world.fresh), soon())
                .await
                .expect("a lease"),
        );
        assert_eq!(world.idle(), 1);
        pause(120).await;
        world.pools.tend();
        assert_eq!(world.idle(), 0, "too old while idle");
        world.until("both ends", || mock.open() == 0).await;
        assert_eq!(mock.saw("1 "), 2, "with a goodbye each");
    });
}

#[test]
fn idle_connections_over_the_least_number_end_and_the_least_number_is_kept() {
    let mock = Mock::new();
    play(move || async move {
        let mut short = settings();
        (short.server_idle_timeout, short.min_idle) = (Duration::from_millis(100), 1);
        let world = World::new(server(mock.address, 5), short);
        let want = world.want(&world.fresh);
        let mut leases = Vec::new();
        for _ in 0..3 {
            leases.push(world.pools.lease(&want, soon()).await.expect("a lease"));
        }
        drop(leases);
        world.pools.tend();
        assert_eq!(world.idle(), 3);
        pause(120).await;
        drop(world.pools.try_lease(&want).expect("it is there"));
        world.pools.tend();
        assert_eq!(world.idle(), 1, "the one just used");
        let _held = world.pools.try_lease(&want).expect("it is there");
        world.pools.tend();
        world.until("the pre-warming", || world.idle() == 1).await;
        assert_eq!(mock.accepted(), 4);
    });
}

#[test]
fn a_full_server_is_waited_for() {
    let welcome = |n| {
        if n < 2 {
            Welcome::Error(1040)
        } else {
            Welcome::Greeting
        }
    };
    let mock = Mock::with(Login::default(), welcome, |_| Answer::Ok);
    play(move || async move {
        let world = World::new(server(mock.address, 5), settings());
        let lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("at last");
        assert_eq!(mock.accepted(), 3);
        assert_eq!(lease.thread_id, 3);
    });
}

#[test]
fn a_server_that_stays_full_says_so_at_the_deadline() {
    let mock = Mock::with(Login::default(), |_| Welcome::Error(1040), |_| Answer::Ok);
    play(move || async move {
        let world = World::new(server(mock.address, 5), settings());
        let outcome = world
            .pools
            .lease(&world.want(&world.fresh), within(200))
            .await;
        assert!(matches!(outcome, Err(LeaseError::Refused(e)) if e.code == 1040));
        assert!(mock.accepted() >= 2);
        assert_eq!(world.server.budget.used(), 0);
    });
}

#[test]
fn a_dead_server_is_not_hammered() {
    let mock = Mock::with(Login::default(), |_| Welcome::Close, |_| Answer::Ok);
    play(move || async move {
        let world = Rc::new(World::new(server(mock.address, 100), settings()));
        let failed = Rc::new(Cell::new(0));
        for _ in 0..500 {
            let (world, failed) = (world.clone(), failed.clone());
            net::spawn(async move {
                let outcome = world.pools.lease(&world.want(&world.fresh), soon()).await;
                assert!(matches!(outcome, Err(LeaseError::Unreachable(_))));
                failed.set(failed.get() + 1);
            });
        }
        world.until("all failures", || failed.get() == 500).await;
        assert!(mock.accepted() <= 20, "{} connects", mock.accepted());
        assert_eq!(world.server.budget.used(), 0);
    });
}

#[test]
fn a_port_where_nobody_listens_is_unreachable() {
    play(|| async {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let world = World::new(server(address, 5), settings());
        let outcome = world.pools.lease(&world.want(&world.fresh), soon()).await;
        assert!(matches!(outcome, Err(LeaseError::Unreachable(_))));
        let unresolved = server_with(
            Target::Unix("/nowhere".into()),
            Role::Primary,
            true,
            Arc::new(Budget::new(5)),
        );
        let world = World::new(unresolved, settings());
        let outcome = world.pools.lease(&world.want(&world.fresh), soon()).await;
        assert!(matches!(outcome, Err(LeaseError::Unreachable(_))));
    });
}

#[test]
fn a_dedicated_connection_exceeds_the_budget_by_one() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 1), settings());
        let want = world.want(&world.fresh);
        let _lease = world.pools.lease(&want, soon()).await.expect("a lease");
        let first = world
            .pools
            .dedicated(&want, soon())
            .await
            .expect("over the budget");
        assert_eq!(world.server.budget.used(), 1);
        let second = world.pools.dedicated(&want, within(50)).await;
        assert!(matches!(second, Err(LeaseError::Timeout(_))));
        drop(first);
        world.until("its end", || mock.open() == 1).await;
        assert_eq!(world.idle(), 0, "it does not go to the pool");
        assert!(world.pools.dedicated(&want, soon()).await.is_ok());
        world
            .until("the end of that, too", || mock.open() == 1)
            .await;
    });
}

fn snapshot(servers: Vec<Arc<crate::topology::Server>>) -> Snapshot {
    let greeting = crate::topology::Greeting {
        version: "8.0.36".into(),
        capabilities: 0,
        collation: 45,
        auth_plugin: String::new(),
        collations: Arc::default(),
        sql_mode: String::new(),
        autocommit: true,
        select_limit: false,
        div_precision_increment: 4,
    };
    let group = crate::topology::Group {
        name: "main".into(),
        index: 0,
        read_write_split: true,
        election: crate::config::Primary::Writable,
        read_your_writes: crate::config::ReadYourWrites::Off,
        read_your_writes_window: Duration::ZERO,
        servers,
        primary: None,
        greeting: Arc::new(greeting),
        accounts: None,
    };
    let proxy = Arc::new(settings());
    Snapshot {
        epoch: 1,
        proxy,
        groups: vec![Arc::new(group)],
        users: HashMap::default(),
        shared: Arc::default(),
        shards: Arc::default(),
        libraries: Arc::default(),
        watch: Arc::default(),
        defaults: Arc::default(),
    }
}

/// What is left idle of two connections, one of them on loan during the change.
fn left_after(change: fn(Target, Arc<Budget>) -> Vec<Arc<crate::topology::Server>>) -> usize {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 5), settings());
        let want = world.want(&world.fresh);
        let held = world.pools.lease(&want, soon()).await.expect("a lease");
        drop(world.pools.lease(&want, soon()).await.expect("a lease"));
        world.pools.apply(&snapshot(change(
            Target::Tcp(mock.address),
            world.server.budget.clone(),
        )));
        drop(held);
        let idle = world.idle();
        world
            .until("the end of the others", || {
                world.server.budget.used() as usize == idle
            })
            .await;
        idle
    })
}

#[test]
fn servers_that_are_gone_or_changed_role_lose_their_connections() {
    assert_eq!(
        left_after(|t, b| vec![server_with(t, Role::Primary, true, b)]),
        2,
        "nothing changed"
    );
    assert_eq!(
        left_after(|t, b| vec![server_with(t, Role::Replica, true, b)]),
        0,
        "another role"
    );
    assert_eq!(
        left_after(|_, b| vec![server_with(
            Target::Unix("/x".into()),
            Role::Primary,
            true,
            b
        )]),
        0
    );
    assert_eq!(left_after(|_, _| Vec::new()), 0, "gone");
    assert_eq!(
        left_after(|t, b| vec![server_with(t, Role::Primary, false, b)]),
        1,
        "dead: only the idle ones"
    );
}

#[test]
fn nobody_waits_for_a_server_that_is_gone() {
    let mock = Mock::new();
    play(move || async move {
        let world = Rc::new(World::new(server(mock.address, 1), settings()));
        let lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        let (other, failed) = (world.clone(), Rc::new(Cell::new(false)));
        let place = failed.clone();
        net::spawn(async move {
            let outcome = other.pools.lease(&other.want(&other.fresh), soon()).await;
            place.set(matches!(outcome, Err(LeaseError::Unreachable(_))));
        });
        world
            .until("the waiting", || world.pools.info()[0].waiting == 1)
            .await;
        world.pools.apply(&snapshot(Vec::new()));
        world.until("the refusal", || failed.get()).await;
        drop(lease);
        world
            .until("the end of the last one", || {
                world.server.budget.used() == 0
            })
            .await;
    });
}

#[test]
fn another_worker_is_given_an_idle_connection_or_the_next_that_comes_back() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 2), settings());
        let want = world.want(&world.fresh);
        drop(world.pools.lease(&want, soon()).await.expect("a lease"));
        world.pools.give_back(world.server.id);
        world
            .until("the first token", || world.server.budget.used() == 0)
            .await;
        let lease = world.pools.lease(&want, soon()).await.expect("a lease");
        world.pools.give_back(world.server.id);
        drop(lease);
        world
            .until("the second token", || world.server.budget.used() == 0)
            .await;
    });
}

#[test]
fn an_account_made_anew_by_a_reload_finds_its_pool() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 2), settings());
        drop(
            world
                .pools
                .lease(&world.want(&world.fresh), soon())
                .await
                .expect("a lease"),
        );
        let (same, changed) = (account("app", "apppw"), account("app", "new password"));
        let mut want = world.want(&world.fresh);
        want.account = &changed;
        assert!(
            world.pools.try_lease(&want).is_none(),
            "another password is another account"
        );
        want.account = &same;
        let pool = world.pools.pool(&world.server, &same);
        let lease = pool.try_lease(&want);
        assert!(lease.is_some());
        assert_eq!((pool.load(), world.pools.load(world.server.id)), (1, 1));
    });
}
