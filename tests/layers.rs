//! The module table in src/lib.rs is the architecture; this test holds the code to it, and to the
//! few rules of size and safety that a reader relies on.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test reads files"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// More than this is a file that nobody reads to its end.
const LONGEST_FILE: usize = 500;
/// From here on the file is named in the test's output.
const LONG_FILE: usize = 400;

type Table = BTreeMap<String, BTreeSet<String>>;

#[test]
fn every_edge_between_modules_is_in_the_table_of_lib_rs() {
    let table = table();
    let mut wrong = Vec::new();
    for file in product_files() {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let module = module_of(&file);
        if module == "main" || module == "lib" {
            continue;
        }
        let allowed = table
            .get(&module)
            .unwrap_or_else(|| panic!("{module} is not in the table of src/lib.rs"));
        for used in used_modules(&text) {
            let known = table.contains_key(&used);
            if known && used != module && !allowed.contains(&used) {
                wrong.push(format!("{}: {module} uses {used}", file.display()));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "not in the table (change it on purpose, with the reason):\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_table_names_every_module_and_nothing_else() {
    let declared: BTreeSet<String> = std::fs::read_to_string(src().join("lib.rs"))
        .expect("lib.rs")
        .lines()
        .filter_map(|l| l.trim().strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(str::to_string)
        .collect();
    let listed: BTreeSet<String> = table().into_keys().collect();
    assert_eq!(declared, listed);
}

#[test]
fn the_table_has_no_circle() {
    let table = table();
    for module in table.keys() {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&String> = table[module].iter().collect();
        while let Some(next) = open.pop() {
            if reached.insert(next.clone()) {
                open.extend(&table[next]);
            }
        }
        // The mailbox is a worker's data type that control sends to; worker never uses control.
        assert!(!reached.contains(module), "{module} reaches itself");
    }
}

#[test]
fn only_net_uses_unsafe() {
    let found = lines_with(
        |line| has_word(line, "unsafe"),
        |file| !in_module(file, "net"),
    );
    assert!(found.is_empty(), "unsafe outside src/net:\n{found}");
}

#[test]
fn nothing_is_left_unfinished() {
    let unfinished = |line: &str| {
        ["todo!", "unimplemented!", "FIXME", "XXX"]
            .iter()
            .any(|word| line.contains(word))
    };
    let found = lines_with(unfinished, |_| true);
    assert!(found.is_empty(), "{found}");
}

#[test]
fn no_source_file_is_too_long_to_read() {
    let mut too_long = Vec::new();
    for file in product_files() {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let lines = text.lines().count();
        if lines > LONG_FILE {
            eprintln!("long: {} {lines} lines", file.display());
        }
        if lines > LONGEST_FILE {
            too_long.push(format!("{} {lines}", file.display()));
        }
    }
    assert!(
        too_long.is_empty(),
        "over {LONGEST_FILE} lines:\n{}",
        too_long.join("\n")
    );
}

#[test]
fn the_reader_of_uses_sees_every_spelling() {
    let text = "
        use crate::wire::packet;
        use crate::{config::Config, net};
        use crate::{
            topology::{Snapshot, Server},
            observe,
        };
        use umpire::sniff;
        // use crate::admin;
        fn f() { crate::route::decide(\"crate::control::x\") }
    ";
    let expected = [
        "config", "net", "observe", "route", "sniff", "topology", "wire",
    ];
    let used: Vec<String> = used_modules(text).into_iter().collect();
    assert_eq!(used, expected);
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// `| [`module`] | job | may use |` rows; "everything below" means the rows after it.
fn table() -> Table {
    let text = std::fs::read_to_string(src().join("lib.rs")).expect("lib.rs");
    let rows: Vec<(String, String)> = text.lines().filter_map(table_row).collect();
    assert!(rows.len() > 5, "the table of src/lib.rs was not found");
    let names: Vec<&String> = rows.iter().map(|(name, _)| name).collect();
    let uses = |at: usize, cell: &str| -> BTreeSet<String> {
        if cell.contains("everything below") {
            return names[at + 1..].iter().map(ToString::to_string).collect();
        }
        let words = cell.split(|c: char| !c.is_alphanumeric() && c != '_');
        let modules = words.filter(|w| names.iter().any(|n| n == w));
        modules.map(str::to_string).collect()
    };
    let rows = rows.iter().enumerate();
    rows.map(|(at, (name, cell))| (name.clone(), uses(at, without_remarks(cell).as_str())))
        .collect()
}

fn table_row(line: &str) -> Option<(String, String)> {
    let cells: Vec<&str> = line
        .strip_prefix("//! |")?
        .split('|')
        .map(str::trim)
        .collect();
    let name = cells.first()?.strip_prefix("[`")?.strip_suffix("`]")?;
    Some((name.to_string(), cells.get(2)?.to_string()))
}

/// A cell without its remarks in parentheses, except that `worker (mailbox)` is no circle: the
/// mailbox is the one thing of worker that those above it may use.
fn without_remarks(cell: &str) -> String {
    cell.split(['(', ')'])
        .step_by(2)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Source files of the product proper: no tests.
fn product_files() -> Vec<PathBuf> {
    let files = source_files(&src()).into_iter();
    files.filter(|f| !is_test(f)).collect()
}

fn is_test(file: &Path) -> bool {
    file.components()
        .any(|c| c.as_os_str() == "tests" || c.as_os_str() == "tests.rs")
}

fn source_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a readable folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(source_files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// `src/net/ring.rs` and `src/net.rs` both belong to `net`.
fn module_of(file: &Path) -> String {
    let inside = file.strip_prefix(src()).expect("under src");
    let first = inside.components().next().expect("a file");
    let first = first.as_os_str().to_string_lossy();
    match first.trim_end_matches(".rs") {
        // the binary's other file
        "run" => "main".to_string(),
        module => module.to_string(),
    }
}

fn in_module(file: &Path, module: &str) -> bool {
    module_of(file) == module
}

/// The top-level modules that a text names through `crate::` or `umpire::`.
fn used_modules(text: &str) -> BTreeSet<String> {
    let code = code_only(text);
    let mut used = BTreeSet::new();
    for root in ["crate::", "umpire::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                Some(group) => used.extend(group_heads(group)),
                None => used.extend(word(rest)),
            }
        }
    }
    used
}

/// The first word of each member of `a::b, c::{d, e}, f}`.
fn group_heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let mut depth = 0;
    let mut start = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            c if start && !c.is_whitespace() => {
                heads.extend(word(&group[at..]));
                start = false;
            }
            _ => {}
        }
    }
    heads
}

fn word(text: &str) -> Option<String> {
    let word: String = text
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (!word.is_empty()).then_some(word)
}

/// Without comments and strings, roughly: enough for `use` lines and paths.
fn code_only(text: &str) -> String {
    let mut code = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or("");
        code.extend(line.split('"').step_by(2));
        code.push('\n');
    }
    code
}

fn has_word(line: &str, wanted: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| word == wanted)
}

/// `file:line: text` of each line of code (comments aside) that `matches`, in files that `counts`.
fn lines_with(matches: impl Fn(&str) -> bool, counts: impl Fn(&Path) -> bool) -> String {
    let mut found = String::new();
    for file in source_files(&src()).into_iter().filter(|f| counts(f)) {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            if matches(code) {
                found += &format!("{}:{}: {}\n", file.display(), number + 1, line.trim());
            }
        }
    }
    found
}
