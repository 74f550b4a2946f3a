//! The tracker against replies of real servers, against made ones, and against noise.

use super::*;
use crate::wire::capabilities::*;
use crate::wire::command;
use crate::wire::packet::frame;
use crate::wire::status::*;
use crate::wire::testdata::{case_named, cases, Case};

const MARIADB: usize = 0;
const MYSQL: usize = 1;

/// Drives a tracker over a reply of which `first` bytes come at first, then `chunk` at a time.
/// Returns the control packets and how many bytes were passed.
fn run(
    tracker: &mut Tracker,
    reply: &[u8],
    first: usize,
    chunk: usize,
) -> Result<(Vec<Control>, usize), Malformed> {
    let (mut at, mut have) = (0, first.min(reply.len()));
    let (mut controls, mut passed) = (Vec::new(), 0);
    while at < reply.len() {
        if at == have {
            have = (have + chunk).min(reply.len());
        }
        match tracker.step(&reply[at..have])? {
            Step::Pass(n) => {
                assert!(n > 0 && n <= have - at);
                (at, passed) = (at + n, passed + n);
            }
            Step::Control { n, kind } => {
                assert!(n > 4 && n <= have - at);
                at += n;
                controls.push(kind);
            }
            Step::OverLimit { .. } => panic!("no limit is set"),
            Step::NeedMore => {
                assert!(have < reply.len(), "needs more than the whole reply");
                have = (have + chunk).min(reply.len());
            }
        }
    }
    Ok((controls, passed))
}

fn run_case(case: &Case, first: usize, chunk: usize) -> (Vec<Control>, usize, Tracker) {
    let mut tracker = Tracker::new(case.command, case.capabilities);
    let (mut controls, mut passed) = (Vec::new(), 0);
    for reply in &case.replies {
        assert!(!tracker.done(), "{} ended early", case.name);
        let (more, n) = run(&mut tracker, reply, first, chunk)
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        controls.extend(more);
        passed += n;
        if tracker.infile_pending() {
            tracker.infile_sent();
        }
    }
    (controls, passed, tracker)
}

fn query(capabilities: u64) -> Tracker {
    Tracker::new(command::QUERY, capabilities)
}

/// Frames payloads one after the other.
fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sequence = 1;
    for payload in payloads {
        sequence = frame(payload, sequence, &mut out);
    }
    out
}

const DEFINITION: &[u8] =
    b"\x03def\x00\x00\x00\x011\x00\x0c?\x00\x01\x00\x00\x00\x03\x81\x00\x00\x00\x00";
const EOF: &[u8] = b"\xfe\x00\x00\x02\x00";
const OK_END: &[u8] = b"\xfe\x00\x00\x02\x00\x00\x00";

#[test]
fn every_captured_reply_ends_with_its_last_byte() {
    let cases = cases();
    assert!(cases.len() > 700);
    for case in cases {
        let (controls, _, tracker) = run_case(&case, usize::MAX, 1);
        assert!(tracker.done(), "{} did not end: {controls:?}", case.name);
        let ends = controls.iter().filter(|kind| kind.ends()).count();
        let by_definition = case.command == command::STMT_PREPARE && ends == 0;
        assert!(ends == 1 || by_definition, "{}: {controls:?}", case.name);
    }
}

#[test]
fn a_reply_split_at_any_byte_gives_the_same_controls_and_bytes() {
    for case in cases() {
        let (controls, passed, _) = run_case(&case, usize::MAX, 1);
        let longest = case.replies.iter().map(Vec::len).max().unwrap();
        let stride = 1 + longest / 700;
        for first in (0..longest).step_by(stride) {
            let (again, bytes, tracker) = run_case(&case, first, usize::MAX / 2);
            assert_eq!(
                (&again, bytes),
                (&controls, passed),
                "{} at {first}",
                case.name
            );
            assert!(tracker.done());
        }
        let (again, bytes, _) = run_case(&case, 1, 1);
        assert_eq!((again, bytes), (controls, passed), "{} bytewise", case.name);
    }
}

#[test]
fn bytes_behind_the_end_are_an_error() {
    for case in cases() {
        let (_, _, mut tracker) = run_case(&case, usize::MAX, 1);
        assert!(tracker.step(&[1, 0, 0, 0, 0]).is_err(), "{}", case.name);
    }
}

