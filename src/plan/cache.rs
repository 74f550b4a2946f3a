//! Plans of statements that come again with other literals: most of an application's.
//!
//! What is kept is found by the statement's text without its literals ([`super::template`]) together with all else that a
//! plan follows from: schema, dialect, the user's group, whether there are parameters. Everything kept is forgotten when
//! the rules or the columns change ([`Request::version`]).
//!
//! Kept are plans of one shard that looked at no literals but keys, each compared for equality or stored
//! ([`super::seen`]). For such a statement the shard follows from the keys, and the rest of the plan from the shard; so the
//! first statement of each shard is planned in full, and those behind it get its text with their own literals. Kept, too,
//! is that a statement names no sharded table, only one that looks like it.
use super::bind::Bound;
use super::key_at::{one_shard, At, KeyAt};
use super::known::{Asked, Context, Execution, Known, Recalled};
use super::literal::Reader;
use super::planner::plan_noting;
use super::request::{Planned, Request, Value};
use super::seen::Noted;
use super::template::{without_literals, Hole, Template};
use super::types::{Plan, Refusal};
use crate::sniff::TextId;
use ahash::AHashMap;

/// Longer statements are planned every time, bytes.
const LONGEST: usize = 4096;
/// What is kept takes twice so much at most, bytes.
const ROOM: usize = 2 << 20;

/// Per worker.
#[derive(Default)]
pub struct Cache {
    version: u64,
    /// What was used since the last change of generations, and about how many bytes it takes.
    young: Generation,
    bytes: usize,
    /// What was used before; goes when `young` is full.
    old: Generation,
    /// The current statement's key and literals.
    key: Vec<u8>,
    holes: Vec<Hole>,
    /// Plans that were found here.
    hits: u64,
    /// Those that are found without reading the statement.
    known: Known,
}

type Generation = AHashMap<Box<[u8]>, Entry>;

struct Entry {
    /// Empty: the statement names no sharded table.
    keys: Box<[KeyAt]>,
    kept: Kept,
}

enum Kept {
    Whole(usize),
    /// By shard, in order.
    Shards(Vec<Template>),
}

impl Cache {
    /// As [`super::plan`].
    ///
    /// # Errors
    /// As there.
    pub fn plan(&mut self, request: &Request<'_>) -> Result<Planned, Refusal> {
        self.plan_as(request, Asked::Once)
    }

    /// As [`super::plan`]. A kept plan is recalled from then on by what it was `asked` as.
    ///
    /// # Errors
    /// As there.
    pub fn plan_as(&mut self, request: &Request<'_>, asked: Asked<'_>) -> Result<Planned, Refusal> {
        if !self.open(request) {
            return super::plan(request);
        }
        let Some(planned) = self.find(request) else {
            return plan_noting(request, &mut |bound, planned| self.keep(bound, planned));
        };
        self.hits += 1;
        if !matches!(asked, Asked::Once) {
            if let Some(entry) = self.young.get(self.key.as_slice()) {
                let (keys, holes) = (&entry.keys, &self.holes);
                self.known.learn(asked, request, keys, holes, &planned);
            }
        }
        Ok(planned)
    }

