//! Kept plans that are found without reading the statement.
//!
//! [`super::cache`] finds a plan by the statement's words, for which it has to read them. Two things are known without:
//! a text that the sniffer keeps ([`TextId`]), in which only the digits of whole numbers differ, each at its place; and
//! the text of a prepared statement, by its identity. For them the places of keys and of numbers are kept too: what is
//! left to do is to read the key, find its shard, and put the numbers into the shard's text.
use super::key_at::{one_shard, At, KeyAt};
use super::literal::Reader;
use super::part_text::PartText;
use super::request::{Planned, Request, Value};
use super::template::{has_long_numbers, Hole};
use super::types::Plan;
use crate::sniff::{Dialect, TextId};
use crate::topology::ShardMap;
use ahash::AHashMap;
use std::rc::Rc;

/// Texts that have a place; of two that want the same one the later has it.
const PLACES: usize = 512;
/// What is kept takes so much at most, bytes; then all of it is learnt again.
const ROOM: usize = 1 << 20;

/// What a plan follows from, but for the text and its values.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub map: &'a ShardMap,
    /// See [`Request::version`].
    pub version: u64,
    /// In UTF-8; of a schema that is not, nothing is known.
    pub schema: Option<&'a [u8]>,
    pub dialect: Dialect,
    pub home: usize,
    pub zero_generates: bool,
}

/// By what a plan is to be recalled.
#[derive(Clone, Copy)]
pub enum Asked<'a> {
    /// By nothing: its text may never come again.
    Once,
    Text(TextId),
    /// A prepared statement: its identity, which includes its schema and its `sql_mode`, and that of another text under
    /// the same.
    Execute {
        statement: u128,
        identify: &'a dyn Fn(&[u8]) -> u128,
    },
}

/// A text's plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recalled {
    /// It names nothing that has a rule.
    Unconcerned,
    Whole(usize),
    /// One shard's. `same`: its text is the client's own.
    Shard {
        group: usize,
        shard: usize,
        same: bool,
    },
}

/// An EXECUTE's plan; all parameters are the client's, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    pub group: usize,
    /// None: the statement names no sharded table.
    pub shard: Option<usize>,
    /// None: the client's own text.
    pub text: Option<Rc<ShardText>>,
}

/// A shard's text of a prepared statement.
#[derive(Debug, PartialEq, Eq)]
pub struct ShardText {
    pub sql: Rc<[u8]>,
    pub identity: u128,
}

/// Per worker.
#[derive(Default)]
pub(super) struct Known {
    /// Of which [`Request::version`] all this is.
    version: u64,
    texts: Vec<Option<Box<Text>>>,
    executes: AHashMap<u128, Execute>,
    bytes: usize,
}

struct Text {
    id: TextId,
    under: Under,
    answer: OfText,
}

enum OfText {
    Unconcerned,
    Whole(usize),
    Shards {
        keys: Box<[KeyAt]>,
        holes: Box<[Hole]>,
        parts: Vec<PartText>,
    },
}

struct Execute {
    under: Under,
    answer: OfExecute,
}

enum OfExecute {
    Whole(usize),
    Shards {
        /// Where literals of the text lead, if some are keys.
        fixed: Option<usize>,
        /// Parameters only.
        keys: Box<[KeyAt]>,
        /// With the shard of each.
        parts: Vec<(usize, Execution)>,
    },
}

/// What of a [`Context`] is kept.
struct Under {
    schema: Option<Box<[u8]>>,
    dialect: Dialect,
    home: usize,
    zero_generates: bool,
}

impl<'a> Context<'a> {
    /// None: nothing may be kept.
    pub(super) fn of(request: &Request<'a>) -> Option<Context<'a>> {
        Some(Context {
            map: request.map,
            version: request.version?,
            schema: request.schema.map(str::as_bytes),
            dialect: request.dialect,
            home: request.home,
            zero_generates: request.zero_generates,
        })
    }
}

impl Under {
    fn of(context: &Context<'_>) -> Under {
        Under {
            schema: context.schema.map(Into::into),
            dialect: context.dialect,
            home: context.home,
            zero_generates: context.zero_generates,
        }
    }

    fn is(&self, context: &Context<'_>) -> bool {
        self.home == context.home
            && self.zero_generates == context.zero_generates
            && self.dialect == context.dialect
            && self.schema.as_deref() == context.schema
    }