#[test]
fn a_point_select_takes_two_steps() {
    for (file, name) in [(MARIADB, "eof point select"), (MYSQL, "dep point select")] {
        let case = case_named(file, name);
        let reply = &case.replies[0];
        let mut tracker = query(case.capabilities);
        let Ok(Step::Pass(passed)) = tracker.step(reply) else {
            panic!("the definitions and the row are passed");
        };
        let status = AUTOCOMMIT;
        let kind = Control::ResultEnd { end: true, status };
        let n = reply.len() - passed;
        assert_eq!(
            tracker.step(&reply[passed..]),
            Ok(Step::Control { n, kind })
        );
        assert!(tracker.done() && !tracker.untouched());
    }
}

#[test]
fn it_is_small() {
    // a cache line, with the counts of rows and bytes
    assert!(std::mem::size_of::<Tracker>() <= 64);
}

#[test]
fn every_result_of_a_call_is_counted() {
    let status = AUTOCOMMIT | MORE_RESULTS;
    for (file, name) in [(MARIADB, "eof call"), (MYSQL, "dep call")] {
        let (controls, ..) = run_case(&case_named(file, name), usize::MAX, 1);
        let expected = [
            Control::ResultEnd { end: false, status },
            Control::ResultEnd { end: false, status },
            Control::Ok {
                end: true,
                status: AUTOCOMMIT,
            },
        ];
        assert_eq!(controls, expected, "{name}");
    }
}

#[test]
fn out_parameters_are_a_result_of_their_own() {
    let (controls, ..) = run_case(
        &case_named(MYSQL, "dep execute out parameters"),
        usize::MAX,
        1,
    );
    let out = AUTOCOMMIT | MORE_RESULTS | PS_OUT_PARAMS;
    assert_eq!(
        controls[1],
        Control::ResultEnd {
            end: false,
            status: out
        }
    );
    assert_eq!(controls.len(), 3);
    // without DEPRECATE_EOF the EOF behind them says that nothing follows, and the OK follows
    let (controls, ..) = run_case(
        &case_named(MYSQL, "eof execute out parameters"),
        usize::MAX,
        1,
    );
    let status = AUTOCOMMIT;
    assert_eq!(controls[1], Control::ResultEnd { end: false, status });
    assert_eq!(controls[2], Control::Ok { end: true, status });
}

#[test]
fn an_opened_cursor_ends_the_reply_behind_the_definitions() {
    for file in [MARIADB, MYSQL] {
        let (controls, ..) = run_case(&case_named(file, "eof execute cursor"), usize::MAX, 1);
        assert!(
            matches!(controls[..], [Control::ColumnsEnd { end: true, status }] if status & CURSOR_EXISTS != 0)
        );
        let (controls, ..) = run_case(&case_named(file, "dep execute cursor"), usize::MAX, 1);
        assert!(
            matches!(controls[..], [Control::ResultEnd { end: true, status }] if status & CURSOR_EXISTS != 0)
        );
        let (controls, ..) = run_case(&case_named(file, "eof fetch rest"), usize::MAX, 1);
        assert!(
            matches!(controls[..], [Control::ResultEnd { end: true, status }] if status & LAST_ROW_SENT != 0)
        );
    }
}

#[test]
fn prepare_ends_with_an_eof_or_with_its_last_definition() {
    let (controls, ..) = run_case(&case_named(MYSQL, "eof prepare both"), usize::MAX, 1);
    let status = AUTOCOMMIT;
    assert_eq!(
        controls,
        [
            Control::Prepared { end: false },
            Control::ColumnsEnd { end: true, status }
        ]
    );
    let (controls, ..) = run_case(&case_named(MYSQL, "dep prepare both"), usize::MAX, 1);
    assert_eq!(controls, [Control::Prepared { end: false }]);
    let (controls, ..) = run_case(
        &case_named(MYSQL, "dep-meta prepare no metadata"),
        usize::MAX,
        1,
    );
    assert_eq!(controls, [Control::Prepared { end: true }]);
}

#[test]
fn the_client_s_file_is_asked_for_between_two_packets() {
    for file in [MARIADB, MYSQL] {
        let case = case_named(file, "dep infile");
        assert_eq!(case.replies.len(), 2);
        let (controls, passed, _) = run_case(&case, usize::MAX, 1);
        assert!(matches!(
            controls[..],
            [Control::LocalInfile, Control::Ok { end: true, .. }]
        ));
        assert_eq!(passed, 0);
    }
}

