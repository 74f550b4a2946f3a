//! Framing, basic types, the error catalogue, text results, and every decoder against noise.

use super::bytes::{put_lenenc, put_lenenc_bytes, Reader};
use super::packet::{frame, Assembler, Header, MAX_PAYLOAD};
use super::*;

#[test]
fn length_encoded_integers_come_back_in_their_shortest_form() {
    let lengths = [
        (0, 1),
        (0xfa, 1),
        (0xfb, 3),
        (0xffff, 3),
        (0x1_0000, 4),
        (0xff_ffff, 4),
        (0x100_0000, 9),
        (u64::MAX, 9),
    ];
    for (value, length) in lengths {
        let mut out = Vec::new();
        put_lenenc(&mut out, value);
        assert_eq!(out.len(), length, "{value}");
        assert_eq!(Reader::new(&out).lenenc("value"), Ok(value));
    }
}

#[test]
fn neither_null_nor_err_nor_a_cut_is_a_length() {
    for bytes in [&b"\xfb"[..], b"\xff", b"", b"\xfc\x01", b"\xfe\x01\0\0\0"] {
        assert_eq!(Reader::new(bytes).lenenc("x"), Err(Malformed { what: "x" }));
    }
    let huge = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffabc";
    assert!(Reader::new(huge).lenenc_bytes("x").is_err());
}

#[test]
fn a_header_is_three_bytes_of_length_and_a_sequence() {
    let header = Header {
        length: 0x03_0201,
        sequence: 7,
    };
    assert_eq!(header.encode(), [1, 2, 3, 7]);
    assert_eq!(Header::decode(&[1, 2, 3, 7, 9]), Some(header));
    assert_eq!(Header::decode(&[1, 2, 3]), None);
}

#[test]
fn payloads_around_16_mib_are_split_and_joined() {
    for length in [
        0,
        1,
        MAX_PAYLOAD - 1,
        MAX_PAYLOAD,
        MAX_PAYLOAD + 1,
        2 * MAX_PAYLOAD,
    ] {
        let payload: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let mut framed = Vec::new();
        let packets = (length / MAX_PAYLOAD + 1) as u8;
        assert_eq!(
            frame(&payload, 255, &mut framed),
            255u8.wrapping_add(packets)
        );
        assert_eq!(framed.len(), length + 4 * usize::from(packets));
        let mut assembler = Assembler::new(usize::MAX);
        for chunk in framed.chunks(1 << 20) {
            assert!(assembler.pop().is_none());
            assembler.push(chunk).unwrap();
        }
        let (sequence, joined) = assembler.pop().unwrap();
        assert!(joined == payload && sequence == 254u8.wrapping_add(packets));
        assert!(assembler.rest().is_empty());
    }
}

#[test]
fn an_assembler_gives_back_what_it_did_not_use() {
    let mut assembler = Assembler::new(16);
    assembler.push(b"\x01\0\0\x05a\x02\0\0\x06b").unwrap();
    assert_eq!(assembler.pop(), Some((5, b"a".to_vec())));
    assert_eq!(assembler.pop(), None);
    assert_eq!(assembler.rest(), b"\x02\0\0\x06b");
}

#[test]
fn an_announced_length_over_the_limit_is_refused_at_once() {
    let mut assembler = Assembler::new(16);
    assert!(assembler.push(b"\x11\0\0\0").is_err());
    assert!(assembler.rest().is_empty());
    let mut assembler = Assembler::new(16);
    // the second packet may be another stage's: it is judged once it is at the front
    assembler.push(b"\x01\0\0\x05a\xff\xff\0\x06b").unwrap();
    assembler.pop().unwrap();
    assert!(assembler.push(b"c").is_err());
}

#[test]
fn the_catalogue_says_what_the_servers_say() {
    let captured = |file, name| {
        let case = testdata::case_named(file, name);
        reply::Err::decode(testdata::payloads(&case.replies[0])[0]).unwrap()
    };
    assert_eq!(
        error::unknown_database("nosuch"),
        captured(1, "eof init db unknown")
    );
    assert_eq!(error::unknown_command(), captured(0, "eof unknown command"));
    assert_eq!(
        error::malformed_packet(),
        captured(1, "no flag, count, no name")
    );
    assert_eq!(error::syntax(""), captured(1, "eof syntax error"));
    let handler = error::unknown_statement_handler(65535, "mysqld_stmt_execute");
    assert_eq!(handler, captured(0, "eof execute unknown"));
}

