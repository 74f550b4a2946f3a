//! kingshard's `ks.yaml`, in its three forms: `schemas` with rules, one `schema`, and `schema_list` by user.
//!
//! A sharded table `t` is on its nodes as `t_0000`, `t_0001`, …, or by date as `t_2024`, `t_202405`, `t_20240531`.
use super::model::{is_plain, Account, Group, Model, Rule, Server, Shard, Table, User};
use super::spans::{civil, days};
use super::yaml::{self, Node};
use super::{finish, read, At, Findings, Imported};
use std::path::Path;

/// Sub-tables of one table, as many as a rule has shards.
const MOST: usize = 4096;

/// # Errors
/// The file cannot be read, or nothing of it would be a configuration; in words.
pub fn kingshard(file: &Path) -> Result<Imported, String> {
    let name = file.display().to_string();
    let text = read(file)?;
    let top = yaml::parse(&text).map_err(|(line, why)| format!("{name}:{line}: {why}"))?;
    let mut import = Import {
        file: name,
        model: Model {
            source: "kingshard".into(),
            listen: top.text_of("addr").unwrap_or("127.0.0.1:9696").to_owned(),
            ..Model::default()
        },
        findings: Findings::default(),
    };
    for node in top.items_of("nodes") {
        import.node(node);
    }
    let schemas = import.schemas(&top);
    import.users(&top, &schemas);
    for schema in &schemas {
        for shard in schema.shards {
            import.table(schema, shard);
        }
    }
    if let Some(found) = top.get("blacklist_sql_file").filter(|n| n.text().is_some()) {
        let at = import.at(found);
        let what = "blacklist_sql_file: write its statements as a [[policy]] with digests";
        import.findings.left_out(&at, what);
    }
    import.model.check_accounts(&mut import.findings);
    finish(&import.model, import.findings)
}

/// Rules that belong together.
struct Schema<'y> {
    /// Whose they are; none: everybody's.
    user: Option<&'y str>,
    db: Option<&'y str>,
    default: Option<&'y str>,
    shards: &'y [Node],
    node: &'y Node,
}

struct Import {
    file: String,
    model: Model,
    findings: Findings,
}

impl Import {
    fn at(&self, node: &Node) -> At {
        At {
            file: self.file.clone(),
            line: node.line,
        }
    }

    fn node(&mut self, node: &Node) {
        let at = self.at(node);
        let Some(name) = node.text_of("name") else {
            return self.findings.left_out(&at, "a node without a name");
        };
        let limit = node.text_of("max_conns_limit").and_then(|n| n.parse().ok());
        let server = |text: &str, is_primary: bool| {
            let (address, weight) = text.trim().split_once('@').unwrap_or((text.trim(), ""));
            Server {
                address: address.to_owned(),
                is_primary,
                weight: weight.trim().parse().ok(),
                max_connections: limit,
            }
        };
        let master = node.text_of("master").map(|text| server(text, true));
        if master.is_none() {
            let what = format!("node {name:?} has no master");
            self.findings.left_out(&at, what);
        }
        let slaves = node.text_of("slave").unwrap_or_default().split(',');
        let slaves = slaves
            .filter(|s| !s.trim().is_empty())
            .map(|s| server(s, false));
        let servers: Vec<Server> = master.into_iter().chain(slaves).collect();
        self.model.groups.push(Group {
            name: name.to_owned(),
            read_write_split: servers.len() > 1,
            servers,
            account: account(node, "user"),
        });
    }