#[test]
fn results_may_precede_and_follow_the_client_s_file() {
    for file in [MARIADB, MYSQL] {
        let (controls, ..) = run_case(&case_named(file, "dep multi infile"), usize::MAX, 1);
        let ends: Vec<bool> = controls.iter().map(|kind| kind.ends()).collect();
        assert_eq!(ends, [false, false, false, true]);
        assert_eq!(controls[1], Control::LocalInfile);
    }
}

#[test]
fn a_cursor_asked_for_may_not_be_opened() {
    for file in [MARIADB, MYSQL] {
        let (controls, ..) = run_case(
            &case_named(file, "eof execute cursor on call"),
            usize::MAX,
            1,
        );
        assert_eq!(controls.len(), 3);
        let case = case_named(file, "eof execute cursor on explain");
        let (controls, ..) = run_case(&case, usize::MAX, 1);
        assert!(matches!(
            controls[..],
            [Control::ResultEnd { end: true, .. }]
        ));
    }
}

#[test]
fn change_user_may_switch_the_plugin() {
    let (controls, ..) = run_case(&case_named(MARIADB, "dep change user"), usize::MAX, 1);
    assert!(matches!(
        controls[..],
        [Control::Auth, Control::Ok { end: true, .. }]
    ));
    let (controls, ..) = run_case(&case_named(MYSQL, "dep change user"), usize::MAX, 1);
    assert!(matches!(
        controls[..],
        [Control::Auth, Control::Auth, Control::Ok { end: true, .. }]
    ));
}

#[test]
fn statistics_is_text_and_field_list_ends_like_rows() {
    let (controls, passed, _) = run_case(&case_named(MYSQL, "eof statistics"), usize::MAX, 1);
    assert_eq!((&controls[..], passed), (&[Control::Text][..], 0));
    for name in ["eof field list", "dep field list"] {
        let (controls, passed, _) = run_case(&case_named(MYSQL, name), usize::MAX, 1);
        assert!(matches!(controls[..], [Control::ResultEnd { end: true, .. }]) && passed > 0);
    }
}

#[test]
fn an_error_amid_rows_ends_the_reply() {
    let case = case_named(MARIADB, "dep error in rows");
    let (controls, passed, tracker) = run_case(&case, usize::MAX, 1);
    assert_eq!(controls, [Control::Err]);
    assert!(passed > 0 && !tracker.untouched());
}

#[test]
fn a_refusal_leaves_the_reply_untouched() {
    let case = case_named(MYSQL, "dep syntax error");
    let (controls, _, tracker) = run_case(&case, usize::MAX, 1);
    assert_eq!(controls, [Control::Err]);
    assert!(tracker.untouched());
    let (_, _, tracker) = run_case(&case_named(MYSQL, "dep multi error"), usize::MAX, 1);
    assert!(!tracker.untouched());
}

#[test]
fn a_first_control_packet_that_more_follows_touches_the_reply() {
    let prepared = packets(&[b"\x00\x01\0\0\0\x01\0\0\0\0\0\0"]);
    let mut tracker = Tracker::new(command::STMT_PREPARE, 0);
    assert!(matches!(tracker.step(&prepared), Ok(Step::Control { .. })));
    assert!(!tracker.done() && !tracker.untouched());
}

#[test]
fn a_row_over_16_mib_may_continue_with_any_byte() {
    // the first value fills packets whose payloads begin with 0xfe and 0xff
    let mut row = vec![0xff; MAX_PAYLOAD * 2 + 10];
    row[0] = 0xfe;
    row[1..9].copy_from_slice(&((MAX_PAYLOAD * 2 + 1) as u64).to_le_bytes());
    for (capabilities, end) in [(DEPRECATE_EOF, OK_END), (0, EOF)] {
        let mut parts: Vec<&[u8]> = vec![b"\x01", DEFINITION];
        if capabilities == 0 {
            parts.push(EOF);
        }
        parts.extend([&row[..], &row[..], end]);
        let reply = packets(&parts);
        for chunk in [1 << 14, 4099, 1 << 26] {
            let mut tracker = query(capabilities);
            let (controls, passed) = run(&mut tracker, &reply, chunk, chunk).unwrap();
            assert_eq!(
                controls,
                [Control::ResultEnd {
                    end: true,
                    status: AUTOCOMMIT
                }]
            );
            assert_eq!(passed, reply.len() - 4 - end.len());
            assert!(tracker.done());
        }
    }
}

