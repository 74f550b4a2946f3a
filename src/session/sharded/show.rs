//! What a sharded table looks like: one shard's answer, with the table's own name in it.
use super::prepared::Binding;
use super::reply::Told;
use super::used::Used;
use super::Session;
use crate::plan::{Answer, Fanout, Merge, Shown};
use crate::scatter::{Failure, Output};
use crate::session::lease::Attempt;
use crate::sniff::lexer::{Kind, Lexer};
use crate::sniff::{Dialect, Sniffed};
use crate::wire::capabilities::{
    DEPRECATE_EOF, MARIADB_CACHE_METADATA, OPTIONAL_RESULTSET_METADATA,
};
use crate::wire::column::encode_count;
use crate::wire::reply;
use crate::wire::row::{begin_binary, put_binary, put_text, walk_binary, walk_text};

/// Bytes of an answer.
const LONGEST: usize = 16 << 20;

impl Session {
    /// `binding`: of an EXECUTE, whose rows are binary.
    pub(super) async fn show(
        &mut self,
        shown: &Shown,
        sniffed: &Sniffed,
        binding: Option<&Binding>,
    ) -> Result<(), Told> {
        let name = self.group_name(shown.part.group)?;
        self.take_seat(Some(&name));
        let lease = self.lease(sniffed, &mut Attempt::default()).await?;
        let held = !self.pins.is_empty();
        let mut used = Used::new(self.active_seat(), lease, held);
        used.parts.push(0);
        let answer = match self.ask_shown(&mut used, shown, binding).await {
            Ok(answer) => answer,
            Err(told) => {
                self.put_back(vec![used])?;
                return Err(told);
            }
        };
        self.give_back(used)?;
        self.note_single(name);
        let mut answer = answer.map_err(|failure| self.explain_failure(failure, &[]))?;
        let columns = answer.columns.pop().unwrap_or_default();
        let capabilities = self.capabilities;
        let mut out = Output::new(&self.client, usize::MAX);
        let flagged = capabilities & (OPTIONAL_RESULTSET_METADATA | MARIADB_CACHE_METADATA) != 0;
        out.packet(&encode_count(columns.len(), flagged));
        for column in &columns {
            out.packet(&column.encode(capabilities));
        }
        if capabilities & DEPRECATE_EOF == 0 {
            out.packet(&reply::eof(0, self.reply_status()));
        }
        let kinds: Vec<u8> = columns.iter().map(|column| column.kind).collect();
        let names = Names {
            shown,
            dialect: self.dialect,
        };
        let rows = answer.rows.iter();
        let renamed: Option<Vec<Vec<u8>>> = rows
            .map(|row| names.row(row, &kinds, binding.is_some()))
            .collect();
        let Some(rows) = renamed else {
            let what = "a row with other values than columns";
            return Err(self.explain_failure(Failure::Protocol { part: 0, what }, &[]));
        };
        rows.iter().for_each(|row| out.packet(row));
        self.tell_rows_end(0, &mut out);
        out.flush();
        Ok(())
    }

    /// The shard's rows, or why it was not asked.
    async fn ask_shown(
        &mut self,
        used: &mut Used,
        shown: &Shown,
        binding: Option<&Binding>,
    ) -> Result<Result<crate::scatter::Collected, Failure>, Told> {
        let fanout = Fanout {
            parts: vec![shown.part.clone()],
            writes: false,
            answer: Answer::Rows(Merge::default()),
            ids: Vec::new(),
        };
        if let Some(binding) = binding {
            self.prepare_parts(std::slice::from_mut(used), &fanout, binding)
                .await?;
        }
        self.write_state(used)?;
        if let Err(failure) = used.write_parts(&fanout, binding) {
            return Ok(Err(failure));
        }
        Ok(self.collect(used, LONGEST).await)
    }
}

/// The names that shards' take.
struct Names<'a> {
    shown: &'a Shown,
    dialect: Dialect,
}

