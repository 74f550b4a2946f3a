//! That texts which come again and again meet no policy that denies them.
//!
//! A verdict follows from a text's tokens but for the digits of its numbers, from the rules, and from the session's
//! [`Context`]. For a text that the sniffer keeps ([`TextId`]: the same tokens, and one dialect) it is kept under all of
//! these, which are compared each time. Only that a text may run is kept, never that it may not, nor that it is to be learnt;
//! and nothing of texts that are read in more than one way, since a number of the one reading may be a name's part in another.
use super::{judge, Context, Verdict};
use crate::config::Policy;
use crate::sniff::{self, Dialect, TextId};

/// Texts that have a place; of two that want the same one the later has it.
const PLACES: usize = 512;

/// Of a text that may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passed {
    /// The number of the rules that it was judged by; 0: it has to be judged.
    pub rules: u64,
    /// See [`Verdict`].
    pub noted: u64,
}

impl Passed {
    /// None: it is not to be kept.
    pub fn of(verdict: &Verdict, rules: u64) -> Option<Passed> {
        let may_run = verdict.denied.is_none() && verdict.learns == 0 && !verdict.unseen;
        may_run.then_some(Passed {
            rules,
            noted: verdict.noted,
        })
    }

    /// What the same rules say now.
    pub fn verdict(&self) -> Verdict {
        Verdict {
            noted: self.noted,
            ..Verdict::default()
        }
    }
}

/// Per worker. Nothing is allocated before the first text is kept, nor when a kept one is met.
#[derive(Default)]
pub struct Known {
    places: Vec<Option<Place>>,
}

struct Place {
    text: TextId,
    passed: Passed,
    schema: Option<Box<[u8]>>,
    dialect: Dialect,
    several: bool,
}

impl Known {
    /// As [`judge`] of a whole text. `number`: the rules' own, which no other rules ever have.
    pub fn judge(
        &mut self,
        text: TextId,
        number: u64,
        rules: &[Policy],
        sql: &[u8],
        context: Context<'_>,
    ) -> Verdict {
        if let Some(passed) = self.recall(text, number, &context) {
            return passed.verdict();
        }
        let verdict = judge(rules, sql, true, context);
        match Passed::of(&verdict, number) {
            Some(passed) if is_read_one_way(sql, context.dialect) => {
                self.keep(text, passed, &context);
            }
            _ => {}
        }
        verdict
    }

    /// None: it is not known.
    #[inline]
    pub fn recall(&self, text: TextId, number: u64, context: &Context<'_>) -> Option<Passed> {
        let place = self.places.get(place(text, number, context))?.as_ref()?;
        let same = place.text == text
            && place.passed.rules == number
            && place.several == context.several
            && place.dialect == context.dialect
            && place.schema.as_deref() == context.schema;
        same.then_some(place.passed)
    }

    fn keep(&mut self, text: TextId, passed: Passed, context: &Context<'_>) {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        if let Some(place) = self.places.get_mut(place(text, passed.rules, context)) {
            *place = Some(Place {
                text,
                passed,
                schema: context.schema.map(Into::into),
                dialect: context.dialect,
                several: context.several,
            });
        }
    }
}

/// See [`judge`]: what other texts are judged as, too.
fn is_read_one_way(sql: &[u8], dialect: Dialect) -> bool {
    (sql.is_ascii() || !dialect.ambiguous_bytes) && !sniff::has_versions(sql)
}

/// The same text has a place for each user and schema.
#[inline]
fn place(text: TextId, number: u64, context: &Context<'_>) -> usize {
    let schema = context.schema.unwrap_or_default();
    let hash = schema.iter().fold(0_usize, |hash, byte| {
        hash.wrapping_mul(31) ^ usize::from(*byte)
    });
    let rules = (number as usize).wrapping_mul(7);
    (text.0 as usize).wrapping_add(rules).wrapping_add(hash) % PLACES
}