    /// Of a prepared statement, whose identity says the rest.
    fn is_of_statement(&self, context: &Context<'_>) -> bool {
        self.home == context.home && self.dialect == context.dialect
    }
}

impl Known {
    pub fn recall(
        &self,
        id: TextId,
        sql: &[u8],
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Recalled> {
        if self.version != context.version {
            return None;
        }
        let text = self.texts.get(place(id, context))?.as_deref()?;
        if text.id != id || !text.under.is(context) {
            return None;
        }
        let (keys, holes, parts) = match &text.answer {
            OfText::Unconcerned => return Some(Recalled::Unconcerned),
            OfText::Whole(group) => return Some(Recalled::Whole(*group)),
            OfText::Shards { keys, holes, parts } => (keys, holes, parts),
        };
        let reader = Reader::without_parameters(sql, context.dialect);
        let shard = one_shard(keys, |key| key.shard(context.map, &reader, holes))?;
        let part = parts.iter().find(|part| part.shard == shard)?;
        part.put(sql, out)?;
        Some(Recalled::Shard {
            group: part.group,
            shard,
            same: part.is_same(),
        })
    }

    pub fn recall_execute(
        &self,
        statement: u128,
        context: &Context<'_>,
        value: &mut dyn FnMut(u16) -> Option<Value>,
    ) -> Option<Execution> {
        if self.version != context.version {
            return None;
        }
        let execute = self.executes.get(&statement)?;
        if !execute.under.is_of_statement(context) {
            return None;
        }
        let (fixed, keys, parts) = match &execute.answer {
            OfExecute::Whole(group) => {
                return Some(Execution {
                    group: *group,
                    shard: None,
                    text: None,
                })
            }
            OfExecute::Shards { fixed, keys, parts } => (fixed, keys, parts),
        };
        let reader = Reader::without_parameters(b"", context.dialect);
        let bound = one_shard(keys, |key| {
            let At::Parameter(at) = key.value else {
                return None;
            };
            let found = reader.of_value(&value(at)?, &key.kind, key.stored);
            key.shard_of(context.map, &found)
        });
        let shard = match (fixed, bound) {
            (None, Some(bound)) => bound,
            (Some(fixed), None) if keys.is_empty() => *fixed,
            (Some(fixed), Some(bound)) if *fixed == bound => bound,
            _ => return None,
        };
        let (_, part) = parts.iter().find(|(at, _)| *at == shard)?;
        Some(part.clone())
    }

    pub fn keep_unconcerned(&mut self, id: TextId, context: &Context<'_>) {
        self.start(context.version);
        self.put_text(id, context, OfText::Unconcerned, 0);
    }

    /// Keeps a plan that was found by its words. `keys`: empty where it names no sharded table.
    pub fn learn(
        &mut self,
        asked: Asked<'_>,
        request: &Request<'_>,
        found: &[KeyAt],
        holes: &[Hole],
        planned: &Planned,
    ) {
        let Some(context) = Context::of(request) else {
            return;
        };
        self.start(context.version);
        match (asked, request.parameters) {
            (Asked::Text(id), None) if !has_long_numbers(request.sql, request.dialect) => {
                self.learn_text(id, &context, request.sql, (found, holes), planned)
            }
            (
                Asked::Execute {
                    statement,
                    identify,
                },
                Some(values),
            ) => {
                let bound = (statement, values.len());
                self.learn_execute(bound, &context, request, (found, holes), planned, identify);
            }
            _ => {}
        };
    }

    /// Begins anew where another version of the rules and columns has come, or the room is used up.
    fn start(&mut self, version: u64) {
        if self.version != version || self.bytes > ROOM {
            *self = Known {
                version,
                ..Known::default()
            };
        }
    }

    fn learn_text(
        &mut self,
        id: TextId,
        context: &Context<'_>,
        sql: &[u8],
        (keys, holes): (&[KeyAt], &[Hole]),
        planned: &Planned,
    ) {
        let part = match planned {
            Planned::Whole { group } if keys.is_empty() => {
                return self.put_text(id, context, OfText::Whole(*group), 0);
            }
            Planned::Plan(Plan::Single(part)) if !keys.is_empty() => part,
            _ => return,
        };
        let Some(part) = PartText::of(part, sql, holes, context.dialect) else {
            return;
        };
        let size = part.size();
        let known = self.texts.get_mut(place(id, context));
        let known = known.and_then(|place| place.as_deref_mut());
        match known.filter(|text| text.id == id && text.under.is(context)) {
            Some(Text {
                answer: OfText::Shards { parts, .. },
                ..
            }) => {
                if parts.iter().all(|known| known.shard != part.shard) {
                    parts.push(part);
                    self.bytes += size;
                }
            }
            _ => {
                let size = size + size_of_val(keys) + size_of_val(holes);
                let answer = OfText::Shards {
                    keys: keys.into(),
                    holes: holes.into(),
                    parts: vec![part],
                };
                self.put_text(id, context, answer, size);
            }
        }
    }

    fn put_text(&mut self, id: TextId, context: &Context<'_>, answer: OfText, size: usize) {
        let at = place(id, context);
        if self.texts.is_empty() {
            self.texts.resize_with(PLACES, || None);
        }
        // what had the place is not taken off: it is counted until all begins anew
        self.bytes += size + size_of::<Text>() + context.schema.map_or(0, <[u8]>::len);
        if let Some(place) = self.texts.get_mut(at) {
            *place = Some(Box::new(Text {
                id,
                under: Under::of(context),
                answer,
            }));
        }
    }

    fn learn_execute(
        &mut self,
        (statement, count): (u128, usize),
        context: &Context<'_>,
        request: &Request<'_>,
        (keys, holes): (&[KeyAt], &[Hole]),
        planned: &Planned,
        identify: &dyn Fn(&[u8]) -> u128,
    ) {
        let part = match planned {
            Planned::Whole { group } if keys.is_empty() => {
                return self.put_execute(statement, context, OfExecute::Whole(*group), 0);
            }
            Planned::Plan(Plan::Single(part)) if !keys.is_empty() => part,
            _ => return,
        };
        let all = (0..count).all(|at| part.parameters.get(at).map(|p| usize::from(*p)) == Some(at));
        if !all || part.parameters.len() != count {
            return;
        }
        let own = part.sql == request.sql;
        let text = || ShardText {
            sql: part.sql.as_slice().into(),
            identity: identify(&part.sql),
        };
        let size =
            size_of::<(usize, Execution, ShardText)>() + if own { 0 } else { part.sql.len() };
        let execution = Execution {
            group: part.group,
            shard: Some(part.shard),
            text: (!own).then(|| Rc::new(text())),
        };
        let known = self.executes.get_mut(&statement);
        match known.filter(|execute| execute.under.is_of_statement(context)) {
            Some(Execute {
                answer: OfExecute::Shards { parts, .. },
                ..
            }) => {
                if parts.iter().all(|(shard, _)| *shard != part.shard) {
                    parts.push((part.shard, execution));
                    self.bytes += size;
                }
            }
            _ => {
                let (bound, literal): (Vec<KeyAt>, Vec<KeyAt>) = keys
                    .iter()
                    .cloned()
                    .partition(|key| matches!(key.value, At::Parameter(_)));
                let size = size + size_of_val(bound.as_slice());
                let answer = OfExecute::Shards {
                    fixed: (!literal.is_empty()).then_some(part.shard),
                    keys: bound.into(),
                    parts: vec![(part.shard, execution)],
                };
                debug_assert!(literal.iter().all(|key| {
                    let reader = Reader::of(request);
                    key.shard(context.map, &reader, holes) == Some(part.shard)
                }));
                self.put_execute(statement, context, answer, size);
            }
        }
    }

    fn put_execute(
        &mut self,
        statement: u128,
        context: &Context<'_>,
        answer: OfExecute,
        size: usize,
    ) {
        self.bytes += size + size_of::<Execute>() + context.schema.map_or(0, <[u8]>::len);
        let under = Under::of(context);
        self.executes.insert(statement, Execute { under, answer });
    }

    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The same text has a place for each schema in which it is used.
fn place(id: TextId, context: &Context<'_>) -> usize {
    let schema = context.schema.unwrap_or_default();
    let hash = schema.iter().fold(0_usize, |hash, byte| {
        hash.wrapping_mul(31) ^ usize::from(*byte)
    });
    (id.0 as usize).wrapping_add(hash) % PLACES
}
