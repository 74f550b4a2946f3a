//! The login's messages against captured ones, and the forms that other clients send.

use super::*;
use crate::wire::capabilities::*;
use crate::wire::testdata::logins;
use crate::wire::Malformed;

#[test]
fn captured_greetings_come_back_byte_for_byte() {
    for login in logins() {
        let greeting = Greeting::decode(&login.greeting).unwrap();
        assert_eq!(greeting.encode(), login.greeting, "{}", login.name);
    }
}

#[test]
fn captured_responses_come_back_byte_for_byte() {
    for login in logins() {
        let response = Response::decode(&login.response).unwrap();
        assert_eq!(response.capabilities, login.capabilities);
        assert_eq!(response.schema.as_deref(), Some("d"));
        assert_eq!(response.encode(), login.response, "{}", login.name);
    }
}

#[test]
fn mariadb_10_hides_its_version_on_the_wire_only() {
    let login = logins().remove(0);
    let greeting = Greeting::decode(&login.greeting).unwrap();
    assert!(greeting.version.starts_with("10.11."));
    assert!(login.greeting[1..].starts_with(b"5.5.5-10.11."));
    assert_ne!(greeting.capabilities & MARIADB_STMT_BULK_OPERATIONS, 0);
    let of_11 = Greeting {
        version: "11.8.3-MariaDB".into(),
        ..greeting
    };
    assert!(of_11.encode()[1..].starts_with(b"11.8.3-MariaDB\0"));
    assert_eq!(Greeting::decode(&of_11.encode()), Ok(of_11));
}

#[test]
fn mysql_has_no_extended_capabilities() {
    let login = logins()
        .into_iter()
        .find(|login| login.name == "full path")
        .unwrap();
    let greeting = Greeting::decode(&login.greeting).unwrap();
    assert!(greeting.version.starts_with("9.7."));
    assert_eq!(greeting.capabilities >> 32, 0);
    assert_eq!(greeting.auth_plugin, "caching_sha2_password");
}

#[test]
fn a_greeting_of_another_protocol_is_refused() {
    let what = "protocol version 10";
    assert_eq!(Greeting::decode(&[9, 0]), Err(Malformed { what }));
}

#[test]
fn every_combination_of_flags_comes_back() {
    let flags = [
        CONNECT_WITH_DB,
        SECURE_CONNECTION,
        PLUGIN_AUTH,
        PLUGIN_AUTH_LENENC_CLIENT_DATA,
        CONNECT_ATTRS,
        ZSTD_COMPRESSION,
        LONG_PASSWORD,
    ];
    for mask in 0..1 << flags.len() {
        let chosen = flags.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
        let capabilities = chosen.fold(PROTOCOL_41, |sum, (_, flag)| sum | flag);
        let has = |flag: u64| capabilities & flag != 0;
        let response = Response {
            capabilities: capabilities
                | if has(LONG_PASSWORD) {
                    0
                } else {
                    MARIADB_PROGRESS
                },
            max_packet: 1 << 24,
            collation: 255,
            user: "jürgen".into(),
            auth: vec![7; 20],
            schema: has(CONNECT_WITH_DB).then(|| "shop".into()),
            auth_plugin: has(PLUGIN_AUTH).then(|| "mysql_native_password".into()),
            attributes: if has(CONNECT_ATTRS) {
                b"\x01a\x01b".to_vec()
            } else {
                vec![]
            },
            zstd_level: if has(ZSTD_COMPRESSION) { 3 } else { 0 },
        };
        assert_eq!(Response::decode(&response.encode()), Ok(response));
    }
}

#[test]
fn what_a_client_may_leave_out_may_be_missing() {
    let all = PROTOCOL_41 | SECURE_CONNECTION | CONNECT_WITH_DB | PLUGIN_AUTH | CONNECT_ATTRS;
    let mut payload = (all as u32).to_le_bytes().to_vec();
    payload.extend([0; 28]);
    // empty user, empty response, and nothing more
    payload.extend([0, 0]);
    let response = Response::decode(&payload).unwrap();
    assert_eq!((response.user.as_str(), response.auth.len()), ("", 0));
    assert_eq!((response.schema, response.auth_plugin), (None, None));
    // an empty schema is none
    payload.push(0);
    assert_eq!(Response::decode(&payload).unwrap().schema, None);
}

#[test]
fn a_response_over_255_bytes_needs_a_length_encoded_length() {
    let capabilities = PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH_LENENC_CLIENT_DATA;
    let response = Response {
        capabilities,
        auth: vec![1; 300],
        ..Response::default()
    };
    assert_eq!(
        Response::decode(&response.encode()).unwrap().auth,
        response.auth
    );
}

#[test]
fn clients_before_4_1_are_told_apart() {
    let what = "protocol 4.1";
    assert_eq!(
        Response::decode(b"\x05\xa4\0\0\0root\0"),
        Err(Malformed { what })
    );
}

#[test]
fn an_ssl_request_is_the_head_alone() {
    let mut payload = ((PROTOCOL_41 | SSL) as u32).to_le_bytes().to_vec();
    payload.extend([0; 28]);
    assert!(is_ssl_request(&payload));
    payload.push(0);
    assert!(!is_ssl_request(&payload));
    assert!(!is_ssl_request(&[0; 32]));
    assert!(!is_ssl_request(&[]));
}

#[test]
fn a_collation_over_one_byte_falls_back_to_utf8mb4() {
    let response = Response {
        capabilities: PROTOCOL_41,
        collation: 305,
        ..Response::default()
    };
    assert_eq!(Response::decode(&response.encode()).unwrap().collation, 45);
}

#[test]
fn change_user_comes_back_with_and_without_its_tail() {
    for capabilities in [
        0,
        SECURE_CONNECTION,
        SECURE_CONNECTION | PLUGIN_AUTH | CONNECT_ATTRS,
    ] {
        let change = ChangeUser {
            user: "app".into(),
            auth: vec![9; 20],
            schema: Some("d".into()),
            collation: 305,
            auth_plugin: (capabilities & PLUGIN_AUTH != 0).then(|| "x".into()),
            attributes: if capabilities & CONNECT_ATTRS != 0 {
                b"\x01a\x01b".to_vec()
            } else {
                vec![]
            },
        };
        let encoded = change.encode(capabilities);
        assert_eq!(encoded[0], 0x11);
        assert_eq!(ChangeUser::decode(&encoded[1..], capabilities), Ok(change));
    }
    let short = ChangeUser::decode(b"app\0\0\0", SECURE_CONNECTION).unwrap();
    assert_eq!((short.user.as_str(), short.collation), ("app", 0));
}

#[test]
fn every_cut_of_a_message_is_refused_or_read_but_never_more() {
    for login in logins() {
        for end in 0..login.greeting.len() {
            let _ = Greeting::decode(&login.greeting[..end]);
            assert!(end > 60 || Greeting::decode(&login.greeting[..end.min(30)]).is_err());
        }
        for end in 0..33 {
            assert!(Response::decode(&login.response[..end]).is_err());
        }
    }
}