    fn schemas<'y>(&mut self, top: &'y Node) -> Vec<Schema<'y>> {
        let plain = |node: &'y Node| Schema {
            user: node.text_of("user"),
            db: node.text_of("db"),
            default: node.text_of("default"),
            shards: node.items_of("shard"),
            node,
        };
        let with_rules = |node: &'y Node| {
            let rules = node.get("rules").unwrap_or(node);
            Schema {
                db: node.text_of("db"),
                ..plain(rules)
            }
        };
        let one = top.get("schema").map(plain);
        let by_user = top.items_of("schema_list").iter().map(plain);
        let old = top.items_of("schemas").iter().map(with_rules);
        one.into_iter().chain(by_user).chain(old).collect()
    }

    fn users(&mut self, top: &Node, schemas: &[Schema<'_>]) {
        let listed = top.items_of("user_list").iter();
        let nodes: Vec<&Node> = match top.get("user_list") {
            Some(_) => listed.collect(),
            None => vec![top],
        };
        let allow: Vec<String> = top
            .text_of("allow_ips")
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .filter(|ip| !ip.is_empty())
            .map(|ip| {
                if ip.contains('/') {
                    ip.to_owned()
                } else {
                    format!("{ip}/32")
                }
            })
            .collect();
        for node in nodes {
            let at = self.at(node.get("user").unwrap_or(node));
            let account = account(node, "user");
            let own = schemas
                .iter()
                .find(|s| s.user.is_none_or(|user| user == account.user));
            let default = own.and_then(|schema| schema.default);
            let Some(group) = default.map(str::to_owned) else {
                let what = format!("user {:?} has no schema with a default node", account.user);
                self.findings.left_out(&at, what);
                continue;
            };
            self.model.users.push(User {
                account,
                group,
                allow: allow.clone(),
                at,
            });
        }
    }

    fn table(&mut self, schema: &Schema<'_>, shard: &Node) {
        let at = self.at(shard);
        let db = shard.text_of("db").or(schema.db);
        let (Some(db), Some(name)) = (db, shard.text_of("table")) else {
            let at = self.at(schema.node);
            return self
                .findings
                .left_out(&at, "a rule without a database or a table");
        };
        let rule = match self.rule(shard, db, name) {
            Ok(rule) => rule,
            Err(why) => return self.model.deny(db, name, &at, &why, &mut self.findings),
        };
        let table = Table {
            schema: db.to_owned(),
            name: name.to_owned(),
            rule,
        };
        let known = self
            .model
            .tables
            .iter()
            .find(|t| (&t.schema, &t.name) == (&table.schema, &table.name));
        match known {
            None => {
                self.conditions(shard, &table, &at);
                self.model.tables.push(table);
            }
            Some(known) if *known == table => {}
            Some(_) => {
                let what = format!("table {db}.{name}: another user has another rule for it; Umpire has one for all");
                self.findings.left_out(&at, what);
            }
        }
    }

    fn rule(&self, shard: &Node, db: &str, name: &str) -> Result<Rule, String> {
        if !is_plain(db) || !is_plain(name) {
            return Err("a name that no rule can have".into());
        }
        let key = shard.text_of("key").ok_or("no key")?.to_owned();
        let nodes: Vec<&str> = shard
            .items_of("nodes")
            .iter()
            .filter_map(Node::text)
            .collect();
        for node in &nodes {
            if !self.model.groups.iter().any(|group| group.name == *node) {
                return Err(format!("there is no node {node:?}"));
            }
        }
        let kind = shard.text_of("type").unwrap_or_default();
        let (method, period, shards) = match kind {
            "hash" => ("mod", None, numbered(shard, db, name, &nodes)?),
            "range" => {
                let limit = shard
                    .text_of("table_row_limit")
                    .and_then(|n| n.parse::<i64>().ok());
                let limit = limit.filter(|n| *n > 0).ok_or("no table_row_limit")?;
                let mut shards = numbered(shard, db, name, &nodes)?;
                for (at, shard) in (0_i64..).zip(&mut shards) {
                    let bound = |n: i64| n.checked_mul(limit).map(|n| n.to_string());
                    shard.from = Some(bound(at).ok_or("table_row_limit is too large")?);
                    shard.below = Some(bound(at + 1).ok_or("table_row_limit is too large")?);
                }
                ("range", None, shards)
            }
            "date_year" => (
                "date",
                Some("year"),
                dated(shard, db, name, &nodes, Unit::Year)?,
            ),
            "date_month" => (
                "date",
                Some("month"),
                dated(shard, db, name, &nodes, Unit::Month)?,
            ),
            "date_day" => (
                "date",
                Some("day"),
                dated(shard, db, name, &nodes, Unit::Day)?,
            ),
            other => return Err(format!("there is no method for type {other:?}")),
        };
        Ok(Rule::Sharded {
            key,
            method,
            period,
            shards,
        })
    }

    /// What has to be so for the rows to be found where they are.
    fn conditions(&mut self, shard: &Node, table: &Table, at: &At) {
        let Rule::Sharded { method, shards, .. } = &table.rule else {
            return;
        };
        let name = format!("{}.{}", table.schema, table.name);
        let message = match (*method, shard.text_of("type")) {
            ("mod", _) if shards.len().is_power_of_two() => format!(
                "table {name}: the key is of a whole number's type (texts were placed by their CRC32, and are refused here)"
            ),
            ("mod", _) => format!(
                "table {name}: the key is of a whole number's type (texts were placed by their CRC32, and are refused here), \
                 and no key is negative: those were placed as unsigned numbers"
            ),
            ("date", _) => format!(
                "table {name}: the key is a DATE or DATETIME (Unix times in a whole number are refused here)"
            ),
            _ => return,
        };
        self.findings.condition(at, message);
    }
}

