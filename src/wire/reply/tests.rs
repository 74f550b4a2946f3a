//! OK, EOF, ERR and login packets, captured and made.

use super::*;
use crate::wire::capabilities::*;
use crate::wire::status::*;
use crate::wire::testdata::{case_named, cases, logins, payloads};
use crate::wire::Malformed;

fn last_ok(file: usize, name: &str) -> Ok {
    let case = case_named(file, name);
    let reply = case.replies.last().unwrap();
    Ok::decode(payloads(reply).last().unwrap(), case.capabilities).unwrap()
}

fn variable(name: &str, value: &str) -> Change {
    Change::Variable {
        name: name.into(),
        value: value.into(),
    }
}

#[test]
fn captured_ok_packets_come_back_byte_for_byte() {
    let mut seen = 0;
    for case in cases() {
        let replies = case.replies.iter().flat_map(|reply| payloads(reply));
        // a row of a binary result begins with 0x00 too
        for payload in replies.filter(|_| matches!(case.command, 0x02 | 0x03 | 0x0e | 0x1f)) {
            if payload[0] != OK || payload.len() < 7 {
                continue;
            }
            let ok = Ok::decode(payload, case.capabilities).unwrap();
            // MariaDB joins variables into one entry
            let variables = |change: &&Change| matches!(change, Change::Variable { .. });
            if ok.changes.iter().filter(variables).count() > 1 {
                let again = Ok::decode(&ok.encode(case.capabilities), case.capabilities);
                assert_eq!(again, Result::Ok(ok));
                continue;
            }
            assert_eq!(ok.encode(case.capabilities), payload, "{}", case.name);
            seen += 1;
        }
    }
    assert!(seen > 150);
}

#[test]
fn mariadb_tells_several_variables_in_one_entry() {
    let ok = last_ok(0, "dep-track set variable");
    let expected = [
        variable("sql_mode", ""),
        variable("autocommit", "ON"),
        Change::State(b"1".to_vec()),
    ];
    assert_eq!(ok.changes, expected);
}

#[test]
fn mysql_tells_each_variable_in_an_entry_of_its_own() {
    let ok = last_ok(1, "dep-track set variable");
    assert_eq!(
        ok.changes[..2],
        [variable("autocommit", "ON"), variable("sql_mode", "")]
    );
    assert_eq!(ok.changes.last(), Some(&Change::State(b"1".to_vec())));
}

#[test]
fn a_transaction_s_state_and_characteristics_are_told() {
    for file in [0, 1] {
        let ok = last_ok(file, "dep-track begin");
        assert_ne!(ok.status & IN_TRANS, 0);
        assert!(ok
            .changes
            .contains(&Change::TransactionState(b"T_______".to_vec())));
        let sql = b"START TRANSACTION;".to_vec();
        assert!(ok
            .changes
            .contains(&Change::TransactionCharacteristics(sql)));
    }
    let ok = last_ok(1, "dep-track commit");
    assert!(ok
        .changes
        .iter()
        .any(|change| matches!(change, Change::Gtids(set) if set.contains(&b':'))));
    assert!(ok
        .changes
        .contains(&Change::TransactionCharacteristics(vec![])));
}

#[test]
fn a_schema_change_is_told_with_the_result_s_end_too() {
    assert!(last_ok(0, "dep-track use")
        .changes
        .contains(&Change::Schema(b"d".to_vec())));
    let end = last_ok(1, "dep-track read in transaction");
    assert_eq!(end.header, EOF);
    assert!(end
        .changes
        .contains(&Change::TransactionState(b"T_R___S_".to_vec())));
}

#[test]
fn info_is_length_encoded_with_and_without_session_tracking() {
    for file in [0, 1] {
        for name in ["eof update", "eof-track update"] {
            assert!(
                last_ok(file, name).info.starts_with(b"Rows matched: "),
                "{name}"
            );
        }
    }
    // as the documentation has it, and no server sends it
    let plain = Ok::decode(b"\0\0\0\x02\0\0\0Rows matched", 0).unwrap();
    assert_eq!(plain.info, b"Rows matched");
}

