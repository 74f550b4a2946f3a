//! `schema` and its tables.
use super::super::model::{is_plain, Rule, Shard, Table};
use super::super::At;
use super::functions::{Owner, Placing};
use super::nodes::{range, DataNode};
use super::{Import, Xml};
use roxmltree::Node;
use std::collections::BTreeMap;

/// A table that its children follow.
struct Parent {
    key: String,
    rule: Rule,
}

impl Import {
    /// Schema → group of what has no rule.
    pub(super) fn schemas(&mut self, xml: &Xml<'_>) -> BTreeMap<String, String> {
        let mut homes = BTreeMap::new();
        for schema in xml.all("schema") {
            let (at, name) = (xml.at(schema), schema.attribute("name").unwrap_or_default());
            if !is_plain(name) {
                let what = format!("schema {name:?}: a name that no rule can have");
                self.findings.left_out(&at, what);
                continue;
            }
            let default = schema
                .attribute("dataNode")
                .and_then(|n| self.data_nodes.get(n))
                .cloned();
            if let Some(default) = default {
                homes.insert(name.to_owned(), default.group.clone());
                if default.database == name {
                    self.model.databases.push((name.to_owned(), default.group));
                } else {
                    let what = format!(
                        "schema {name}: tables without a rule are in the database {}, and Umpire does not rename databases: \
                         give both the same name",
                        default.database
                    );
                    self.findings.left_out(&at, what);
                }
            }
            for table in schema.children().filter(|n| n.has_tag_name("table")) {
                self.tables_of(xml, name, table);
            }
            if !homes.contains_key(name) {
                let tables = self.model.tables.iter().filter(|t| t.schema == name);
                let first = tables.flat_map(|t| groups(&t.rule)).next();
                homes.extend(first.map(|group| (name.to_owned(), group)));
            }
        }
        homes
    }

    /// `name` may be several names.
    fn tables_of(&mut self, xml: &Xml<'_>, schema: &str, node: Node<'_, '_>) {
        let at = xml.at(node);
        let names = node.attribute("name").unwrap_or_default().split(',');
        for name in names.map(str::trim).filter(|n| !n.is_empty()) {
            match self.rule(schema, name, node, &at) {
                Ok((rule, key)) => {
                    self.add(schema, name, rule.clone());
                    let parent = key.map(|key| Parent { key, rule });
                    self.children(xml, schema, node, parent.as_ref());
                }
                Err(why) => {
                    self.model.deny(schema, name, &at, &why, &mut self.findings);
                    self.children(xml, schema, node, None);
                }
            }
        }
    }

    fn add(&mut self, schema: &str, name: &str, rule: Rule) {
        self.model.tables.push(Table {
            schema: schema.to_owned(),
            name: name.to_owned(),
            rule,
        });
    }

    /// The rule, and the key if it has one.
    fn rule(
        &mut self,
        schema: &str,
        name: &str,
        node: Node<'_, '_>,
        at: &At,
    ) -> Result<(Rule, Option<String>), String> {
        if !is_plain(name) {
            return Err("a name that no rule can have".into());
        }
        if node.attribute("subTables").is_some_and(|s| !s.is_empty()) {
            return Err("it has subTables".into());
        }
        let nodes = self.nodes_of(node.attribute("dataNode").unwrap_or_default())?;
        if node.attribute("type") == Some("global") {
            return broadcast(schema, name, &nodes).map(|rule| (rule, None));
        }
        let Some(rule) = node.attribute("rule") else {
            return match &nodes[..] {
                [one] if one.database == schema => Ok((Rule::Placed(one.group.clone()), None)),
                [one] => Err(format!(
                    "it is in the database {}, and Umpire does not rename databases: give the schema that name",
                    one.database
                )),
                _ => Err("it has several data nodes and no rule".into()),
            };
        };
        let (key, placing, conditions) = self.functions.place(rule, nodes.len())?;
        for condition in conditions {
            let message = format!("table {schema}.{name}: {condition}");
            self.findings.condition(at, message);
        }
        let rule = sharded(&key, placing, &nodes, schema, name)?;
        Ok((rule, Some(key)))
    }