fn account(node: &Node, user: &str) -> Account {
    Account {
        user: node.text_of(user).unwrap_or_default().to_owned(),
        password: node.text_of("password").unwrap_or_default().to_owned(),
    }
}

/// `locations` sub-tables on each node, numbered through.
fn numbered(shard: &Node, db: &str, name: &str, nodes: &[&str]) -> Result<Vec<Shard>, String> {
    let locations = shard.items_of("locations");
    if locations.len() != nodes.len() {
        return Err("locations has another length than nodes".into());
    }
    let mut shards = Vec::new();
    for (node, count) in nodes.iter().zip(locations) {
        let count = count.text().and_then(|n| n.parse::<usize>().ok());
        let count = count.ok_or("locations are numbers")?;
        if shards.len() + count > MOST {
            return Err(format!("more than {MOST} sub-tables"));
        }
        for _ in 0..count {
            let table = format!("{db}.{name}_{:04}", shards.len());
            shards.push(Shard {
                group: (*node).to_owned(),
                table: Some(table),
                ..Shard::default()
            });
        }
    }
    Ok(shards)
}

#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Year,
    Month,
    Day,
}

impl Unit {
    /// The number of the unit that a date of digits names.
    fn number(self, text: &str) -> Option<i64> {
        let digits = match self {
            Unit::Year => 4,
            Unit::Month => 6,
            Unit::Day => 8,
        };
        let number: i64 = text.parse().ok().filter(|_| text.len() == digits)?;
        let parts = match self {
            Unit::Year => (number, 1, 1),
            Unit::Month => (number / 100, number % 100, 1),
            Unit::Day => (number / 10_000, number / 100 % 100, number % 100),
        };
        let (year, month, day) = parts;
        let number = days(year, month, day);
        if !(1..=12).contains(&month) || civil(number) != parts {
            return None;
        }
        Some(match self {
            Unit::Year => year,
            Unit::Month => year * 12 + month - 1,
            Unit::Day => number,
        })
    }

    /// As in the sub-table's name, and as a bound.
    fn texts(self, number: i64) -> (String, String) {
        match self {
            Unit::Year => (format!("{number:04}"), format!("\"{number:04}\"")),
            Unit::Month => {
                let (year, month) = (number.div_euclid(12), number.rem_euclid(12) + 1);
                (
                    format!("{year:04}{month:02}"),
                    format!("\"{year:04}-{month:02}\""),
                )
            }
            Unit::Day => {
                let (year, month, day) = civil(number);
                let name = format!("{year:04}{month:02}{day:02}");
                (name, format!("\"{year:04}-{month:02}-{day:02}\""))
            }
        }
    }
}

/// One sub-table for each unit of each node's range.
fn dated(
    shard: &Node,
    db: &str,
    name: &str,
    nodes: &[&str],
    unit: Unit,
) -> Result<Vec<Shard>, String> {
    let ranges = shard.items_of("date_range");
    if ranges.len() != nodes.len() {
        return Err("date_range has another length than nodes".into());
    }
    let mut shards = Vec::new();
    for (node, range) in nodes.iter().zip(ranges) {
        let text = range.text().unwrap_or_default();
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let wrong = || format!("{text:?} is no range of dates");
        let first = unit.number(first.trim()).ok_or_else(wrong)?;
        let last = unit.number(last.trim()).ok_or_else(wrong)?;
        let (first, last) = (first.min(last), first.max(last));
        if shards.len() as i64 + (last - first) >= MOST as i64 {
            return Err(format!("more than {MOST} sub-tables"));
        }
        for number in first..=last {
            let (suffix, from) = unit.texts(number);
            shards.push(Shard {
                group: (*node).to_owned(),
                table: Some(format!("{db}.{name}_{suffix}")),
                from: Some(from),
                below: Some(unit.texts(number + 1).1),
                ..Shard::default()
            });
        }
    }
    Ok(shards)
}