#[test]
fn an_ok_is_fitted_to_another_client() {
    let tracked = last_ok(1, "dep-track read in transaction");
    assert_eq!(
        tracked.encode(0),
        eof(0, tracked.status & !SESSION_STATE_CHANGED)
    );
    let plain = tracked.encode(DEPRECATE_EOF);
    assert_eq!(plain[..3], [0xfe, 0, 0]);
    let again = Ok::decode(&plain, DEPRECATE_EOF).unwrap();
    assert_eq!(again.status & SESSION_STATE_CHANGED, 0);
    assert_eq!(again.changes, []);
    let from_eof = Ok::decode(&eof(3, 2), 0).unwrap();
    assert_eq!(from_eof.encode(DEPRECATE_EOF), [0xfe, 0, 0, 2, 0, 3, 0]);
    assert_eq!(from_eof.encode(0), eof(3, 2));
}

#[test]
fn an_unknown_change_is_kept_as_it_is() {
    let block = b"\0\0\0\x02\x40\0\0\0\x05\x09\x03abc";
    let ok = Ok::decode(block, SESSION_TRACK).unwrap();
    let data = b"abc".to_vec();
    assert_eq!(ok.changes, [Change::Other { kind: 9, data }]);
    assert_eq!(ok.encode(SESSION_TRACK), block);
}

#[test]
fn a_change_longer_than_its_block_is_refused() {
    let what = "session change";
    let block = b"\0\0\0\x02\x40\0\0\0\x02\x01\x09";
    assert_eq!(Ok::decode(block, SESSION_TRACK), Err(Malformed { what }));
}

type Result<T, E> = std::result::Result<T, E>;
use std::result::Result::Err;

#[test]
fn errors_come_back_byte_for_byte() {
    for case in cases().iter().filter(|case| case.name.ends_with("error")) {
        let payload = payloads(&case.replies[0]).pop().unwrap();
        if payload[0] == ERR {
            assert_eq!(super::Err::decode(payload).unwrap().encode(), payload);
        }
    }
}

#[test]
fn an_error_before_the_login_has_no_state() {
    let error = super::Err::decode(b"\xff\x10\x04Too many connections").unwrap();
    assert_eq!((error.code, &error.state), (1040, b"HY000"));
    assert_eq!(error.message, b"Too many connections");
    assert_eq!(
        error.to_string(),
        "ERROR 1040 (HY000): Too many connections"
    );
    assert!(super::Err::decode(b"\xff\x10").is_err());
}

#[test]
fn captured_logins_are_understood() {
    for login in logins() {
        let packets: Vec<Login> = login
            .server
            .iter()
            .map(|payload| Login::decode(payload, login.capabilities).unwrap())
            .collect();
        assert!(
            matches!(packets.last(), Some(Login::Ok(_))),
            "{}",
            login.name
        );
        if login.name == "full path" {
            assert_eq!(packets[0], Login::More(vec![4]));
        }
    }
}

#[test]
fn a_switch_of_plugin_comes_back() {
    let scramble = [7; 20];
    let packet = auth_switch("mysql_native_password", &scramble);
    let plugin = "mysql_native_password".to_owned();
    let scramble = scramble.to_vec();
    assert_eq!(
        Login::decode(&packet, 0),
        Result::Ok(Login::Switch { plugin, scramble })
    );
    assert_eq!(
        Login::decode(&auth_more(&[3]), 0),
        Result::Ok(Login::More(vec![3]))
    );
    let old = Login::decode(&[0xfe], 0).unwrap();
    assert!(matches!(old, Login::Switch { plugin, .. } if plugin == "mysql_old_password"));
    assert!(Login::decode(&[0x42], 0).is_err());
}

#[test]
fn the_data_of_a_plugin_that_is_no_scramble_keeps_its_last_byte() {
    let mut nonce = [7; 32];
    nonce[31] = 0;
    let packet = auth_switch_with("client_ed25519", &nonce);
    let switch = Login::decode(&packet, 0).unwrap();
    assert_eq!(
        switch,
        Login::Switch {
            plugin: "client_ed25519".into(),
            scramble: nonce.to_vec()
        }
    );
    // of a scramble the NUL behind it is no part
    let packet = auth_switch("mysql_native_password", &[7; 20]);
    let Result::Ok(Login::Switch { scramble, .. }) = Login::decode(&packet, 0) else {
        panic!("no switch")
    };
    assert_eq!(scramble, [7; 20]);
}
