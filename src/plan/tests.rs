//! Golden cases: statement → plan or refusal, in testdata/*.sql. `UMPIRE_BLESS=1 cargo test plan::` writes what the
//! planner says now; read the difference before keeping it.
mod cached;
mod reading;
mod recalled;
mod rules;

use super::*;
use crate::config;
use crate::sniff::Dialect;
use crate::topology::ShardMap;
use std::rc::Rc;

pub(super) struct World {
    map: ShardMap,
    groups: Vec<String>,
}

const CONFIG: &str = include_str!("testdata/rules.toml");

impl World {
    pub fn new() -> World {
        let no_files = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let config =
            config::parse(CONFIG, "rules.toml", &no_files).unwrap_or_else(|e| panic!("{e}"));
        let groups = config.groups.iter().map(|g| g.name.clone()).collect();
        World {
            map: ShardMap::build(&config),
            groups,
        }
    }

    pub fn plan(&self, sql: &str) -> Result<Planned, Refusal> {
        self.plan_with(sql, None)
    }

    pub fn plan_with(&self, sql: &str, parameters: Option<&[Value]>) -> Result<Planned, Refusal> {
        self.ask(sql, parameters, plan)
    }

    fn ask<R>(
        &self,
        sql: &str,
        parameters: Option<&[Value]>,
        asked: impl FnOnce(&Request<'_>) -> R,
    ) -> R {
        asked(&Request {
            sql: sql.as_bytes(),
            schema: Some("shop"),
            map: &self.map,
            columns: &columns,
            parameters,
            dialect: Dialect {
                mariadb: true,
                version: 101_119,
                ..Dialect::default()
            },
            home: 0,
            held: None,
            ids: &|_, _, _| Some(7001),
            zero_generates: true,
            version: None,
            seed: 1,
        })
    }

    /// The plan's lines, or the refusal's.
    pub fn shown(&self, sql: &str) -> String {
        let group = |at: usize| self.groups[at].clone();
        match self.plan(sql) {
            Ok(planned) => {
                let mut rows = self.ask(sql, None, |request| reasons(request, &group));
                rows.extend(explain(&planned, &group));
                rows.iter()
                    .map(|(what, value)| format!("{what}: {value}\n"))
                    .collect()
            }
            Err(refusal) => {
                let state = String::from_utf8_lossy(&refusal.state).into_owned();
                format!("ERROR {} ({state}): {}\n", refusal.code, refusal.message)
            }
        }
    }
}

/// `name type [collation]` a line, as information_schema tells.
fn columns(schema: &str, table: &str) -> Option<Rc<Columns>> {
    let text = match (schema, table) {
        ("shop", "orders") => {
            "id bigint\ncustomer_id int\nstate varchar(10) utf8mb4_general_ci\ntotal decimal(10,2)\nat datetime\n\
             kind enum('a','b') utf8mb4_general_ci\nnote text utf8mb4_general_ci\nprice float"
        }
        ("shop", "items") => {
            "id bigint\ncustomer_id int\norder_id bigint\nsku varchar(20) utf8mb4_bin\nqty int\nname varchar(30) utf8mb4_0900_ai_ci"
        }
        ("shop", "countries") => "id int\nname varchar(40) utf8mb4_general_ci",
        ("shop", "visits") => "id bigint\nday date\npage varchar(600) utf8mb4_general_ci",
        ("shop", "accounts") => "name varchar(20) utf8mb4_general_ci\nbalance int",
        ("shop", "people") => "id int\nregion varchar(8) utf8mb4_general_ci",
        ("shop", "swedes") => "name varchar(20) utf8mb4_swedish_ci",
        ("shop", "tickets") => "id bigint auto_increment\nwhat varchar(20) utf8mb4_general_ci",
        ("shop", "stamps") => "id bigint auto_increment\nwhat varchar(20) utf8mb4_general_ci",
        ("shop", "numbers") => "n bigint\nv int",
        ("shop", "log") => "id int\ntext varchar(100) utf8mb4_general_ci",
        ("information_schema", "TABLES") => {
            "TABLE_SCHEMA varchar(64) utf8mb3_general_ci\nTABLE_NAME varchar(64) utf8mb3_general_ci\nENGINE varchar(64) \
             utf8mb3_general_ci\nTABLE_ROWS bigint\nAVG_ROW_LENGTH bigint\nDATA_LENGTH bigint\nCHECK_TIME datetime"
        }
        ("information_schema", "KEY_COLUMN_USAGE") => {
            "CONSTRAINT_NAME varchar(64) utf8mb3_general_ci\nTABLE_SCHEMA varchar(64) utf8mb3_general_ci\nTABLE_NAME \
             varchar(64) utf8mb3_general_ci\nREFERENCED_TABLE_SCHEMA varchar(64) utf8mb3_general_ci\n\
             REFERENCED_TABLE_NAME varchar(64) utf8mb3_general_ci"
        }
        ("information_schema", "COLUMNS") => {
            "TABLE_SCHEMA varchar(64) utf8mb3_general_ci\nTABLE_NAME varchar(64) utf8mb3_general_ci\nCOLUMN_NAME varchar(64) \
             utf8mb3_general_ci"
        }
        ("shop", "users") => "id int\nname varchar(100) utf8mb4_general_ci",
        _ => return None,
    };
    let rows = text.lines().map(|line| {
        let counts = line.contains("auto_increment");
        let line = line.trim_end_matches(" auto_increment");
        let words: Vec<&str> = line.split(' ').collect();
        let data_type = words[1].split('(').next().unwrap();
        let length = words[1].split(['(', ')']).nth(1);
        let charset = words.get(2).map(|c| c.split('_').next().unwrap());
        let values = [
            Some(words[0]),
            Some(data_type),
            Some(words[1]),
            length.filter(|_| charset.is_some()),
            charset,
            words.get(2).copied(),
            Some("YES"),
            Some(if counts { "auto_increment" } else { "" }),
        ];
        values.iter().map(|v| v.map(str::as_bytes)).collect()
    });
    Columns::read(rows.collect::<Vec<_>>().into_iter()).map(Rc::new)
}

/// Statements end with `;` at the end of a line; comments before them stay; what follows as `-- ` lines is the plan.
#[allow(
    clippy::disallowed_methods,
    reason = "a test reads and writes its golden files"
)]
fn golden(name: &str) {
    let path = format!(
        "{}/src/plan/testdata/{name}.sql",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap();
    let world = World::new();
    let (mut now, mut statement) = (String::new(), String::new());
    for line in text.lines().filter(|line| !line.starts_with("-- ")) {
        now += line;
        now.push('\n');
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        statement += line;
        if let Some(sql) = statement.strip_suffix(';') {
            world
                .shown(sql)
                .lines()
                .for_each(|line| now += &format!("-- {line}\n"));
            statement.clear();
        } else {
            statement.push('\n');
        }
    }
    if std::env::var_os("UMPIRE_BLESS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let (old, new): (Vec<_>, Vec<_>) = (text.lines().collect(), now.lines().collect());
    let differs = old.iter().zip(&new).find(|(a, b)| a != b);
    assert!(
        text == now || std::env::var_os("UMPIRE_BLESS").is_some(),
        "{name}: first difference {differs:#?}"
    );
}

#[test]
fn golden_single() {
    golden("single");
}

#[test]
fn golden_fanout() {
    golden("fanout");
}

#[test]
fn golden_gather() {
    golden("gather");
}

#[test]
fn golden_writes() {
    golden("writes");
}

#[test]
fn golden_placed() {
    golden("placed");
}

#[test]
fn golden_catalogue() {
    golden("catalogue");
}

#[test]
fn golden_ddl() {
    golden("ddl");
}

#[test]
fn golden_refused() {
    golden("refused");
}
