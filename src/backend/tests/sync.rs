use crate::backend::{fit, sync_commands, sync_commands_with, Fit, State};
use crate::wire::capabilities;
use std::rc::Rc;

fn utf8() -> State {
    State::default()
        .with_variable(b"character_set_client", b"utf8mb4")
        .with_variable(b"character_set_connection", b"utf8mb4")
        .with_variable(b"character_set_results", b"utf8mb4")
        .with_variable(b"collation_connection", b"utf8mb4_general_ci")
}

/// The commands as text: command byte as a digit, then the rest.
fn commands(have: &State, want: &State, guarded: bool) -> Vec<String> {
    let mut out = Vec::new();
    let count = sync_commands(have, want, guarded, &mut out);
    let mut texts = Vec::new();
    let mut rest = &out[..];
    while let [a, b, c, sequence, body @ ..] = rest {
        assert_eq!(*sequence, 0);
        let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
        let (payload, after) = body.split_at(length);
        texts.push(format!(
            "{} {}",
            payload[0],
            String::from_utf8_lossy(&payload[1..])
        ));
        rest = after;
    }
    assert!(rest.is_empty());
    assert_eq!(texts.len(), count);
    texts
}

fn set(name: &str, value: &[u8]) -> String {
    let texts = commands(
        &utf8(),
        &utf8().with_variable(name.as_bytes(), value),
        false,
    );
    assert_eq!(texts.len(), 1);
    texts[0].clone()
}

#[test]
fn equal_states_need_nothing() {
    assert!(commands(&utf8(), &utf8(), false).is_empty());
    let state = Rc::new(utf8());
    assert_eq!(fit(&state, &state.clone(), true), Fit::Exact);
    assert_eq!(
        fit(&state, &Rc::new(utf8()), true),
        Fit::Exact,
        "also when they are not interned"
    );
}

#[test]
fn a_schema_that_a_reset_kept_lacks_its_collation_until_it_is_used_again() {
    let shop = utf8().with_schema(b"shop");
    let kept = utf8().with_schema_after_reset(Some((*b"shop").into()));
    let crm = utf8().with_schema_after_reset(Some((*b"crm").into()));
    let global = "3 SET @@SESSION.collation_database=@@GLOBAL.collation_database";
    assert_eq!(commands(&shop, &kept, false), [global]);
    assert_eq!(commands(&utf8(), &kept, false), ["2 shop", global]);
    assert_eq!(commands(&crm, &kept, false), ["2 shop", global]);
    assert_eq!(commands(&kept, &shop, false), ["2 shop"]);
    assert_eq!(commands(&crm, &shop, false), ["2 shop"]);
    assert_eq!(kept.with_schema(b"shop"), shop);
    assert_eq!(utf8().with_schema_after_reset(None), utf8());
    assert_eq!(fit(&Rc::new(kept), &Rc::new(shop), true), Fit::Sync(2));
}

#[test]
fn a_schema_is_selected_by_init_db() {
    let want = utf8().with_schema(b"shop");
    assert_eq!(commands(&utf8(), &want, false), ["2 shop"]);
    assert_eq!(
        commands(&utf8().with_schema(b"other"), &want, false),
        ["2 shop"]
    );
    assert_eq!(fit(&Rc::new(utf8()), &Rc::new(want), true), Fit::Sync(1));
}

#[test]
fn a_schema_cannot_be_unselected() {
    assert_eq!(
        fit(
            &Rc::new(utf8().with_schema(b"shop")),
            &Rc::new(utf8()),
            true
        ),
        Fit::Impossible
    );
}

#[test]
fn a_character_set_that_is_not_named_cannot_be_guessed() {
    assert_eq!(
        fit(&Rc::new(utf8()), &Rc::new(State::default()), true),
        Fit::Impossible
    );
}

#[test]
fn all_variables_go_in_one_statement_and_back_to_their_defaults() {
    let have = utf8()
        .with_variable(b"sql_mode", b"ANSI")
        .with_variable(b"wait_timeout", b"100");
    let want = utf8()
        .with_variable(b"autocommit", b"0")
        .with_variable(b"wait_timeout", b"200");
    let expected =
        "3 SET @@SESSION.autocommit='OFF',@@SESSION.sql_mode=DEFAULT,@@SESSION.wait_timeout=200";
    assert_eq!(commands(&have, &want, false), [expected]);
    assert_eq!(
        fit(&Rc::new(have), &Rc::new(want.with_schema(b"d")), true),
        Fit::Sync(2)
    );
}

#[test]
fn checks_go_back_to_the_global_value_where_default_is_the_opposite() {
    let have = utf8()
        .with_variable(b"foreign_key_checks", b"OFF")
        .with_variable(b"sql_safe_updates", b"ON")
        .with_variable(b"unique_checks", b"OFF");
    let expected = "3 SET @@SESSION.foreign_key_checks=@@GLOBAL.foreign_key_checks,\
                    @@SESSION.sql_safe_updates=DEFAULT,@@SESSION.unique_checks=@@GLOBAL.unique_checks";
    assert_eq!(commands(&have, &utf8(), false), [expected]);
}

#[test]
fn the_character_set_of_the_connection_follows_its_collation() {
    let latin1 = utf8()
        .with_variable(b"character_set_client", b"latin1")
        .with_variable(b"character_set_connection", b"latin1")
        .with_variable(b"collation_connection", b"latin1_bin");
    let expected =
        "3 SET @@SESSION.character_set_client='latin1',@@SESSION.collation_connection='latin1_bin'";
    assert_eq!(commands(&utf8(), &latin1, false), [expected]);
}

