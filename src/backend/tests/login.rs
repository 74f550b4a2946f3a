//! Logins at a mock server.
use super::mock::{Answer, Login, Mock, Welcome};
use super::world::*;
use crate::backend::{Account, LeaseError, Password};
use crate::wire::auth::{caching_sha2::KeyPair, CACHING_SHA2, NATIVE};
use sha1::{Digest, Sha1};
use std::rc::Rc;
use std::sync::Arc;

/// Logs in once as this account; the lease error's code or text otherwise.
fn try_login(login: Login, account: fn() -> Account) -> Result<(), String> {
    let mock = Mock::with(login, |_| Welcome::Greeting, |_| Answer::Ok);
    play(move || async move {
        let world = World::of(server(mock.address, 5), settings(), Rc::new(account()));
        let outcome = world.pools.lease(&world.want(&world.fresh), soon()).await;
        match outcome {
            Ok(lease) => {
                assert_eq!(lease.thread_id, 1);
                assert!(lease.tracking);
                Ok(())
            }
            Err(LeaseError::Refused(e)) => Err(format!(
                "{} {}",
                e.code,
                String::from_utf8_lossy(&e.message)
            )),
            Err(e) => Err(format!("{e:?}")),
        }
    })
}

fn plain() -> Account {
    Account::new("app", Password::Plain(b"apppw".as_slice().into()))
}

fn wrong() -> Account {
    Account::new("app", Password::Plain(b"wrong".as_slice().into()))
}

fn hashed() -> Account {
    Account::new("app", Password::Stage1(Sha1::digest(b"apppw").into()))
}

fn sha2() -> Login {
    Login {
        plugin: CACHING_SHA2,
        switch: CACHING_SHA2,
        ..Login::default()
    }
}

#[test]
fn with_the_native_password() {
    assert_eq!(try_login(Login::default(), plain), Ok(()));
    assert_eq!(try_login(Login::default(), hashed), Ok(()));
}

#[test]
fn with_caching_sha2_by_the_fast_path() {
    assert_eq!(try_login(sha2(), plain), Ok(()));
}

#[test]
fn with_caching_sha2_by_the_servers_key() {
    let key = Some(Arc::new(KeyPair::generate()));
    assert_eq!(
        try_login(
            Login {
                key: key.clone(),
                ..sha2()
            },
            plain
        ),
        Ok(())
    );
    assert_eq!(
        try_login(Login { key, ..sha2() }, wrong),
        Err("1045 mock".into())
    );
}

#[test]
fn with_another_plugin_than_the_greeting_names() {
    assert_eq!(
        try_login(
            Login {
                plugin: NATIVE,
                ..sha2()
            },
            plain
        ),
        Ok(())
    );
    assert_eq!(
        try_login(
            Login {
                plugin: CACHING_SHA2,
                ..Login::default()
            },
            plain
        ),
        Ok(())
    );
    assert_eq!(
        try_login(
            Login {
                plugin: CACHING_SHA2,
                ..Login::default()
            },
            hashed
        ),
        Ok(())
    );
    assert_eq!(
        try_login(
            Login {
                plugin: "sha256_password",
                ..Login::default()
            },
            plain
        ),
        Ok(())
    );
}

#[test]
fn the_servers_refusal_passes_through() {
    assert_eq!(try_login(Login::default(), wrong), Err("1045 mock".into()));
    assert_eq!(try_login(sha2(), wrong), Err("1045 mock".into()));
}

#[test]
fn a_plugin_that_nobody_knows_is_named() {
    let error = try_login(
        Login {
            switch: "auth_gssapi_client",
            ..Login::default()
        },
        plain,
    )
    .unwrap_err();
    assert!(
        error.contains("auth_gssapi_client") && error.contains("app"),
        "{error}"
    );
}

#[test]
fn a_hash_alone_is_not_enough_for_caching_sha2() {
    let error = try_login(sha2(), hashed).unwrap_err();
    assert!(
        error.contains("put the password itself into the configuration"),
        "{error}"
    );
}