    /// The plan of a text that the sniffer keeps, if it is known. Where the shard has a text of its own, that is appended to
    /// `out`.
    pub fn recall(
        &self,
        text: TextId,
        sql: &[u8],
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Option<Recalled> {
        self.known.recall(text, sql, context, out)
    }

    /// The plan of an EXECUTE, if it is known. `statement`: see [`Asked::Execute`]; `value`: of a parameter.
    pub fn recall_execute(
        &self,
        statement: u128,
        context: &Context<'_>,
        value: &mut dyn FnMut(u16) -> Option<Value>,
    ) -> Option<Execution> {
        self.known.recall_execute(statement, context, value)
    }

    /// That [`super::concerns`] said no of a text.
    pub fn keep_unconcerned(&mut self, text: TextId, context: &Context<'_>) {
        self.known.keep_unconcerned(text, context);
    }

    /// Plans that were not made anew, so far.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Bytes of all texts that are kept.
    #[cfg(test)]
    pub(super) fn size(&self) -> usize {
        let generations = [&self.young, &self.old];
        let entries = generations.iter().flat_map(|of| of.iter());
        let entries: usize = entries.map(|(key, entry)| key.len() + entry.size()).sum();
        entries + self.known.bytes()
    }

    /// Makes the statement's key. False: it cannot be kept.
    fn open(&mut self, request: &Request<'_>) -> bool {
        let Some(version) = request.version.filter(|_| request.sql.len() <= LONGEST) else {
            return false;
        };
        if self.version != version {
            self.version = version;
            self.young.clear();
            self.old.clear();
            self.bytes = 0;
        }
        self.key.clear();
        self.holes.clear();
        put_context(request, &mut self.key);
        without_literals(request.sql, request.dialect, &mut self.key, &mut self.holes)
    }

    fn find(&mut self, request: &Request<'_>) -> Option<Planned> {
        if let Some(entry) = self.young.get(self.key.as_slice()) {
            return entry.answer(request, &self.holes);
        }
        let (key, entry) = self.old.remove_entry(self.key.as_slice())?;
        let answer = entry.answer(request, &self.holes);
        self.make_room(key.len() + entry.size());
        self.young.insert(key, entry);
        answer
    }

    fn make_room(&mut self, bytes: usize) {
        if self.bytes + bytes > ROOM {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += bytes;
    }

    /// Keeps a new plan, if it is one that can be kept.
    fn keep(&mut self, bound: &Bound<'_>, planned: &Planned) {
        if bound.prepares() || bound.facts().literals_matter {
            return;
        }
        let Some(noted) = bound.seen.keys() else {
            return;
        };
        let (keys, kept) = match (planned, noted.as_slice()) {
            (Planned::Whole { group }, []) => (Vec::new(), Kept::Whole(*group)),
            (Planned::Plan(Plan::Single(part)), [_, ..]) => {
                let request = bound.request;
                let shards = noted.iter().all(|key| key.shard == part.shard);
                let template = Template::of(part, request.sql, &self.holes, request.dialect);
                let keys: Option<Vec<KeyAt>> =
                    noted.iter().map(|n| self.key_at(bound, n)).collect();
                let (Some(keys), Some(template)) = (keys, template.filter(|_| shards)) else {
                    return;
                };
                (keys, Kept::Shards(vec![template]))
            }
            _ => return,
        };
        self.insert(Entry {
            keys: keys.into(),
            kept,
        });
    }

    fn key_at(&self, bound: &Bound<'_>, noted: &Noted) -> Option<KeyAt> {
        let value = match noted.parameter {
            Some(at) => At::Parameter(at),
            None => At::Hole(self.holes.iter().position(|hole| hole.span == noted.span)?),
        };
        Some(KeyAt {
            value,
            negative: noted.negative,
            stored: noted.stored,
            rule: bound.rule_place(noted.table)?,
            kind: bound.key_kind(noted.table)?.clone(),
        })
    }

    fn insert(&mut self, new: Entry) {
        let grown = new.size();
        // a statement that is known, on a shard that is not
        if let Some(known) = self.young.get_mut(self.key.as_slice()) {
            known.join(new);
            self.bytes += grown;
            return;
        }
        self.make_room(self.key.len() + grown);
        self.young.insert(self.key.as_slice().into(), new);
    }
}

impl Entry {
    fn answer(&self, request: &Request<'_>, holes: &[Hole]) -> Option<Planned> {
        let templates = match &self.kept {
            Kept::Whole(group) => return Some(Planned::Whole { group: *group }),
            Kept::Shards(templates) => templates,
        };
        let reader = Reader::of(request);
        let shard = one_shard(&self.keys, |key| key.shard(request.map, &reader, holes))?;
        let at = templates.binary_search_by_key(&shard, |t| t.shard).ok()?;
        let part = templates.get(at)?.fill(request.sql, holes);
        Some(Planned::Plan(Plan::Single(part)))
    }

    /// The same statement's plan for another shard.
    fn join(&mut self, other: Entry) {
        let (Kept::Shards(known), Kept::Shards(new)) = (&mut self.kept, other.kept) else {
            return;
        };
        debug_assert!(self.keys == other.keys, "the keys are the statement's");
        for template in new {
            if let Err(at) = known.binary_search_by_key(&template.shard, |t| t.shard) {
                known.insert(at, template);
            }
        }
    }

    fn size(&self) -> usize {
        let templates = match &self.kept {
            Kept::Whole(_) => 0,
            Kept::Shards(templates) => templates.iter().map(Template::size).sum(),
        };
        size_of::<Entry>() + self.keys.len() * size_of::<KeyAt>() + templates
    }
}

/// All that a plan follows from besides the text, the map and the columns. (`held` and `seed` choose among copies of
/// broadcast tables only, whose plans are not kept.)
fn put_context(request: &Request<'_>, key: &mut Vec<u8>) {
    let dialect = request.dialect;
    let flags = [
        dialect.ansi_quotes,
        dialect.no_backslash_escapes,
        dialect.mariadb,
        dialect.ambiguous_bytes,
        request.zero_generates,
        request.parameters.is_some(),
        request.schema.is_some(),
    ];
    let bits = flags
        .iter()
        .fold(0_u8, |bits, flag| bits << 1 | u8::from(*flag));
    key.push(bits);
    key.extend_from_slice(&dialect.version.to_le_bytes());
    key.extend_from_slice(&request.home.to_le_bytes());
    let schema = request.schema.unwrap_or_default();
    key.extend_from_slice(&schema.len().to_le_bytes());
    key.extend_from_slice(schema.as_bytes());
}
