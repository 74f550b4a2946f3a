//! `dataHost` and `dataNode`: groups, and databases on them.
use super::super::model::{is_plain, Account, Group, Server};
use super::{Import, Xml};
use roxmltree::Node;

/// More names than this in one range is a mistake.
const MOST: usize = 4096;

/// A database of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DataNode {
    pub group: String,
    pub database: String,
}

impl Import {
    pub(super) fn hosts(&mut self, schema: &Xml<'_>) {
        for host in schema.all("dataHost") {
            let at = schema.at(host);
            let Some(name) = host.attribute("name") else {
                continue;
            };
            let most = host.attribute("maxCon").and_then(|n| n.parse().ok());
            let mut servers = Vec::new();
            let mut account = None;
            let hosts = host.descendants();
            for each in hosts.filter(|n| n.has_tag_name("writeHost") || n.has_tag_name("readHost"))
            {
                match server(each, most, servers.is_empty()) {
                    Ok(server) => servers.push(server),
                    Err(why) => {
                        self.findings.left_out(&schema.at(each), why);
                        continue;
                    }
                }
                let own = Account {
                    user: each.attribute("user").unwrap_or_default().to_owned(),
                    password: each.attribute("password").unwrap_or_default().to_owned(),
                };
                let first = account.get_or_insert_with(|| own.clone());
                if *first != own {
                    let what = format!(
                        "host {name:?}: its servers have different accounts; Umpire has one for a group"
                    );
                    self.findings.left_out(&at, what);
                }
            }
            self.model.groups.push(Group {
                name: name.to_owned(),
                read_write_split: host.attribute("balance").is_some_and(|b| b != "0"),
                servers,
                account: account.unwrap_or_default(),
            });
        }
    }

    pub(super) fn data_nodes(&mut self, schema: &Xml<'_>) {
        for node in schema.all("dataNode") {
            let at = schema.at(node);
            let of = |name: &str| range(node.attribute(name).unwrap_or_default());
            let (names, hosts, databases) = (of("name"), of("dataHost"), of("database"));
            let wanted = hosts.len().saturating_mul(databases.len());
            if names.is_empty() || names.len() != wanted || (hosts.len() > 1 && databases.len() > 1)
            {
                let what = "dataNode: names, hosts and databases are not as many";
                self.findings.left_out(&at, what);
                continue;
            }
            for (i, name) in names.into_iter().enumerate() {
                let of_list = |list: &[String]| list.get(i).or(list.first()).cloned();
                let (Some(group), Some(database)) = (of_list(&hosts), of_list(&databases)) else {
                    continue;
                };
                if !self.model.groups.iter().any(|g| g.name == group) {
                    let what = format!("dataNode {name:?}: there is no dataHost {group:?}");
                    self.findings.left_out(&at, what);
                } else if is_plain(&database) {
                    self.data_nodes.insert(name, DataNode { group, database });
                } else {
                    let what =
                        format!("dataNode {name:?}: {database:?} is no name that a rule can have");
                    self.findings.left_out(&at, what);
                }
            }
        }
    }
}

fn server(node: Node<'_, '_>, most: Option<u32>, is_primary: bool) -> Result<Server, String> {
    let url = node.attribute("url").unwrap_or_default();
    let address = url.strip_prefix("jdbc:mysql://").unwrap_or(url);
    let address = address.split(['/', '?']).next().unwrap_or_default();
    if address.is_empty() || address.contains("jdbc:") {
        return Err(format!("{url:?} is no address of a MySQL server"));
    }
    Ok(Server {
        address: address.to_owned(),
        is_primary,
        weight: node.attribute("weight").and_then(|w| w.parse().ok()),
        max_connections: most,
    })
}

/// `dn1`, `dn1,dn2`, `dn$1-3`, and several of them.
pub(super) fn range(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let spread = part.split_once('$').and_then(|(stem, bounds)| {
            let (from, to) = bounds.split_once('-')?;
            let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to && to - from < MOST).then_some((stem, from..=to))
        });
        match spread {
            Some((stem, numbers)) => names.extend(numbers.map(|n| format!("{stem}{n}"))),
            None => names.push(part.to_owned()),
        }
    }
    names
}
