//! Whether a statement may run: the configured rules against what the sniffer sees in its tokens. Pure.
#[cfg(test)]
mod tests;

use crate::config::{Action, Policy, TableName};
use crate::sniff::{self, Dialect, Facts, Judge, Verb};

/// What is known of the session that sends a command.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub schema: Option<&'a [u8]>,
    pub dialect: Dialect,
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
}

/// Judges a command's text by at most 64 rules; the session's user is not looked at. `complete` false: the text
/// is cut off.
pub fn judge(rules: &[Policy], sql: &[u8], complete: bool, context: Context<'_>) -> Verdict {
    let wants_digest = rules
        .iter()
        .any(|rule| !rule.digests.is_empty() || rule.allow_list.is_some());
    let mut court = Court {
        rules,
        digest: wants_digest.then(|| sniff::digest(sql, context.dialect)),
        context,
        with_tables: tables_of(rules),
        tables: 0,
        met: 0,
    };
    sniff::facts(sql, complete, context.dialect, &mut court);
    verdict(rules, court.met)
}

/// Judges a command that has no text of its own (COM_DROP_DB, COM_FIELD_LIST, …) by what it does.
pub fn judge_command(
    rules: &[Policy],
    kind: Verb,
    table: Option<&[u8]>,
    context: Context<'_>,
) -> Verdict {
    let mut court = Court {
        rules,
        digest: None,
        context,
        with_tables: tables_of(rules),
        tables: 0,
        met: 0,
    };
    if let Some(table) = table {
        court.name(None, table);
    }
    court.statement(Facts {
        kind,
        full_table_select: false,
        no_where: false,
        opaque: false,
        further: false,
    });
    verdict(rules, court.met)
}

/// What in the statement the rule does not allow, in words.
pub fn reason(rule: &Policy) -> &'static str {
    if rule.no_where {
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

fn tables_of(rules: &[Policy]) -> u64 {
    bits(rules, |rule| !rule.tables.is_empty())
}

fn bits(rules: &[Policy], which: impl Fn(&Policy) -> bool) -> u64 {
    let each = rules.iter().take(64).enumerate();
    each.fold(0, |all, (at, rule)| all | u64::from(which(rule)) << at)
}

fn verdict(rules: &[Policy], met: u64) -> Verdict {
    let denying = met & bits(rules, |rule| rule.action == Action::Deny);
    let learns = met & bits(rules, |rule| rule.action == Action::Learn);
    Verdict {
        denied: (denying != 0).then(|| denying.trailing_zeros() as usize),
        noted: met & !denying & !learns,
        learns,
    }
}

struct Court<'a> {
    rules: &'a [Policy],
    digest: Option<u64>,
    context: Context<'a>,
    /// Rules that name tables; those of them of which this statement names one; rules met so far.
    with_tables: u64,
    tables: u64,
    met: u64,
}

impl Judge for Court<'_> {
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
            let kind = rule.kinds == 0 || rule.kinds >> (facts.kind as u64).min(63) & 1 == 1;
            let digest =
                rule.digests.is_empty() || self.digest.is_some_and(|d| rule.digests.contains(&d));
            let unknown =
                rule.allow_list.is_none() || self.digest.is_none_or(|d| !rule.known.contains(&d));
            let table = rule.tables.is_empty() || self.tables >> at & 1 == 1;
            let shape = (!rule.full_table_select || facts.full_table_select)
                && (!rule.no_where || facts.no_where)
                && (!rule.multi_statement || facts.further)
                && (!rule.opaque || facts.opaque);
            if kind && digest && unknown && table && shape {
                self.met |= 1 << at;
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
