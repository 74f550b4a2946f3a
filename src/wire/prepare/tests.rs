//! Prepared statements' packets, captured and made.

use super::*;
use crate::wire::testdata::{case_named, payloads};

#[test]
fn a_prepare_reply_tells_what_follows() {
    let case = case_named(1, "dep-meta prepare both");
    let payload = payloads(&case.replies[0])[0];
    let prepared = PrepareOk::decode(payload).unwrap();
    assert_eq!((prepared.columns, prepared.parameters), (2, 2));
    assert_eq!(prepared.encode(case.capabilities), payload);
    let case = case_named(0, "eof prepare call");
    let payload = payloads(&case.replies[0])[0];
    let prepared = PrepareOk::decode(payload).unwrap();
    assert_eq!((prepared.columns, prepared.parameters), (0, 1));
    assert_eq!(prepared.encode(case.capabilities), payload);
    assert!(PrepareOk::decode(b"\xff\0\0\0\0\0\0\0\0").is_err());
}

#[test]
fn an_execute_s_types_are_found() {
    let case = case_named(0, "eof execute rows");
    let execute = Execute::decode(&case.sent, 2, case.capabilities).unwrap();
    assert_eq!((execute.flags, execute.iterations), (0, 1));
    assert_eq!(execute.bound_flag_at, Some(11));
    assert_eq!(execute.types, Some(12..16));
    assert_eq!(&case.sent[12..16], b"\x03\0\x03\0");
    let case = case_named(0, "eof execute columns");
    let execute = Execute::decode(&case.sent, 0, case.capabilities).unwrap();
    assert_eq!((execute.bound_flag_at, execute.types), (None, None));
}

#[test]
fn with_query_attributes_count_and_names_are_there_whatever_the_flag() {
    for name in ["no flag, count, name", "flag, count, name"] {
        let case = case_named(1, name);
        let execute = Execute::decode(&case.sent, 1, case.capabilities).unwrap();
        assert_eq!(execute.bound_flag_at, Some(12));
        assert_eq!(execute.types, Some(13..16), "{name}");
    }
    let case = case_named(1, "flag, count, name, later");
    let execute = Execute::decode(&case.sent, 1, case.capabilities).unwrap();
    assert_eq!((execute.bound_flag_at, execute.types), (Some(12), None));
}

#[test]
fn types_are_put_back_in() {
    let case = case_named(1, "flag, count, name");
    let bound = Execute::decode(&case.sent, 1, case.capabilities).unwrap();
    let types = &case.sent[bound.types.unwrap()];
    let later = case_named(1, "flag, count, name, later");
    let unbound = Execute::decode(&later.sent, 1, later.capabilities).unwrap();
    let again = with_types(&later.sent, unbound.bound_flag_at.unwrap(), types);
    assert_eq!(again, case.sent);
    assert_eq!(with_types(b"short", 99, types), b"short");
}

#[test]
fn the_first_part_of_a_long_execute_is_enough() {
    let case = case_named(0, "eof execute rows");
    assert!(Execute::decode(&case.sent[..16], 2, case.capabilities).is_ok());
    assert!(Execute::decode(&case.sent[..15], 2, case.capabilities).is_err());
    assert!(Execute::decode(&case.sent[..9], 0, case.capabilities).is_err());
}

#[test]
fn a_statement_id_is_read_and_replaced() {
    let mut payload = b"\x17\x01\0\0\0\0\x01\0\0\0".to_vec();
    assert!(set_statement_id(&mut payload, 0x0403_0201));
    assert_eq!(statement_id(&payload), Ok(0x0403_0201));
    assert_eq!(payload[5..], [0, 1, 0, 0, 0]);
    assert!(!set_statement_id(&mut payload[..4], 1));
    assert!(statement_id(&payload[..4]).is_err());
}

#[test]
fn what_an_execute_gives_is_found_where_it_lies() {
    use crate::wire::capabilities::QUERY_ATTRIBUTES;
    use crate::wire::column::kind;
    let bound = |kind, raw: Option<&[u8]>| Bound {
        kind,
        unsigned: kind == kind::LONGLONG,
        raw: raw.map(<[u8]>::to_vec),
    };
    let values = [
        bound(kind::LONGLONG, Some(&7u64.to_le_bytes())),
        bound(0xfd, Some(b"\x03abc")),
        bound(kind::DATE, None),
        bound(kind::TINY, Some(b"\x05")),
    ];
    for capabilities in [0, QUERY_ATTRIBUTES] {
        let payload = encode_execute(9, values.iter(), capabilities);
        let head = Execute::decode(&payload, 4, capabilities).unwrap();
        let given = |payload, long| {
            let given = head.given(payload, 4, None, capabilities, long);
            given.map(Iterator::collect::<Vec<Given<'_>>>)
        };
        let expected: Vec<Given<'_>> = values.iter().map(Bound::given).collect();
        assert_eq!(given(&payload, false), Some(expected.clone()));
        // the first part of a command: the second text is cut
        let cut = given(&payload[..payload.len() - 3], false).unwrap();
        assert_eq!(cut[0], expected[0]);
        assert_eq!(cut[1].content, Content::Elsewhere);
        assert_eq!(cut[3].content, Content::Elsewhere);
        let long = given(&payload, true).unwrap();
        assert_eq!(long[0].content, Content::Elsewhere);
        assert_eq!((long[2].content, long[3].kind), (Content::Null, kind::TINY));
    }
}
