//! Whether a statement may run: the configured rules against what the sniffer sees in its tokens. Pure.
mod characters;
mod known;
#[cfg(test)]
mod tests;

pub use known::{Known, Passed};

use crate::config::{Action, Policy, TableName};
use crate::sniff::{self, Dialect, Facts, Judge, Verb};

/// What is known of the session that sends a command.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub schema: Option<&'a [u8]>,
    pub dialect: Dialect,
    /// A command may have several statements.
    pub several: bool,
}

/// The rules that a command meets, as bits by their position.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The first rule that denies it.
    pub denied: Option<usize>,
    /// Those that only want to know.
    pub noted: u64,
    /// Those that learn, and do not know it yet.
    pub learns: u64,
    /// The denying rule is met by what may stand beyond the text's cut, not by what is known of it.
    pub unseen: bool,
}

/// Judges a command's text by at most 64 rules; the session's user is not looked at. `complete` false: the text
/// is cut off, and a rule that denies is met also by what may stand behind it.
pub fn judge(rules: &[Policy], sql: &[u8], complete: bool, context: Context<'_>) -> Verdict {
    let wants_digest = rules
        .iter()
        .any(|rule| !rule.digests.is_empty() || rule.allow_list.is_some());
    let digest = wants_digest.then(|| sniff::digest(sql, context.dialect));
    let mut court = Court::new(rules, digest, context);
    sniff::facts(sql, complete, context.dialect, &mut court);
    if sniff::has_versions(sql) {
        // servers of a group may be newer than the version that its clients are told: what a comment hides from
        // the oldest of them is judged like any other code
        let dialect = Dialect {
            version: 999_999,
            ..context.dialect
        };
        court.read_as(sql, complete, dialect);
    }
    if context.dialect.ambiguous_bytes && !sql.is_ascii() {
        for characters in characters::SETS {
            let sql = characters::joined(sql, characters);
            court.read_as(&sql, complete, context.dialect);
        }
    }
    court.verdict()
}

/// Judges a command that has no text of its own (COM_DROP_DB, COM_FIELD_LIST, …) by what it does.
pub fn judge_command(
    rules: &[Policy],
    kind: Verb,
    table: Option<&[u8]>,
    context: Context<'_>,
) -> Verdict {
    let mut court = Court::new(rules, None, context);
    if let Some(table) = table {
        court.name(None, table);
    }
    court.statement(Facts {
        kind,
        full_table_select: false,
        no_where: false,
        opaque: false,
        further: false,
        prepared: false,
        cut: false,
        digest: 0,
    });
    court.verdict()
}

/// What in the statement the rule does not allow, in words.
pub fn reason(rule: &Policy, unseen: bool) -> &'static str {
    if unseen {
        "the statement is longer than what Umpire looks at (16 MiB), and its end might meet the policy; split it"
    } else if rule.no_where {
        "UPDATE or DELETE without WHERE"
    } else if rule.full_table_select {
        "SELECT * of a whole table, without WHERE or LIMIT"
    } else if rule.multi_statement {
        "several statements in one command"
    } else if rule.allow_list.is_some() {
        "it is not on the list of known statements"
    } else if rule.opaque {
        "what runs cannot be known from the text"
    } else if !rule.tables.is_empty() {
        "it names a table that the policy protects"
    } else if !rule.digests.is_empty() {
        "its digest is on the policy's list"
    } else {
        "statements of this kind"
    }
}

fn bits(rules: &[Policy], which: impl Fn(&Policy) -> bool) -> u64 {
    let each = rules.iter().take(64).enumerate();
    each.fold(0, |all, (at, rule)| all | u64::from(which(rule)) << at)
}

struct Court<'a> {
    rules: &'a [Policy],
    digest: Option<u64>,
    context: Context<'a>,
    /// Rules that name tables; those of them of which this statement names one; rules met so far.
    with_tables: u64,
    tables: u64,
    met: u64,
    /// Those that what was cut off may meet.
    may_meet: u64,
    /// The text is read another time, as another server might: its digest is known already.
    again: bool,
}

