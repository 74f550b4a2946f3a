//! The examples of docs/sharding.md are run: what the document says is what happens, on both kinds of server.
//!
//! Blocks marked `toml session` are rules of the configuration; blocks marked `session` are what a client types behind `umpire>`
//! (the admin port behind `admin>`) and what it gets. `UMPIRE_BLESS=1` writes what it gets now; read the difference before
//! keeping it.
use super::common::needs;
use super::store;
use super::world::World;
use mysql::prelude::Queryable;
use mysql::{Conn, Value};
use std::fmt::Write;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/sharding.md");
const FENCE: &str = "```";
const CLIENT: &str = "umpire> ";
const ADMIN: &str = "admin> ";
const MORE: &str = "     -> ";

fn document() -> String {
    std::fs::read_to_string(PATH).expect("the document")
}

/// The rules that the examples need.
fn rules(document: &str) -> String {
    let mut rules = String::new();
    let mut inside = false;
    for line in document.lines() {
        match (inside, line) {
            (false, "```toml session") => inside = true,
            (true, FENCE) => inside = false,
            (true, line) => writeln!(rules, "{line}").expect("a string takes it"),
            _ => {}
        }
    }
    rules
}

/// The document with what the statements of its sessions come to.
fn run(document: &str, world: &World) -> String {
    let (mut client, mut admin) = (world.umpire(), world.proxy.admin());
    let mut out = String::new();
    let mut inside = false;
    let mut lines = document.lines().peekable();
    while let Some(line) = lines.next() {
        inside = match (inside, line) {
            (false, "```session") => true,
            (true, FENCE) => false,
            (inside, _) => inside,
        };
        let prompt = [CLIENT, ADMIN]
            .into_iter()
            .find(|prompt| line.starts_with(prompt));
        let Some(prompt) = prompt.filter(|_| inside) else {
            // what was there is replaced
            if !inside || line == "```session" || line.is_empty() {
                writeln!(out, "{line}").expect("a string takes it");
            }
            continue;
        };
        let mut typed = line[prompt.len()..].to_owned();
        writeln!(out, "{line}").expect("a string takes it");
        while let Some(more) = lines.next_if(|line| line.starts_with(MORE)) {
            writeln!(out, "{more}").expect("a string takes it");
            write!(typed, "\n{}", &more[MORE.len()..]).expect("a string takes it");
        }
        let conn = if prompt == CLIENT {
            &mut client
        } else {
            &mut admin
        };
        let statement = typed
            .strip_suffix(';')
            .unwrap_or_else(|| panic!("no end: {typed}"));
        out += &world.anonymous(&answer(conn, statement));
    }
    out
}

fn answer(conn: &mut Conn, sql: &str) -> String {
    let mut result = match conn.query_iter(sql) {
        Ok(result) => result,
        Err(mysql::Error::MySqlError(error)) => {
            return format!(
                "ERROR {} ({}): {}\n",
                error.code, error.state, error.message
            )
        }
        Err(error) => panic!("{sql}: {error}"),
    };
    let columns = result.columns();
    let names: Vec<String> = columns
        .as_ref()
        .iter()
        .map(|c| c.name_str().into_owned())
        .collect();
    if names.is_empty() {
        let info = result.info_str().into_owned();
        let rows = match result.affected_rows() {
            1 => "1 row".to_owned(),
            rows => format!("{rows} rows"),
        };
        let info = if info.is_empty() {
            info
        } else {
            format!("; {info}")
        };
        return format!("OK, {rows} affected{info}\n");
    }
    let mut table = vec![names];
    for row in result.by_ref() {
        let row = row.unwrap_or_else(|error| panic!("{sql}: {error}"));
        table.push(row.unwrap().into_iter().map(text).collect());
    }
    if sql.to_uppercase().starts_with("EXPLAIN ROUTE") {
        // the statement's effects, and which server would have it now
        let left_out = |what: &str| {
            ["verb", "access", "effects", "hint"].contains(&what) || what.starts_with("route on ")
        };
        table.retain(|row: &Vec<String>| !left_out(&row[0]));
    }
    if table.len() == 1 {
        return "Empty set\n".into();
    }
    let width = |at: usize| {
        table
            .iter()
            .map(|row| row[at].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table[0].len()).map(width).collect();
    let mut out = String::new();
    for row in &table {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(value, width)| format!("{value:width$}"));
        let line = cells.collect::<Vec<_>>().join(" | ");
        writeln!(out, "| {} |", line.trim_end()).expect("a string takes it");
    }
    out
}

fn text(value: Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        other => other.as_sql(true),
    }
}

/// The first line that differs.
fn compare(document: &str, now: &str) {
    let different = document
        .lines()
        .zip(now.lines())
        .enumerate()
        .find(|(_, (a, b))| a != b);
    if let Some((number, (says, is))) = different {
        panic!(
            "docs/sharding.md, line {}: it says\n  {says}\nand it is\n  {is}",
            number + 1
        );
    }
    assert_eq!(
        document.lines().count(),
        now.lines().count(),
        "lines of docs/sharding.md"
    );
}

#[test]
fn the_examples_of_the_document_are_what_happens() {
    needs!(the_proxy);
    let (_folder, section) = store();
    let document = document();
    let world = World::with(&format!("\n{section}{}", rules(&document)));
    let now = run(&document, &world);
    if std::env::var_os("UMPIRE_BLESS").is_some() {
        std::fs::write(PATH, &now).expect("written");
        return;
    }
    compare(&document, &now);
}

#[test]
fn the_examples_of_the_document_are_what_happens_on_mysql() {
    needs!(the_proxy);
    let (_folder, section) = store();
    let document = document();
    if let Some(world) = World::mysql_with(&format!("\n{section}{}", rules(&document))) {
        compare(&document, &run(&document, &world));
    }
}