#[test]
fn a_refusal_is_remembered_for_a_moment_and_not_longer() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::of(server(mock.address, 5), settings(), Rc::new(wrong()));
        for _ in 0..20 {
            let outcome = world.pools.lease(&world.want(&world.fresh), soon()).await;
            assert!(matches!(outcome, Err(LeaseError::Refused(e)) if e.code == 1045));
        }
        assert_eq!(mock.accepted(), 1);
        pause(300).await;
        let outcome = world.pools.lease(&world.want(&world.fresh), soon()).await;
        assert!(matches!(outcome, Err(LeaseError::Refused(_))));
        assert_eq!(mock.accepted(), 2);
        assert_eq!(world.server.budget.used(), 0);
    });
}

/// How a lease fails at a server that behaves like this; the budget must be whole again.
fn failure(welcome: Welcome, answer: Answer) -> LeaseError {
    let mock = Mock::with(Login::default(), move |_| welcome, move |_| answer.clone());
    let text = play(move || async move {
        let mut settings = settings();
        settings.login_timeout = std::time::Duration::from_millis(200);
        let world = World::new(server(mock.address, 5), settings);
        let outcome = world.pools.lease(&world.want(&world.fresh), soon()).await;
        assert_eq!(world.server.budget.used(), 0);
        assert_eq!(world.stats.server_connect_errors.get(), 1);
        Wrapped(outcome.expect_err("no lease from such a server"))
    });
    text.0
}

/// Crosses from the test's executor.
struct Wrapped(LeaseError);

#[test]
fn servers_that_are_none_are_unreachable() {
    for welcome in [Welcome::Garbage, Welcome::Silence, Welcome::Close] {
        assert!(matches!(
            failure(welcome, Answer::Ok),
            LeaseError::Unreachable(_)
        ));
    }
    for answer in [
        Answer::Bytes(b"\x01\0\0\x01\xfb".to_vec()),
        Answer::Silence,
        Answer::Close,
        Answer::Chatter,
    ] {
        assert!(matches!(
            failure(Welcome::Greeting, answer),
            LeaseError::Unreachable(_)
        ));
    }
    let endless = Answer::Bytes(b"\xff\xff\xff\x01aaaa".to_vec());
    assert!(matches!(
        failure(Welcome::Greeting, endless),
        LeaseError::Unreachable(_)
    ));
}

#[test]
fn a_host_that_is_not_allowed_is_told_so() {
    for code in [1129, 1130] {
        assert!(
            matches!(failure(Welcome::Error(code), Answer::Ok), LeaseError::Refused(e) if e.code == code)
        );
    }
}

#[test]
fn a_refused_set_up_is_the_servers_error() {
    assert!(
        matches!(failure(Welcome::Greeting, Answer::Error(1273)), LeaseError::Refused(e) if e.code == 1273)
    );
}

#[test]
fn a_server_without_tracking_works() {
    let reply = |command: &[u8]| match String::from_utf8_lossy(command).contains("session_track") {
        true => Answer::Error(1193),
        false => Answer::Ok,
    };
    let mock = Mock::with(Login::default(), |_| Welcome::Greeting, reply);
    play(move || async move {
        let world = World::new(server(mock.address, 5), settings());
        let lease = world
            .pools
            .lease(&world.want(&world.fresh), soon())
            .await
            .expect("a lease");
        assert!(!lease.tracking);
        assert_eq!(
            mock.saw("3 SET @@SESSION.session_track_schema"),
            2,
            "by names, then by *"
        );
    });
}

#[test]
fn a_guarded_connection_is_made_read_only() {
    let mock = Mock::new();
    play(move || async move {
        let world = World::new(server(mock.address, 5), settings());
        let mut want = world.want(&world.fresh);
        want.guarded = true;
        let lease = world.pools.lease(&want, soon()).await.expect("a lease");
        assert!(lease.guarded);
        assert_eq!(mock.saw("3 SET SESSION TRANSACTION READ ONLY"), 1);
        drop(lease);
        assert!(
            world.pools.try_lease(&world.want(&world.fresh)).is_none(),
            "not for writes"
        );
        assert!(world.pools.try_lease(&want).is_some());
    });
}
