//! `rule.xml`: columns and functions, and which of our methods places rows as they do.
use super::super::read;
use super::super::spans::{civil, days, first_wins, Span};
use super::Xml;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Data nodes that a table of months or days may have.
const MOST: usize = 4096;

/// Where the rows are.
pub(super) struct Placing {
    pub method: &'static str,
    pub period: Option<&'static str>,
    pub owners: Vec<Owner>,
}

/// What a data node has.
#[derive(Default)]
pub(super) struct Owner {
    /// Place in the table's list.
    pub node: usize,
    /// In TOML, as are the values.
    pub from: Option<String>,
    pub below: Option<String>,
    pub values: Vec<String>,
    pub is_default: bool,
}

struct Function {
    class: String,
    properties: BTreeMap<String, String>,
}

pub(super) struct Functions {
    folder: PathBuf,
    /// Rule → columns and function.
    rules: BTreeMap<String, (String, String)>,
    functions: BTreeMap<String, Function>,
}

type Outcome = Result<(Placing, Vec<&'static str>), String>;

impl Functions {
    pub fn read(xml: &Xml<'_>, folder: &Path) -> Functions {
        let mut rules = BTreeMap::new();
        for rule in xml.all("tableRule") {
            let text = |name: &'static str| {
                let found = rule.descendants().find(|n| n.has_tag_name(name));
                found
                    .and_then(|n| n.text())
                    .unwrap_or_default()
                    .trim()
                    .to_owned()
            };
            let name = rule.attribute("name").unwrap_or_default().to_owned();
            rules.insert(name, (text("columns"), text("algorithm")));
        }
        let mut functions = BTreeMap::new();
        for function in xml.all("function") {
            let class = function.attribute("class").unwrap_or_default();
            let class = class.rsplit('.').next().unwrap_or_default().to_owned();
            let properties = function.children().filter(|n| n.has_tag_name("property"));
            let properties = properties.filter_map(|n| {
                let value = n.text().unwrap_or_default().trim().to_owned();
                Some((n.attribute("name")?.to_owned(), value))
            });
            let own = Function {
                class,
                properties: properties.filter(|(_, value)| !value.is_empty()).collect(),
            };
            functions.insert(
                function.attribute("name").unwrap_or_default().to_owned(),
                own,
            );
        }
        Functions {
            folder: folder.to_owned(),
            rules,
            functions,
        }
    }

    /// Column and placing of a rule for so many data nodes, and what has to hold.
    pub fn place(
        &self,
        rule: &str,
        nodes: usize,
    ) -> Result<(String, Placing, Vec<&'static str>), String> {
        let (column, name) = self
            .rules
            .get(rule)
            .ok_or_else(|| format!("there is no rule {rule:?}"))?;
        let function = self.functions.get(name);
        let function = function.ok_or_else(|| format!("there is no function {name:?}"))?;
        let outcome = match function.class.as_str() {
            "PartitionByMod" => modulo(function, nodes),
            "AutoPartitionByLong" => self.ranges(function),
            "PartitionByFileMap" => self.listed(function),
            "PartitionByMonth" => months(function, nodes),
            "PartitionByDate" => by_days(function, nodes),
            class => Err(format!("{class} places rows as no method of Umpire does")),
        };
        let (placing, conditions) = outcome.map_err(|why| format!("function {name:?}: {why}"))?;
        Ok((column.clone(), placing, conditions))
    }

    fn map_file(&self, function: &Function) -> Result<Vec<(String, String, String)>, String> {
        let name = function.get("mapFile").ok_or("it has no mapFile")?;
        let file = self.folder.join(name);
        let text = read(&file)?;
        let mut entries = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') || line.starts_with("//") {
                continue;
            }
            let at = format!("{}:{}", file.display(), at + 1);
            let (key, node) = line
                .split_once('=')
                .ok_or_else(|| format!("{at}: expected key=node"))?;
            entries.push((at, key.trim().to_owned(), node.trim().to_owned()));
        }
        Ok(entries)
    }

    /// AutoPartitionByLong: the first range that holds the key, both ends included.
    fn ranges(&self, function: &Function) -> Outcome {
        let mut ranges = Vec::new();
        for (at, key, node) in self.map_file(function)? {
            let wrong = || format!("{at}: expected from-to=node");
            let (from, to) = key.split_once('-').ok_or_else(wrong)?;
            let (from, to) = (number(from), number(to));
            let (from, to) = from.zip(to).ok_or_else(wrong)?;
            let node: usize = node.parse().map_err(|_| wrong())?;
            if from <= to {
                let span = Span {
                    from: Some(from),
                    below: to.checked_add(1),
                };
                ranges.push((node, span));
            }
        }
        let joined = first_wins(&ranges, function.default_node());
        let joined = joined.map_err(|node| {
            format!("data node {node} has several ranges of keys (or what no range holds); a shard of Umpire has one")
        })?;
        let owner = |(node, span): (usize, Span)| Owner {
            node,
            from: span.from.map(|n| n.to_string()),
            below: span.below.map(|n| n.to_string()),
            ..Owner::default()
        };
        let placing = Placing {
            method: "range",
            period: None,
            owners: joined.into_iter().map(owner).collect(),
        };
        Ok((placing, Vec::new()))
    }

    /// PartitionByFileMap: each value its node, the others the default one.
    fn listed(&self, function: &Function) -> Outcome {
        let texts = function.get("type").is_some_and(|t| t != "0");
        let mut owners: BTreeMap<usize, Owner> = BTreeMap::new();
        for (at, key, node) in self.map_file(function)? {
            let node: usize = node
                .parse()
                .map_err(|_| format!("{at}: expected value=node"))?;
            let value = if texts {
                super::super::model::quoted(&key)
            } else {
                let number: i32 = key
                    .parse()
                    .map_err(|_| format!("{at}: {key:?} is no whole number"))?;
                number.to_string()
            };
            owners.entry(node).or_default().values.push(value);
        }
        if let Some(node) = function.default_node() {
            owners.entry(node).or_default().is_default = true;
        }
        let owners = owners
            .into_iter()
            .map(|(node, owner)| Owner { node, ..owner });
        let placing = Placing {
            method: "list",
            period: None,
            owners: owners.collect(),
        };
        let same = "keys that differ in case only, or by spaces at their end, are in one data node (MyCat told them apart)";
        Ok((placing, texts.then_some(same).into_iter().collect()))
    }
}