impl Names<'_> {
    /// A row in which the shard's table has the table's name: as the first value, and in CREATE TABLE.
    fn row(&self, row: &[u8], kinds: &[u8], binary: bool) -> Option<Vec<u8>> {
        let mut spans = Vec::new();
        match binary {
            true => walk_binary(row, kinds, &mut spans).ok()?,
            false => walk_text(row, kinds.len(), &mut spans).ok()?,
        }
        let mut out = Vec::with_capacity(row.len());
        if binary {
            begin_binary(kinds.len(), &mut out);
        }
        for (at, (span, kind)) in spans.iter().zip(kinds).enumerate() {
            let value = span.of(row);
            let created = value.filter(|value| value.starts_with(b"CREATE "));
            let created = created.map(|text| self.definition(text));
            let value = match (value, &created) {
                // the column of the table's name
                (Some(value), _) if at == 0 && value == self.shown.was.as_bytes() => {
                    Some(self.shown.is.as_bytes())
                }
                (_, Some(created)) => Some(created.as_slice()),
                (value, None) => value,
            };
            match binary {
                true => put_binary(0, at, *kind, value, &mut out),
                false => put_text(value, &mut out),
            }
        }
        Some(out)
    }

    /// CREATE TABLE with the table's own name, those of the tables that it refers to, and of the constraints that servers
    /// name after it.
    fn definition(&self, text: &[u8]) -> Vec<u8> {
        let mut lexer = Lexer::new(text, self.dialect);
        let (mut out, mut copied) = (Vec::with_capacity(text.len()), 0);
        let mut before = Before::Nothing;
        let mut is_named = false;
        loop {
            let token = lexer.next();
            let word = lexer.bytes(&token);
            let is_name = matches!(token.kind, Kind::Word | Kind::Quoted);
            let new = match (token.kind, before) {
                (Kind::End, _) => {
                    out.extend_from_slice(text.get(copied..).unwrap_or_default());
                    return out;
                }
                (_, Before::Table) if is_name && !is_named => {
                    is_named = true;
                    self.table(word)
                }
                (_, Before::References) if is_name => self.table(word),
                (_, Before::Constraint) if is_name => self.constraint(word),
                _ => None,
            };
            if let Some(new) = new {
                let quote = text.get(token.start).filter(|_| token.kind == Kind::Quoted);
                out.extend_from_slice(text.get(copied..token.start).unwrap_or_default());
                out.extend(quote);
                out.extend_from_slice(&new);
                out.extend(quote);
                copied = token.end;
            }
            let is = |of: &[u8]| token.kind == Kind::Word && word.eq_ignore_ascii_case(of);
            before = match before {
                // REFERENCES `schema`.`table`
                Before::References if is_name || token.kind == Kind::Mark(b'.') => before,
                _ if is(b"table") => Before::Table,
                _ if is(b"references") => Before::References,
                _ if is(b"constraint") => Before::Constraint,
                _ => Before::Nothing,
            };
        }
    }

    fn table(&self, name: &[u8]) -> Option<Vec<u8>> {
        let was = |(was, _): &&(String, String)| was.as_bytes() == name;
        let found = self.shown.others.iter().find(was);
        found.map(|(_, is)| is.clone().into_bytes())
    }

    /// `orders_0_ibfk_1` → `orders_ibfk_1`
    fn constraint(&self, name: &[u8]) -> Option<Vec<u8>> {
        let rest = name.strip_prefix(self.shown.was.as_bytes())?;
        let made = [&b"_ibfk_"[..], b"_chk_"]
            .iter()
            .any(|made| rest.starts_with(made));
        made.then(|| [self.shown.is.as_bytes(), rest].concat())
    }
}

/// The word before a name.
#[derive(Clone, Copy)]
enum Before {
    Nothing,
    Table,
    References,
    Constraint,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Part;

    /// VAR_STRING
    const TEXT: u8 = 0xfd;

    fn shown() -> Shown {
        let pair = |was: &str, is: &str| (was.to_owned(), is.to_owned());
        Shown {
            part: Part {
                group: 0,
                shard: 0,
                sql: Vec::new(),
                parameters: Vec::new(),
            },
            was: "t_0".into(),
            is: "t".into(),
            others: vec![pair("t_0", "t"), pair("u_0", "u")],
        }
    }

    #[test]
    fn a_shards_name_becomes_the_tables() {
        let shown = shown();
        let names = Names {
            shown: &shown,
            dialect: Dialect::default(),
        };
        let text = |values: &[Option<&str>]| {
            let mut row = Vec::new();
            values
                .iter()
                .for_each(|v| put_text(v.map(str::as_bytes), &mut row));
            row
        };
        let binary = |values: &[Option<&str>]| {
            let mut row = Vec::new();
            begin_binary(values.len(), &mut row);
            for (at, v) in values.iter().enumerate() {
                put_binary(0, at, TEXT, v.map(str::as_bytes), &mut row);
            }
            row
        };
        let given = [
            Some("t_0"),
            Some("CREATE TABLE `t_0` (`t_0` int)"),
            None,
            Some("t_0"),
        ];
        let wanted = [
            Some("t"),
            Some("CREATE TABLE `t` (`t_0` int)"),
            None,
            Some("t_0"),
        ];
        let kinds = [TEXT; 4];
        let row = |row: &[u8], binary| names.row(row, &kinds, binary);
        assert_eq!(row(&text(&given), false), Some(text(&wanted)));
        assert_eq!(row(&binary(&given), true), Some(binary(&wanted)));
        assert_eq!(names.row(&text(&given), &kinds[..3], false), None);
    }

    #[test]
    fn a_definition_names_no_shard() {
        let shown = shown();
        let names = Names {
            shown: &shown,
            dialect: Dialect::default(),
        };
        let text = "CREATE TABLE `t_0` (\n  `a` int COMMENT 'REFERENCES `u_0` it''s',\n  CONSTRAINT `t_0_ibfk_1` FOREIGN KEY \
                    (`a`) REFERENCES `app`.`u_0` (`u_0`),\n CONSTRAINT `t_0_own` CHECK (`a` > 1), CONSTRAINT \
                    `t_0_chk_2` CHECK (`a` > 2))";
        let wanted = "CREATE TABLE `t` (\n  `a` int COMMENT 'REFERENCES `u_0` it''s',\n  CONSTRAINT `t_ibfk_1` FOREIGN KEY \
                      (`a`) REFERENCES `app`.`u` (`u_0`),\n CONSTRAINT `t_0_own` CHECK (`a` > 1), CONSTRAINT \
                      `t_chk_2` CHECK (`a` > 2))";
        let is = names.definition(text.as_bytes());
        assert_eq!(String::from_utf8_lossy(&is), wanted);
        let names = Names {
            shown: &shown,
            dialect: Dialect {
                ansi_quotes: true,
                ..Dialect::default()
            },
        };
        let is = names.definition(b"CREATE TABLE \"t_0\" (\"a\" int)");
        assert_eq!(is, b"CREATE TABLE \"t\" (\"a\" int)");
    }
}