impl<'a> Court<'a> {
    fn new(rules: &'a [Policy], digest: Option<u64>, context: Context<'a>) -> Court<'a> {
        Court {
            rules,
            digest,
            context,
            with_tables: bits(rules, |rule| !rule.tables.is_empty()),
            tables: 0,
            met: 0,
            may_meet: 0,
            again: false,
        }
    }

    fn read_as(&mut self, sql: &[u8], complete: bool, dialect: Dialect) {
        (self.again, self.tables) = (true, 0);
        sniff::facts(sql, complete, dialect, self);
    }

    fn verdict(&self) -> Verdict {
        let denies = bits(self.rules, |rule| rule.action == Action::Deny);
        let known = self.met & denies;
        let denying = (self.met | self.may_meet) & denies;
        let learns = self.met & bits(self.rules, |rule| rule.action == Action::Learn);
        Verdict {
            denied: (denying != 0).then(|| denying.trailing_zeros() as usize),
            noted: self.met & !known & !learns,
            learns,
            unseen: known == 0 && denying != 0,
        }
    }

    fn is_unknown(&self, rule: &Policy, facts: &Facts) -> bool {
        let has = |digest: &u64| rule.known.contains(digest);
        match facts.prepared {
            // a statement that makes another of a literal says nothing of the other
            true => !has(&facts.digest),
            false => !self.digest.is_some_and(|digest| has(&digest)),
        }
    }

    /// Whether the rule may be met by what stands beyond the cut: the rest of this statement, or further ones.
    fn may_meet(&self, rule: &Policy, facts: &Facts) -> bool {
        let further = self.context.several || facts.kind == Verb::Empty;
        if further {
            return true;
        }
        let changes = matches!(facts.kind, Verb::Update | Verb::Delete | Verb::With);
        is_kind(rule, facts.kind)
            && (!rule.no_where || changes)
            && (!rule.multi_statement || facts.further)
    }
}

fn is_kind(rule: &Policy, kind: Verb) -> bool {
    rule.kinds == 0 || rule.kinds >> (kind as u64).min(63) & 1 == 1
}

impl Judge for Court<'_> {
    fn wants_digests(&self) -> bool {
        self.digest.is_some() && !self.again
    }

    fn name(&mut self, qualifier: Option<&[u8]>, name: &[u8]) {
        let mut left = self.with_tables & !self.tables;
        while left != 0 {
            let at = left.trailing_zeros() as usize;
            left &= left - 1;
            let Some(rule) = self.rules.get(at) else {
                return;
            };
            let schema = self.context.schema;
            if rule.tables.iter().any(|t| is(t, qualifier, name, schema)) {
                self.tables |= 1 << at;
            }
        }
    }

    fn statement(&mut self, facts: Facts) {
        for (at, rule) in self.rules.iter().take(64).enumerate() {
            let kind = is_kind(rule, facts.kind);
            let listed = |digest: u64| rule.digests.contains(&digest);
            let digest = rule.digests.is_empty()
                || (!self.again && (listed(facts.digest) || self.digest.is_some_and(listed)));
            let unknown =
                rule.allow_list.is_none() || (!self.again && self.is_unknown(rule, &facts));
            let table = rule.tables.is_empty() || self.tables >> at & 1 == 1;
            let shape = (!rule.full_table_select || facts.full_table_select)
                && (!rule.no_where || facts.no_where)
                && (!rule.multi_statement || facts.further)
                && (!rule.opaque || facts.opaque);
            if kind && digest && unknown && table && shape {
                self.met |= 1 << at;
            }
            if facts.cut && self.may_meet(rule, &facts) {
                self.may_meet |= 1 << at;
            }
        }
        self.tables = 0;
        if facts.kind == Verb::Use {
            // the statements behind it are in another schema
            self.context.schema = None;
        }
    }
}

/// Whether `qualifier.name` may be the table. Names are compared without regard to case: on some servers they are.
fn is(rule: &TableName, qualifier: Option<&[u8]>, name: &[u8], schema: Option<&[u8]>) -> bool {
    if !rule.table.as_bytes().eq_ignore_ascii_case(name) {
        return false;
    }
    let Some(wanted) = rule.schema.as_deref() else {
        return true;
    };
    let there = qualifier.or(schema);
    // without a schema the server refuses the statement, or a USE of the same command sets one
    there.is_none_or(|there| wanted.as_bytes().eq_ignore_ascii_case(there))
}