impl Function {
    fn get(&self, name: &str) -> Option<&str> {
        self.properties.get(name).map(String::as_str)
    }

    fn default_node(&self) -> Option<usize> {
        self.get("defaultNode")?.parse().ok()
    }

    /// `sBeginDate`, of the usual format, without an end after which it begins anew.
    fn begin(&self) -> Result<(i64, i64, i64), String> {
        if self
            .get("dateFormat")
            .is_some_and(|format| format != "yyyy-MM-dd")
        {
            return Err("only the dateFormat yyyy-MM-dd is read".into());
        }
        if self.get("sEndDate").is_some() {
            return Err("after sEndDate it begins with the first data node again, which no method of Umpire does".into());
        }
        let text = self.get("sBeginDate").ok_or("it has no sBeginDate")?;
        let parts: Vec<i64> = text
            .split('-')
            .filter_map(|part| part.parse().ok())
            .collect();
        match parts[..] {
            [year, month, day] if civil(days(year, month, day)) == (year, month, day) => {
                Ok((year, month, day))
            }
            _ => Err(format!("{text:?} is no date")),
        }
    }
}

/// PartitionByMod: |key| mod count.
fn modulo(function: &Function, nodes: usize) -> Outcome {
    let count = function.get("count").and_then(|n| n.parse::<usize>().ok());
    let count = count.filter(|n| *n > 0).ok_or("it has no count")?;
    if count > nodes {
        return Err(format!(
            "it places rows on {count} data nodes, and the table has {nodes}"
        ));
    }
    let owner = |node| Owner {
        node,
        ..Owner::default()
    };
    let placing = Placing {
        method: "mod",
        period: None,
        owners: (0..count).map(owner).collect(),
    };
    let condition = "no key is negative (MyCat placed those by their absolute value)";
    Ok((placing, vec![condition]))
}

/// PartitionByMonth: a data node each month.
fn months(function: &Function, nodes: usize) -> Outcome {
    let (year, month, _) = function.begin()?;
    let first = year * 12 + month - 1;
    let text = |number: i64| {
        format!(
            "\"{:04}-{:02}\"",
            number.div_euclid(12),
            number.rem_euclid(12) + 1
        )
    };
    let owner = |node: usize| {
        let number = first + node as i64;
        Owner {
            node,
            from: Some(text(number)),
            below: Some(text(number + 1)),
            ..Owner::default()
        }
    };
    let placing = Placing {
        method: "date",
        period: Some("month"),
        owners: (0..nodes.min(MOST)).map(owner).collect(),
    };
    Ok((placing, vec!["the key is a DATE or DATETIME"]))
}

/// PartitionByDate: a data node each `sPartionDay` days.
fn by_days(function: &Function, nodes: usize) -> Outcome {
    let (year, month, day) = function.begin()?;
    let width = function
        .get("sPartionDay")
        .and_then(|n| n.parse::<i64>().ok());
    let width = width
        .filter(|n| (1..=36_600).contains(n))
        .ok_or("it has no sPartionDay")?;
    let first = days(year, month, day);
    let text = |number: i64| {
        let (year, month, day) = civil(number);
        format!("\"{year:04}-{month:02}-{day:02}\"")
    };
    let owner = |node: usize| {
        let begins = first + node as i64 * width;
        // a difference is cut towards zero: the first node also has what is less than a width before the beginning
        let from = if node == 0 {
            begins - (width - 1)
        } else {
            begins
        };
        Owner {
            node,
            from: Some(text(from)),
            below: Some(text(begins + width)),
            ..Owner::default()
        }
    };
    let placing = Placing {
        method: "date",
        period: Some("day"),
        owners: (0..nodes.min(MOST)).map(owner).collect(),
    };
    let conditions = vec![
        "the key is a DATE or DATETIME",
        "MyCat ran in a time zone without daylight saving time (in others it counts days of 23 and 25 hours)",
    ];
    Ok((placing, conditions))
}

/// `500`, `500K` (thousand), `500M` (ten thousand), `500M1`.
fn number(text: &str) -> Option<i64> {
    let text = text.trim().to_ascii_uppercase();
    for (unit, times) in [('M', 10_000), ('K', 1000)] {
        if let Some((count, rest)) = text.split_once(unit) {
            let count: i64 = count.parse().ok()?;
            let rest: i64 = if rest.is_empty() {
                0
            } else {
                rest.parse().ok()?
            };
            return count.checked_mul(times)?.checked_add(rest);
        }
    }
    text.parse().ok()
}