    fn nodes_of(&self, text: &str) -> Result<Vec<DataNode>, String> {
        let names = range(text);
        if names.is_empty() {
            return Err("it has no data node".into());
        }
        let find = |name: &String| {
            let node = self.data_nodes.get(name).cloned();
            node.ok_or_else(|| format!("there is no data node {name:?}"))
        };
        names.iter().map(find).collect()
    }

    /// Rows of a child are where their parent's row is: as long as that is decided by the column that they name.
    fn children(
        &mut self,
        xml: &Xml<'_>,
        schema: &str,
        node: Node<'_, '_>,
        parent: Option<&Parent>,
    ) {
        for child in node.children().filter(|n| n.has_tag_name("childTable")) {
            let at = xml.at(child);
            let name = child.attribute("name").unwrap_or_default();
            let (join, of_parent) = (child.attribute("joinKey"), child.attribute("parentKey"));
            let follows =
                parent.filter(|p| of_parent.is_some_and(|key| key.eq_ignore_ascii_case(&p.key)));
            let own = match (follows, join) {
                (Some(parent), Some(join)) if is_plain(name) => Some(Parent {
                    key: join.to_owned(),
                    rule: with_key(&parent.rule, join, schema, name),
                }),
                _ => None,
            };
            match &own {
                Some(own) => self.add(schema, name, own.rule.clone()),
                None => {
                    let why = "its rows are where their parent's row is, which is not decided by a column of its own";
                    self.model.deny(schema, name, &at, why, &mut self.findings);
                }
            }
            self.children(xml, schema, child, own.as_ref());
        }
    }
}

fn groups(rule: &Rule) -> Vec<String> {
    match rule {
        Rule::Placed(group) => vec![group.clone()],
        Rule::Broadcast(shards) | Rule::Sharded { shards, .. } => {
            shards.iter().map(|s| s.group.clone()).collect()
        }
    }
}

fn shard(node: &DataNode, schema: &str, name: &str) -> Shard {
    Shard {
        group: node.group.clone(),
        table: (node.database != schema).then(|| format!("{}.{name}", node.database)),
        ..Shard::default()
    }
}

fn broadcast(schema: &str, name: &str, nodes: &[DataNode]) -> Result<Rule, String> {
    for (at, node) in nodes.iter().enumerate() {
        if nodes
            .iter()
            .skip(at + 1)
            .any(|other| other.group == node.group)
        {
            return Err(format!(
                "it is global and has several copies on host {:?}; Umpire keeps one a group",
                node.group
            ));
        }
    }
    let shards = nodes.iter().map(|node| shard(node, schema, name));
    Ok(Rule::Broadcast(shards.collect()))
}

/// The same rule for another table and column.
fn with_key(rule: &Rule, key: &str, schema: &str, name: &str) -> Rule {
    let Rule::Sharded {
        method,
        period,
        shards,
        ..
    } = rule
    else {
        return rule.clone();
    };
    let renamed = |shard: &Shard| Shard {
        table: shard.table.as_ref().map(|table| {
            let database = table.split('.').next().unwrap_or(schema);
            format!("{database}.{name}")
        }),
        ..shard.clone()
    };
    Rule::Sharded {
        key: key.to_owned(),
        method,
        period: *period,
        shards: shards.iter().map(renamed).collect(),
    }
}

fn sharded(
    key: &str,
    placing: Placing,
    nodes: &[DataNode],
    schema: &str,
    name: &str,
) -> Result<Rule, String> {
    if !is_plain(key) {
        return Err(format!(
            "its rule has the columns {key:?}; Umpire takes one"
        ));
    }
    let mut shards = Vec::new();
    for Owner {
        node,
        from,
        below,
        values,
        is_default,
    } in placing.owners
    {
        let node = nodes.get(node);
        let node =
            node.ok_or_else(|| format!("its function needs more than {} data nodes", nodes.len()))?;
        shards.push(Shard {
            from,
            below,
            values,
            is_default,
            ..shard(node, schema, name)
        });
    }
    Ok(Rule::Sharded {
        key: key.to_owned(),
        method: placing.method,
        period: placing.period,
        shards,
    })
}