#[test]
fn the_catalogue_s_codes_and_states() {
    let errors = [
        (
            error::access_denied("u", "h", true),
            1045,
            "28000",
            "Access denied for user 'u'@'h' (using password: YES)",
        ),
        (
            error::access_denied("u", "h", false),
            1045,
            "28000",
            "Access denied for user 'u'@'h' (using password: NO)",
        ),
        (
            error::packets_out_of_order(),
            1156,
            "08S01",
            "Got packets out of order",
        ),
        (
            error::too_many_connections(),
            1040,
            "08004",
            "Too many connections",
        ),
        (
            error::too_many_user_connections("u"),
            1203,
            "42000",
            "User u already has more than 'max_user_connections' active connections",
        ),
        (
            error::host_not_allowed("h"),
            1130,
            "HY000",
            "Host 'h' is not allowed to connect to this MySQL server",
        ),
        (error::bad_handshake(), 1043, "08S01", "Bad handshake"),
        (
            error::packet_too_large(),
            1153,
            "08S01",
            "Got a packet bigger than 'max_allowed_packet' bytes",
        ),
        (
            error::query_interrupted(),
            1317,
            "70100",
            "Query execution was interrupted",
        ),
        (
            error::server_shutdown(),
            1053,
            "08S01",
            "Server shutdown in progress",
        ),
        (
            error::server_lost(),
            1053,
            "08S01",
            "Lost connection to the server during query: whether it took effect is not known, \
             check before you repeat it",
        ),
        (
            error::no_such_thread(5),
            1094,
            "HY000",
            "Unknown thread id: 5",
        ),
        (
            error::not_owner_of_thread(5),
            1095,
            "HY000",
            "You are not owner of thread 5",
        ),
        (error::own("no server"), 1105, "HY000", "Umpire: no server"),
    ];
    for (error, code, state, text) in errors {
        assert_eq!(error.code, code);
        assert_eq!(&error.state, state.as_bytes());
        assert_eq!(error.message, text.as_bytes());
    }
}

#[test]
fn a_long_text_is_cut_between_two_characters() {
    let error = error::own(&"é".repeat(600));
    let text = String::from_utf8(error.message).unwrap();
    assert!(text.len() <= 511 && text.len() > 500);
}

#[test]
fn a_built_result_is_followed_to_its_end_in_every_dialect() {
    use capabilities::*;
    let rows = vec![
        vec![Some("a".to_owned()), None],
        vec![Some(String::new()), Some("ü".repeat(400))],
    ];
    let flags = [
        DEPRECATE_EOF,
        OPTIONAL_RESULTSET_METADATA,
        MARIADB_CACHE_METADATA,
        MARIADB_EXTENDED_METADATA,
    ];
    for mask in 0..16 {
        let chosen = flags.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1);
        let capabilities = chosen.fold(0, |sum, (_, flag)| sum | flag);
        let mut out = Vec::new();
        let next = resultset::encode(&["name", "value"], &rows, 2, capabilities, 1, &mut out);
        let packets = testdata::payloads(&out).len();
        assert_eq!(usize::from(next), 1 + packets);
        assert_eq!(packets, if mask & 1 == 1 { 6 } else { 7 });
        let mut tracker = tracker::Tracker::new(command::QUERY, capabilities);
        let tracker::Step::Pass(passed) = tracker.step(&out).unwrap() else {
            panic!("definitions and rows are passed");
        };
        let end = tracker.step(&out[passed..]).unwrap();
        let kind = tracker::Control::ResultEnd {
            end: true,
            status: 2,
        };
        let n = out.len() - passed;
        assert_eq!(end, tracker::Step::Control { n, kind });
    }
}

