//! The rule of a table as a comment of its CREATE TABLE says it, and as it is kept: the keys of a `[[table]]` section.
//!
//! ```text
//! rule   = "shard" "by" method "(" key [ "," period ] ")" "over" shards [ ids ]
//!        | "broadcast" "on" group { "," group } [ ids ]
//! shards = count "tables" "on" group { "," group }
//!        | shard { "," shard }
//! shard  = [ table ] [ "from" bound ] [ "below" bound ] [ "values" "(" value { "," value } ")" ] [ "default" ]
//!          "on" group
//! ids    = "ids" ( "server" | "sequence" | "snowflake" )
//! ```
//!
//! Words are read in any case; names may be quoted, and are names whatever word they are then.
use std::fmt::Write;
use toml::Value;

const METHODS: [&str; 6] = ["hash", "mod", "jump", "range", "list", "date"];
/// As many shards as a rule can have.
const MOST: usize = 4096;

/// The keys of the section `[[table]]` for this table.
///
/// # Errors
/// What was expected and what is there; in words.
pub fn section_of_comment(comment: &str, schema: &str, table: &str) -> Result<String, String> {
    let mut reader = Reader {
        tokens: tokens(comment)?,
        at: 0,
    };
    let mut section = String::new();
    put(&mut section, "name", &format!("{schema}.{table}"));
    if reader.take("broadcast") {
        reader.want("on")?;
        put(&mut section, "method", "broadcast");
        let groups = reader.groups()?;
        let shards = groups.iter().map(|group| Shard::of(group)).collect();
        put_shards(&mut section, shards);
    } else if reader.take("shard") {
        reader.want("by")?;
        reader.sharded(&mut section, table)?;
    } else {
        return Err(reader.expected("SHARD BY or BROADCAST ON"));
    }
    if reader.take("ids") {
        put(
            &mut section,
            "ids",
            &reader.name("SERVER, SEQUENCE or SNOWFLAKE")?.to_lowercase(),
        );
    }
    match reader.tokens.get(reader.at) {
        None => Ok(section),
        Some(_) => Err(reader.expected("the end of the comment")),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    /// A name or text in quotes.
    Quoted(String),
    Mark(char),
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut list = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let plain = |c: char| c.is_alphanumeric() || "_$-.".contains(c);
        if first.is_whitespace() {
            rest = rest.trim_start();
        } else if let '\'' | '"' | '`' = first {
            let inner = rest.get(1..).unwrap_or_default();
            let (quoted, behind) = inner
                .split_once(first)
                .ok_or_else(|| format!("the quote in {} does not end", near(rest)))?;
            list.push(Token::Quoted(quoted.to_owned()));
            rest = behind;
        } else if plain(first) {
            let end = rest.find(|c| !plain(c)).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            list.push(Token::Word(word.to_owned()));
            rest = behind;
        } else {
            list.push(Token::Mark(first));
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
    }
    Ok(list)
}

fn near(text: &str) -> String {
    format!("'{}'", text.chars().take(40).collect::<String>())
}

#[derive(Default)]
struct Shard {
    group: String,
    table: Option<String>,
    from: Option<Value>,
    below: Option<Value>,
    values: Option<Vec<Value>>,
    default: bool,
}

impl Shard {
    fn of(group: &str) -> Shard {
        Shard {
            group: group.to_owned(),
            ..Shard::default()
        }
    }
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    fn sharded(&mut self, section: &mut String, table: &str) -> Result<(), String> {
        let method = self.name("a method")?.to_lowercase();
        if !METHODS.contains(&method.as_str()) {
            return Err(format!(
                "there is no method {method:?}; there are: {}",
                METHODS.join(", ")
            ));
        }
        self.want_mark('(')?;
        put(section, "key", &self.name("the key's column")?);
        put(section, "method", &method);
        if self.take_mark(',') {
            put(
                section,
                "period",
                &self.name("YEAR, MONTH or DAY")?.to_lowercase(),
            );
        }
        self.want_mark(')')?;
        self.want("over")?;
        let shards = match self.count()? {
            Some(_) if matches!(method.as_str(), "range" | "list" | "date") => {
                return Err(format!("each shard of method {method} has bounds or values of its own: list the shards"));
            }
            Some(count) => self.alike(count, table)?,
            None => self.list()?,
        };
        put_shards(section, shards);
        Ok(())
    }

    /// `4 tables`: their number.
    fn count(&mut self) -> Result<Option<usize>, String> {
        let tables = matches!(self.tokens.get(self.at + 1), Some(Token::Word(word)) if word.eq_ignore_ascii_case("tables"));
        let Some(Token::Word(number)) = self.tokens.get(self.at).filter(|_| tables) else {
            return Ok(None);
        };
        let count = number.parse().ok().filter(|n| (1..=MOST).contains(n));
        let count = count.ok_or_else(|| format!("'{number} tables': from 1 to {MOST}"))?;
        self.at += 2;
        Ok(Some(count))
    }

    /// `table_0` … on the groups, as many on each, one group after the other.
    fn alike(&mut self, count: usize, table: &str) -> Result<Vec<Shard>, String> {
        self.want("on")?;
        let groups = self.groups()?;
        if groups.len() > count {
            return Err(format!(
                "{} groups for {count} tables: some would have none",
                groups.len()
            ));
        }
        let shard = |at: usize| Shard {
            group: groups
                .get(at * groups.len() / count)
                .cloned()
                .unwrap_or_default(),
            table: Some(format!("{table}_{at}")),
            ..Shard::default()
        };
        Ok((0..count).map(shard).collect())
    }

    fn list(&mut self) -> Result<Vec<Shard>, String> {
        let mut shards = Vec::new();
        loop {
            let mut shard = Shard::default();
            if !["from", "below", "values", "default", "on"]
                .iter()
                .any(|word| self.is(word))
            {
                shard.table = Some(self.name("a shard's table or ON")?);
            }
            if self.take("from") {
                shard.from = Some(self.value()?);
            }
            if self.take("below") {
                shard.below = Some(self.value()?);
            }
            if self.take("values") {
                shard.values = Some(self.values()?);
            }
            shard.default = self.take("default");
            self.want("on")?;
            shard.group = self.name("a group")?;
            shards.push(shard);
            if !self.take_mark(',') {
                return Ok(shards);
            }
        }
    }

    fn values(&mut self) -> Result<Vec<Value>, String> {
        self.want_mark('(')?;
        let mut values = vec![self.value()?];
        while self.take_mark(',') {
            values.push(self.value()?);
        }
        self.want_mark(')')?;
        Ok(values)
    }

    /// A number, or a text in quotes. A date may go without quotes.
    fn value(&mut self) -> Result<Value, String> {
        let value = match self.tokens.get(self.at) {
            Some(Token::Quoted(text)) => Value::String(text.clone()),
            Some(Token::Word(word))
                if word.starts_with(|c: char| c.is_ascii_digit() || c == '-') =>
            {
                let number = word.parse().ok().map(Value::Integer);
                number.unwrap_or_else(|| Value::String(word.clone()))
            }
            _ => return Err(self.expected("a number, or a text in quotes")),
        };
        self.at += 1;
        Ok(value)
    }

    fn groups(&mut self) -> Result<Vec<String>, String> {
        let mut groups = vec![self.name("a group")?];
        while self.take_mark(',') {
            groups.push(self.name("a group")?);
        }
        Ok(groups)
    }

    fn name(&mut self, what: &str) -> Result<String, String> {
        let name = match self.tokens.get(self.at) {
            Some(Token::Word(name) | Token::Quoted(name)) => name.clone(),
            _ => return Err(self.expected(what)),
        };
        self.at += 1;
        Ok(name)
    }

    fn is(&self, word: &str) -> bool {
        matches!(self.tokens.get(self.at), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word))
    }

    fn take(&mut self, word: &str) -> bool {
        let is = self.is(word);
        self.at += usize::from(is);
        is
    }

    fn want(&mut self, word: &str) -> Result<(), String> {
        match self.take(word) {
            true => Ok(()),
            false => Err(self.expected(&word.to_uppercase())),
        }
    }

    fn take_mark(&mut self, mark: char) -> bool {
        let is = self.tokens.get(self.at) == Some(&Token::Mark(mark));
        self.at += usize::from(is);
        is
    }

    fn want_mark(&mut self, mark: char) -> Result<(), String> {
        match self.take_mark(mark) {
            true => Ok(()),
            false => Err(self.expected(&format!("'{mark}'"))),
        }
    }

    fn expected(&self, what: &str) -> String {
        let rest = self.tokens.get(self.at..).unwrap_or_default();
        let shown = |token: &Token| match token {
            Token::Word(word) => word.clone(),
            Token::Quoted(text) => format!("'{text}'"),
            Token::Mark(mark) => mark.to_string(),
        };
        let found: Vec<String> = rest.iter().take(6).map(shown).collect();
        match found.is_empty() {
            true => format!("expected {what} at the end of the comment"),
            false => format!("expected {what} near '{}'", found.join(" ")),
        }
    }
}

fn put(section: &mut String, key: &str, value: &str) {
    // infallible: a String takes everything
    let _ = writeln!(section, "{key} = {}", Value::String(value.to_owned()));
}

fn put_shards(section: &mut String, shards: Vec<Shard>) {
    section.push_str("shards = [\n");
    for shard in shards {
        let text = |text: String| Value::String(text);
        let keys = [
            ("group", Some(text(shard.group))),
            ("table", shard.table.map(text)),
            ("from", shard.from),
            ("below", shard.below),
            ("values", shard.values.map(Value::Array)),
            ("default", shard.default.then_some(Value::Boolean(true))),
        ];
        let given = keys
            .into_iter()
            .filter_map(|(key, value)| Some(format!("{key} = {}", value?)));
        // infallible: a String takes everything
        let _ = writeln!(section, "  {{ {} }},", given.collect::<Vec<_>>().join(", "));
    }
    section.push_str("]\n");
}