#[test]
fn a_default_collation_is_left_to_the_server() {
    let latin1 = utf8().with_tracked(b"character_set_connection", b"latin1");
    assert_eq!(
        commands(&utf8(), &latin1, false),
        ["3 SET @@SESSION.character_set_connection='latin1'"]
    );
    let utf16 = latin1.with_tracked(b"character_set_connection", b"utf16");
    assert_eq!(
        commands(&latin1, &utf16, false),
        ["3 SET @@SESSION.character_set_connection='utf16'"],
        "both collations are defaults, of different character sets"
    );
    assert_eq!(
        commands(&latin1, &utf8(), false),
        ["3 SET @@SESSION.collation_connection='utf8mb4_general_ci'"]
    );
}

#[test]
fn an_empty_character_set_is_null_and_other_empty_values_are_empty() {
    assert_eq!(
        set("character_set_results", b""),
        "3 SET @@SESSION.character_set_results=NULL"
    );
    assert_eq!(set("sql_mode", b""), "3 SET @@SESSION.sql_mode=''");
}

#[test]
fn numbers_are_not_quoted_and_what_looks_like_one_only_at_first_is() {
    for number in ["0", "100", "-1", "1234.000000", "1e-05", "1.5E+10"] {
        assert_eq!(
            set("x", number.as_bytes()),
            format!("3 SET @@SESSION.x={number}")
        );
    }
    for text in ["+00:00", "1.", ".5", "-", "1e", "1 ", "0x10", "1-1", "1e+"] {
        assert_eq!(
            set("x", text.as_bytes()),
            format!("3 SET @@SESSION.x='{text}'")
        );
    }
}

#[test]
fn no_value_can_leave_its_quotes() {
    for value in [&b"a'b"[..], b"a\\", b"\xbf'", b"\xe9", b"\n", b"\0"] {
        let hex: String = value.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(
            set("x", value),
            format!("3 SET @@SESSION.x=_utf8mb4 x'{hex}'")
        );
    }
    assert_eq!(set("x", b"a\";--"), "3 SET @@SESSION.x='a\";--'");
}

#[test]
fn a_guarded_connection_keeps_its_guard() {
    for name in [&b"transaction_read_only"[..], b"tx_read_only"] {
        let want = utf8().with_variable(name, b"OFF");
        assert!(commands(&utf8(), &want, true).is_empty());
        assert!(commands(&want, &utf8(), true).is_empty());
        assert_eq!(commands(&utf8(), &want, false).len(), 1);
    }
}

#[test]
fn a_schema_in_another_script_is_named_in_utf8() {
    let latin1 = utf8().with_variable(b"character_set_client", b"latin1");
    let name = "é".as_bytes();
    assert_eq!(
        commands(&latin1, &latin1.with_schema(name), false),
        [
            "3 SET @@SESSION.character_set_client=utf8mb4",
            "2 é",
            "3 SET @@SESSION.character_set_client='latin1'"
        ]
    );
    assert_eq!(
        commands(&latin1, &utf8().with_schema(name), false),
        [
            "3 SET @@SESSION.character_set_client=utf8mb4",
            "2 é",
            "3 SET @@SESSION.character_set_client='utf8mb4'"
        ]
    );
    assert_eq!(commands(&utf8(), &utf8().with_schema(name), false), ["2 é"]);
}

#[test]
fn query_attributes_change_the_form_of_a_query() {
    let mut out = Vec::new();
    let want = utf8().with_variable(b"x", b"1");
    let count = sync_commands_with(
        &utf8(),
        &want,
        false,
        capabilities::QUERY_ATTRIBUTES,
        &mut out,
    );
    assert_eq!(count, 1);
    assert_eq!(out, b"\x14\0\0\0\x03\0\x01SET @@SESSION.x=1");
}

fn with_user(state: State, variables: &[(&str, &str)]) -> State {
    let set = variables
        .iter()
        .map(|(n, v)| (n.as_bytes().into(), v.as_bytes().into()));
    state.with_user_variables(set.collect())
}

#[test]
fn user_variables_are_set_and_those_of_others_look_as_never_set() {
    let have = with_user(utf8(), &[("a", "1"), ("b", "2"), ("gone", "3")]);
    let want = with_user(
        utf8(),
        &[("a", "1"), ("b", "NULL"), ("new", "_utf8mb4 x'78'")],
    );
    assert_eq!(
        commands(&have, &want, false),
        ["3 SET @`gone`=/*M! _binary*/'',@`gone`=NULL,@`b`=NULL,@`new`=_utf8mb4 x'78'"]
    );
    let (have, want) = (Rc::new(have), Rc::new(want));
    assert_eq!(fit(&have, &want, true), Fit::Sync(1));
    // MySQL cannot be told to forget the one that is gone
    assert_eq!(fit(&have, &want, false), Fit::Impossible);
    let more = Rc::new(with_user((*have).clone(), &[("new", "1")]));
    assert_eq!(fit(&have, &more, false), Fit::Sync(1));
}

#[test]
fn the_collation_of_results_comes_by_set_names() {
    let greeted = utf8().with_variable(b"collation_results", b"utf8mb4_unicode_ci");
    assert_eq!(
        commands(&utf8(), &greeted, false),
        ["3 SET NAMES 'utf8mb4' COLLATE 'utf8mb4_unicode_ci',\
             @@SESSION.collation_connection='utf8mb4_general_ci'"]
    );
    let named = greeted
        .with_tracked(b"character_set_results", b"utf8mb4")
        .with_variable(b"wait_timeout", b"5");
    assert_eq!(
        commands(&greeted, &named, false),
        ["3 SET @@SESSION.character_set_results='utf8mb4',@@SESSION.wait_timeout=5"]
    );
}