#[test]
fn a_built_definition_has_the_servers_shape() {
    let mut out = Vec::new();
    resultset::encode(
        &["1"],
        &[],
        2,
        capabilities::MARIADB_EXTENDED_METADATA,
        1,
        &mut out,
    );
    let ours = testdata::payloads(&out)[1].to_vec();
    let case = testdata::case_named(0, "dep-ext select one");
    let theirs = testdata::payloads(&case.replies[0])[1].to_vec();
    assert_eq!(ours.len(), theirs.len());
    // up to the collation; then collation, width and type differ
    assert_eq!(ours[..12], theirs[..12]);
}

#[test]
fn commands_have_names_and_most_have_replies() {
    assert_eq!(command_name(command::QUERY), "COM_QUERY");
    assert_eq!(
        command_name(command::RESET_CONNECTION),
        "COM_RESET_CONNECTION"
    );
    assert_eq!(
        command_name(command::STMT_BULK_EXECUTE),
        "COM_STMT_BULK_EXECUTE"
    );
    assert_eq!(command_name(0x77), "unknown command");
    let silent: Vec<u8> = (0..=255)
        .filter(|command| !expects_reply(*command))
        .collect();
    assert_eq!(
        silent,
        [
            command::QUIT,
            command::STMT_SEND_LONG_DATA,
            command::STMT_CLOSE
        ]
    );
}

#[test]
fn no_decoder_panics_on_noise() {
    use rand::{Rng, SeedableRng};
    let mut random = rand::rngs::StdRng::seed_from_u64(0x51ed);
    let seeds = seeds();
    let (mut decoded, mut refused) = (0, 0);
    for i in 0..200_000 {
        let mut bytes = seeds[random.gen_range(0..seeds.len())].clone();
        if i % 4 == 0 {
            bytes = vec![0; random.gen_range(0..80)];
            random.fill(&mut bytes[..]);
        }
        for _ in 0..random.gen_range(0..4) {
            if let Some(at) = bytes.len().checked_sub(1) {
                bytes[random.gen_range(0..=at)] = random.gen();
            }
        }
        bytes.truncate(random.gen_range(0..=bytes.len().max(1)));
        for accepted in decode_all(&bytes, random.gen(), random.gen()) {
            *(if accepted { &mut decoded } else { &mut refused }) += 1;
        }
    }
    assert!(decoded > 10_000 && refused > 10_000);
}

fn seeds() -> Vec<Vec<u8>> {
    let logins = testdata::logins();
    let login = logins
        .iter()
        .flat_map(|login| [&login.greeting, &login.response]);
    let login = login
        .chain(logins.iter().flat_map(|login| &login.server))
        .cloned();
    let cases = testdata::cases();
    let first = cases
        .iter()
        .map(|case| testdata::payloads(&case.replies[0])[0].to_vec());
    let sent = cases.iter().map(|case| case.sent.clone());
    login
        .chain(first)
        .chain(sent)
        .filter(|seed| seed.len() < 400)
        .collect()
}

fn decode_all(bytes: &[u8], capabilities: u64, parameters: u16) -> [bool; 9] {
    let mut assembler = Assembler::new(64);
    let pushed = assembler.push(bytes).is_ok();
    while assembler.pop().is_some() {}
    let stored = auth::caching_sha2::verify_stored(b"", &bytes[..bytes.len().min(60)]);
    [
        pushed,
        handshake::Greeting::decode(bytes).is_ok(),
        handshake::Response::decode(bytes).is_ok(),
        handshake::ChangeUser::decode(bytes, capabilities).is_ok(),
        reply::Ok::decode(bytes, capabilities).is_ok(),
        reply::Login::decode(bytes, capabilities).is_ok(),
        prepare::PrepareOk::decode(bytes).is_ok(),
        prepare::Execute::decode(bytes, parameters, capabilities).is_ok(),
        stored.is_ok(),
    ]
}

#[test]
fn a_length_encoded_string_is_its_length_and_its_bytes() {
    let mut out = Vec::new();
    put_lenenc_bytes(&mut out, &[7; 300]);
    assert_eq!(out[..3], [0xfc, 0x2c, 0x01]);
    let mut reader = Reader::new(&out);
    assert_eq!(reader.lenenc_bytes("x").unwrap(), [7; 300]);
    assert!(reader.is_empty());
}