#[test]
fn a_row_that_fills_a_packet_exactly_is_followed_by_an_empty_one() {
    let row = vec![0xfa; MAX_PAYLOAD];
    let reply = packets(&[b"\x01", DEFINITION, &row, &row, b"\x011", OK_END]);
    for chunk in [1 << 14, 4099, 1 << 26] {
        let mut tracker = query(DEPRECATE_EOF);
        let (controls, _) = run(&mut tracker, &reply, chunk, chunk).unwrap();
        assert_eq!(controls.len(), 1);
        assert!(tracker.done());
    }
}

#[test]
fn a_row_that_begins_with_0xfe_is_no_eof() {
    // a value announced by eight bytes, in a packet that is short of 16 MiB
    let row = b"\xfe\x02\0\0\0\0\0\0\0ab";
    let reply = packets(&[b"\x01", DEFINITION, EOF, row, EOF]);
    let (controls, _) = run(&mut query(0), &reply, 3, 3).unwrap();
    assert_eq!(controls.len(), 1);
}

#[test]
fn progress_reports_are_passed() {
    let case = case_named(MARIADB, "dep progress reports");
    let (controls, passed, tracker) = run_case(&case, usize::MAX, 1);
    assert!(matches!(controls[..], [Control::Ok { end: true, .. }]) && tracker.done());
    assert!(passed > 50);
    let report = b"\xff\xff\xff\x01\x01\x02\x10\x27\x00\x05Stage";
    let ok = b"\x00\x00\x00\x02\x00\x00\x00";
    let reply = packets(&[report, report, ok]);
    let mut tracker = query(MARIADB_PROGRESS);
    let (controls, passed) = run(&mut tracker, &reply, usize::MAX, 1).unwrap();
    assert_eq!(
        controls,
        [Control::Ok {
            end: true,
            status: AUTOCOMMIT
        }]
    );
    assert_eq!(passed, reply.len() - 11);
}

#[test]
fn an_error_with_the_number_of_progress_reports_ends_the_reply() {
    let reply = packets(&[b"\xff\xff\xff#HY000Unhandled user-defined exception condition"]);
    for capabilities in [0, MARIADB_PROGRESS] {
        let mut tracker = query(capabilities);
        let (controls, _) = run(&mut tracker, &reply, usize::MAX, 1).unwrap();
        assert!(matches!(controls[..], [Control::Err]) && tracker.done());
    }
}

#[test]
fn what_cannot_be_a_reply_is_refused() {
    let huge_ok = [0xff, 0xff, 0x7f, 1, 0];
    assert!(query(0).step(&huge_ok).is_err());
    // OK too short, too many columns, a column count with a tail, an empty packet, EOF as definition
    for payloads in [
        &[&b"\x00\x00"[..]][..],
        &[b"\xfd\xff\xff\xff"],
        &[b"\x01\x00"],
        &[b""],
        &[b"\x02", EOF],
        &[b"\x01", DEFINITION, DEFINITION],
    ] {
        let reply = packets(payloads);
        assert!(
            run(&mut query(0), &reply, usize::MAX, 1).is_err(),
            "{payloads:?}"
        );
    }
    let row = packets(&[b"\x01"]);
    assert!(Tracker::new(command::PING, 0).step(&row).is_err());
    assert!(Tracker::new(command::STMT_PREPARE, 0).step(&row).is_err());
}

#[test]
fn more_results_means_nothing_behind_a_ping() {
    let ok = packets(&[b"\x00\x00\x00\x0a\x00\x00\x00"]);
    let mut tracker = Tracker::new(command::PING, 0);
    tracker.step(&ok).unwrap();
    assert!(tracker.done());
}

#[test]
fn no_bytes_are_needed_more_of() {
    assert_eq!(query(0).step(&[]), Ok(Step::NeedMore));
    assert_eq!(query(0).step(&[1, 0, 0, 1]), Ok(Step::NeedMore));
}

