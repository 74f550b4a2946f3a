//! What is imported, and its text.
use super::{At, Findings};
use std::fmt::Write as _;

#[derive(Debug, Default)]
pub(super) struct Model {
    /// What it comes from, for the first line.
    pub source: String,
    pub listen: String,
    pub groups: Vec<Group>,
    pub users: Vec<User>,
    /// Database and group.
    pub databases: Vec<(String, String)>,
    pub tables: Vec<Table>,
    /// Database and table that must not be used.
    pub denied: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub name: String,
    pub servers: Vec<Server>,
    pub read_write_split: bool,
    /// On the servers.
    pub account: Account,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub address: String,
    pub is_primary: bool,
    pub weight: Option<u32>,
    pub max_connections: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Account {
    pub user: String,
    pub password: String,
}

#[derive(Debug, Clone)]
pub(super) struct User {
    pub account: Account,
    pub group: String,
    /// Networks; empty: any.
    pub allow: Vec<String>,
    pub at: At,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub schema: String,
    pub name: String,
    pub rule: Rule,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rule {
    Placed(String),
    Broadcast(Vec<Shard>),
    Sharded {
        key: String,
        method: &'static str,
        period: Option<&'static str>,
        shards: Vec<Shard>,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shard {
    pub group: String,
    /// `database.table`, where it is not the table's own name.
    pub table: Option<String>,
    /// In TOML.
    pub from: Option<String>,
    pub below: Option<String>,
    pub values: Vec<String>,
    pub is_default: bool,
}

impl Model {
    /// A table that cannot be translated.
    pub fn deny(&mut self, schema: &str, name: &str, at: &At, why: &str, findings: &mut Findings) {
        let denied = (schema.to_owned(), name.to_owned());
        if is_plain(schema) && is_plain(name) && !self.denied.contains(&denied) {
            self.denied.push(denied);
        }
        let message = format!("table {schema}.{name}: {why}; statements on it are denied");
        findings.left_out(at, message);
    }

    /// Whose account the groups have: a user has one on all of them.
    pub fn check_accounts(&self, findings: &mut Findings) {
        let Some(first) = self.groups.first() else {
            return;
        };
        for group in &self.groups {
            if group.account != first.account {
                for user in &self.users {
                    let message = format!(
                        "user {:?} has the account {:?} on the servers of all groups; those of {:?} have {:?}: give them \
                         the same account",
                        user.account.user, first.account.user, group.name, group.account.user
                    );
                    findings.left_out(&user.at, message);
                }
            }
        }
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "# Imported from {}. The account of each monitor also needs to see replication: REPLICATION CLIENT on MySQL,\n\
             # SLAVE MONITOR on MariaDB.\n\n[proxy]\nlisten = [{}]",
            self.source,
            quoted(&self.listen)
        );
        let sharded = |t: &Table| matches!(t.rule, Rule::Sharded { .. } | Rule::Broadcast(_));
        if self.tables.iter().any(sharded) {
            out += "\n[coordination]\nstore = \"file:umpire-state\"\n";
        }
        for group in &self.groups {
            group.write(&mut out);
        }
        for user in &self.users {
            self.write_user(user, &mut out);
        }
        for (name, group) in &self.databases {
            let (name, group) = (quoted(name), quoted(group));
            let _ = writeln!(out, "\n[[database]]\nname = {name}\ngroup = {group}");
        }
        for table in &self.tables {
            table.write(&mut out);
        }
        self.write_policy(&mut out);
        out
    }

    fn write_user(&self, user: &User, out: &mut String) {
        let (name, password) = (quoted(&user.account.user), quoted(&user.account.password));
        let group = quoted(&user.group);
        let _ = writeln!(
            out,
            "\n[[user]]\nname = {name}\npassword = {password}\ngroup = {group}"
        );
        let on_servers = self.groups.iter().find(|g| g.name == user.group);
        if let Some(account) = on_servers
            .map(|g| &g.account)
            .filter(|a| **a != user.account)
        {
            let (name, password) = (quoted(&account.user), quoted(&account.password));
            let _ = writeln!(out, "server_user = {name}\nserver_password = {password}");
        }
        if !user.allow.is_empty() {
            let _ = writeln!(out, "allow = [{}]", list(&user.allow));
        }
    }

    fn write_policy(&self, out: &mut String) {
        if self.denied.is_empty() {
            return;
        }
        let tables: Vec<String> = self
            .denied
            .iter()
            .map(|(s, t)| format!("{s}.{t}"))
            .collect();
        let _ = writeln!(
            out,
            "\n[[policy]]                          # tables whose rows Umpire would not find\nname = \"not imported\"\n\
             action = \"deny\"\ntables = [{}]\n\n[[policy]]                          # what could use them unseen\n\
             name = \"not imported: unseen\"\naction = \"deny\"\nopaque = true",
            list(&tables)
        );
    }
}

impl Group {
    fn write(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "\n[[group]]\nname = {}\nservers = [",
            quoted(&self.name)
        );
        for server in &self.servers {
            let role = if server.is_primary {
                "primary"
            } else {
                "replica"
            };
            let _ = write!(
                out,
                "  {{ address = {}, role = \"{role}\"",
                quoted(&server.address)
            );
            if let Some(weight) = server.weight {
                let _ = write!(out, ", weight = {weight}");
            }
            if let Some(most) = server.max_connections {
                let _ = write!(out, ", max_connections = {most}");
            }
            out.push_str(" },\n");
        }
        let (user, password) = (quoted(&self.account.user), quoted(&self.account.password));
        let _ = writeln!(
            out,
            "]\nread_write_split = {}\nmonitor = {{ user = {user}, password = {password} }}",
            self.read_write_split
        );
    }
}

impl Table {
    fn write(&self, out: &mut String) {
        let name = quoted(&format!("{}.{}", self.schema, self.name));
        let _ = writeln!(out, "\n[[table]]\nname = {name}");
        let shards = match &self.rule {
            Rule::Placed(group) => {
                let _ = writeln!(out, "group = {}", quoted(group));
                return;
            }
            Rule::Broadcast(shards) => {
                out.push_str("method = \"broadcast\"\n");
                shards
            }
            Rule::Sharded {
                key,
                method,
                period,
                shards,
            } => {
                let _ = writeln!(out, "key = {}\nmethod = \"{method}\"", quoted(key));
                if let Some(period) = period {
                    let _ = writeln!(out, "period = \"{period}\"");
                }
                shards
            }
        };
        out.push_str("shards = [\n");
        for shard in shards {
            shard.write(out);
        }
        out.push_str("]\n");
    }
}

impl Shard {
    fn write(&self, out: &mut String) {
        let _ = write!(out, "  {{ group = {}", quoted(&self.group));
        if let Some(table) = &self.table {
            let _ = write!(out, ", table = {}", quoted(table));
        }
        for (key, value) in [("from", &self.from), ("below", &self.below)] {
            if let Some(value) = value {
                let _ = write!(out, ", {key} = {value}");
            }
        }
        if !self.values.is_empty() {
            let _ = write!(out, ", values = [{}]", self.values.join(", "));
        }
        if self.is_default {
            out.push_str(", default = true");
        }
        out.push_str(" },\n");
    }
}

/// A name that a rule can have.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(plain)
}

/// A string of TOML.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|t| quoted(t)).collect();
    quoted.join(", ")
}