#[test]
fn noise_never_panics_and_mutated_replies_are_followed_or_refused() {
    use rand::{Rng, SeedableRng};
    let mut random = rand::rngs::StdRng::seed_from_u64(0x7a3c);
    let cases = cases();
    let mut refused = 0;
    for i in 0..200_000 {
        let command = random.gen::<u8>();
        let (mut bytes, command, capabilities) = if i % 2 == 0 {
            let mut bytes = vec![0; random.gen_range(1..200)];
            random.fill(&mut bytes[..]);
            (bytes, command, random.gen::<u64>())
        } else {
            let case = &cases[random.gen_range(0..cases.len())];
            let end = case.replies[0].len().min(400);
            (
                case.replies[0][..end].to_vec(),
                case.command,
                case.capabilities,
            )
        };
        for _ in 0..random.gen_range(0..4) {
            let at = random.gen_range(0..bytes.len());
            bytes[at] = random.gen();
        }
        // lengths that end inside the buffer lead further than noise does
        if i % 3 == 0 {
            bytes
                .iter_mut()
                .skip(1)
                .step_by(7)
                .for_each(|byte| *byte = 0);
        }
        if !expects_reply(command) {
            continue;
        }
        refused += usize::from(follow(Tracker::new(command, capabilities), &bytes).is_err());
    }
    assert!(refused > 10_000);
}

/// To the end of the bytes, of the reply, or to an error.
fn follow(mut tracker: Tracker, bytes: &[u8]) -> Result<(), Malformed> {
    let mut at = 0;
    while at < bytes.len() && !tracker.done() {
        match tracker.step(&bytes[at..])? {
            Step::Pass(n) | Step::Control { n, .. } => at += n,
            Step::NeedMore => break,
            Step::OverLimit { .. } => panic!("no limit is set"),
        }
        assert!(at <= bytes.len());
    }
    Ok(())
}

/// A result of `rows` rows of one column, and where each packet begins.
fn result(rows: usize) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let row = vec![Some("0123456789".to_string())];
    let flags = super::super::status::AUTOCOMMIT;
    super::super::resultset::encode(&["c"], &vec![row; rows], flags, 0, 1, &mut bytes);
    let mut starts = vec![0];
    while let Some(header) = Header::decode(&bytes[*starts.last().unwrap()..]) {
        starts.push(starts.last().unwrap() + HEADER + header.length);
    }
    (bytes, starts)
}

/// Bytes passed before the limit, and the sequence number of the packet that was not.
fn passed_before_limit(reply: &[u8], chunk: usize, rows: u64, bytes: u64) -> Option<(usize, u8)> {
    let mut tracker = Tracker::new(crate::wire::command::QUERY, 0);
    tracker.limit(rows, bytes);
    let (mut at, mut have) = (0, 0);
    while !tracker.done() {
        have = (have + chunk).min(reply.len()).max(at + 1);
        match tracker.step(&reply[at..have.min(reply.len())]).unwrap() {
            Step::Pass(n) | Step::Control { n, .. } => at += n,
            Step::NeedMore => {}
            Step::OverLimit { sequence } => return Some((at, sequence)),
        }
    }
    None
}

#[test]
fn a_result_over_its_limits_stops_in_front_of_the_row_that_is_too_much() {
    let (reply, starts) = result(10);
    // count, definition, EOF, rows
    let row = |n: usize| starts[3 + n];
    for chunk in [1, 2, 5, 7, 64, 4096] {
        for rows in [0, 1, 3, 9] {
            let limit = rows as u64;
            let cut = passed_before_limit(&reply, chunk, limit, u64::MAX);
            assert_eq!(cut, Some((row(rows), 4 + rows as u8)), "chunk {chunk}");
            let bytes = (row(rows) - row(0)) as u64;
            for slack in [0, 1, 14] {
                let cut = passed_before_limit(&reply, chunk, u64::MAX, bytes + slack);
                assert_eq!(cut, Some((row(rows), 4 + rows as u8)), "chunk {chunk}");
            }
        }
        assert_eq!(passed_before_limit(&reply, chunk, 10, u64::MAX), None);
        let all = (row(10) - row(0)) as u64;
        assert_eq!(passed_before_limit(&reply, chunk, u64::MAX, all), None);
    }
}
