//! One statement → its plan: read, bind, locate, split.
use super::ast::{Facts, Statement};
use super::bind::{Bound, Place, Stop};
use super::edit::{Edit, NewName};
use super::locate::{locate, Located};
use super::mention;
use super::parse::parse;
use super::request::{Planned, Request};
use super::types::{Answer, Fanout, Part, Plan, Refusal};
use super::unread;
use crate::topology::shards::Shard;

/// Plans one statement.
///
/// # Errors
/// A statement on sharded tables that cannot be answered correctly: the client's error, with reason and remedy.
pub fn plan(request: &Request<'_>) -> Result<Planned, Refusal> {
    plan_noting(request, &mut |_, _| {})
}

/// As [`plan`]; `noted` is told the literals that led to a plan, and the tables of the statement.
pub(super) fn plan_noting(
    request: &Request<'_>,
    noted: &mut dyn FnMut(&Bound<'_>, &Planned),
) -> Result<Planned, Refusal> {
    match mention::verb(request).as_str() {
        "SELECT" | "WITH" | "INSERT" | "REPLACE" | "UPDATE" | "DELETE" => {}
        verb => return unread::other(request, verb),
    }
    if request.sql.len() > unread::LONGEST {
        return unread::too_long(request);
    }
    let parsed = match parse(request.sql, request.dialect) {
        Ok(parsed) => parsed,
        Err(why) => return unread::statement(request, why),
    };
    let mut bound = Bound::new(request, &parsed)?;
    match bound.catalogue() {
        Ok(None) => {}
        Ok(Some(planned)) | Err(Stop::Answer(planned)) => return Ok(*planned),
        Err(Stop::Refused(refusal)) => return Err(refusal),
    }
    match bound.plan() {
        Ok(planned) => {
            noted(&bound, &planned);
            Ok(planned)
        }
        Err(Stop::Answer(planned)) => Ok(*planned),
        Err(Stop::Refused(refusal)) => Err(refusal),
    }
}

impl Bound<'_> {
    fn plan(&mut self) -> Result<Planned, Stop> {
        if self.is_whole() {
            return self.whole();
        }
        self.learn()?;
        let parsed = self.parsed;
        let plan = match &parsed.statement {
            Statement::Select(_) => self.select()?,
            Statement::Insert(insert) => self.insert(insert)?,
            Statement::Update(update) => self.update(update)?,
            Statement::Delete(delete) => self.delete(delete)?,
        };
        Ok(Planned::Plan(plan))
    }

    /// Only whole tables: through to their group as it is, or brought together.
    fn whole(&self) -> Result<Planned, Stop> {
        let default = self
            .request
            .schema
            .and_then(|schema| self.request.map.database(schema));
        let mut groups = self.places.iter().filter_map(|place| match place {
            Place::Group(group) => Some(*group),
            _ => None,
        });
        let first = groups.next().or(default).unwrap_or(self.request.home);
        if groups.all(|group| group == first) {
            return Ok(Planned::Whole { group: first });
        }
        match self.query() {
            Some(query) if !self.prepares() => {
                Ok(Planned::Plan(self.gather(query, &locate(self))?))
            }
            _ => Err(unread::several_groups().into()),
        }
    }

    fn select(&self) -> Result<Plan, Stop> {
        let Some(query) = self.query() else {
            return Err(self.refuse("no query", "write one").into());
        };
        let located = locate(self);
        if let Some(plan) = self
            .pinned(&located, Vec::new())
            .or_else(|| self.anywhere())
        {
            return Ok(plan);
        }
        if self.prepares() {
            return self.described();
        }
        self.check_spread()?;
        if located.is_local && self.shards_are_complete(&located) {
            if let Some(simple) = self.simple(query) {
                let parts = self.parts(&located, &|shard| {
                    let mut edits = simple.edits();
                    edits.extend(self.split_lists(query, shard));
                    edits
                });
                let writes = self.facts().locks;
                return Ok(Plan::Fanout(Fanout {
                    parts,
                    writes,
                    answer: Answer::Rows(simple.merge),
                    ids: Vec::new(),
                }));
            }
        }
        self.gather(query, &located)
    }

    /// PREPARE without values: any place that has all tables can say what the statement looks like.
    pub fn described(&self) -> Result<Plan, Stop> {
        let first = self.sharded().next();
        let shards = first.and_then(|at| self.copies(at)).unwrap_or_default();
        for shard in shards {
            let names: Vec<NewName<'_>> = (0..self.places.len())
                .map(|at| self.copy_on(at, shard.group))
                .collect();
            let complete = (0..self.places.len()).all(|at| self.is_on(at, shard.group));
            if complete {
                return Ok(Plan::Single(self.part(
                    (shard.group, 0),
                    &names,
                    Vec::new(),
                )));
            }
        }
        Err(self
            .refuse(
                "a prepared statement whose tables no group has together",
                "send it as text",
            )
            .into())
    }

    /// All rows are in one group: it answers alone.
    pub fn pinned(&self, located: &Located, edits: Vec<Edit>) -> Option<Plan> {
        let mut group = None;
        let mut chosen: Vec<Option<usize>> = vec![None; self.places.len()];
        for at in self.sharded() {
            let shards = located.shards.get(at)?.as_ref()?;
            match shards.as_slice() {
                [] => {}
                [only] => {
                    let of = self.copies(at)?.get(*only)?.group;
                    if *group.get_or_insert(of) != of {
                        return None;
                    }
                    chosen[at] = Some(*only);
                }
                _ => return None,
            }
        }
        let first = self.sharded().next()?;
        let group = group.or_else(|| self.copies(first)?.first().map(|s| s.group))?;
        // where no shard can have rows, any will do that is there
        for at in self.sharded() {
            if chosen[at].is_none() {
                chosen[at] = Some(self.copies(at)?.iter().position(|s| s.group == group)?);
            }
        }
        let others = self
            .places
            .iter()
            .enumerate()
            .all(|(at, place)| match place {
                Place::Sharded(_) => true,
                Place::Group(of) => *of == group,
                Place::Broadcast(_) => self.is_on(at, group),
            });
        if !others {
            return None;
        }
        let names: Vec<NewName<'_>> = (0..self.places.len())
            .map(|at| {
                let of = self.named.get(at).copied().unwrap_or(at);
                match chosen[of].and_then(|shard| self.copies(of)?.get(shard)) {
                    Some(shard) => NewName::Shard(shard),
                    None => self.copy_on(of, group),
                }
            })
            .collect();
        Some(Plan::Single(self.part(
            (group, chosen[first].unwrap_or(0)),
            &names,
            edits,
        )))
    }

    /// Broadcast tables alone are read from any group that has them all.
    pub fn anywhere(&self) -> Option<Plan> {
        if self.sharded().next().is_some() {
            return None;
        }
        let copies = (0..self.places.len()).find_map(|at| self.copies(at))?;
        let complete: Vec<usize> = copies
            .iter()
            .map(|copy| copy.group)
            .filter(|group| {
                (0..self.places.len()).all(|at| match self.places[at] {
                    Place::Group(of) => of == *group,
                    _ => self.is_on(at, *group),
                })
            })
            .collect();
        let held = self.request.held.filter(|held| complete.contains(held));
        let group = held.or_else(|| {
            complete
                .get(self.request.seed as usize % complete.len().max(1))
                .copied()
        })?;
        let names: Vec<NewName<'_>> = (0..self.places.len())
            .map(|at| self.copy_on(at, group))
            .collect();
        Some(Plan::Single(self.part((group, 0), &names, Vec::new())))
    }

    /// A part for each shard that can have rows.
    pub fn parts(&self, located: &Located, edits: &dyn Fn(usize) -> Vec<Edit>) -> Vec<Part> {
        let shards = self.wanted_shards(located).unwrap_or_default();
        shards
            .into_iter()
            .filter_map(|shard| self.part_of(shard, edits(shard)))
            .collect()
    }

    /// The places of the shards that can have rows of the whole, at least one.
    fn wanted_shards(&self, located: &Located) -> Option<Vec<usize>> {
        let count = self.copies(self.sharded().next()?)?.len();
        Some(match &located.driving {
            Some(list) if list.is_empty() => vec![0],
            Some(list) => list.clone(),
            None => (0..count).collect(),
        })
    }

    /// Whether every shard that can have rows has what else the statement names.
    pub fn shards_are_complete(&self, located: &Located) -> bool {
        self.wanted_shards(located)
            .is_some_and(|shards| self.are_complete(&shards))
    }

    /// Whether each of these shards' groups has all whole and broadcast tables.
    fn are_complete(&self, shards: &[usize]) -> bool {
        let group = |shard: &usize| {
            self.copies(self.sharded().next()?)?
                .get(*shard)
                .map(|s| s.group)
        };
        shards.iter().filter_map(group).all(|group| {
            self.places
                .iter()
                .enumerate()
                .all(|(at, place)| match place {
                    Place::Sharded(_) => true,
                    // one group's whole table would be joined in one shard only
                    Place::Group(_) => false,
                    Place::Broadcast(_) => self.is_on(at, group),
                })
        })
    }

    fn part_of(&self, shard: usize, edits: Vec<Edit>) -> Option<Part> {
        let group = self.copies(self.sharded().next()?)?.get(shard)?.group;
        let names: Vec<NewName<'_>> = (0..self.places.len())
            .map(|at| {
                let of = self.named.get(at).copied().unwrap_or(at);
                match (self.places[of], self.copies(of).and_then(|c| c.get(shard))) {
                    (Place::Sharded(_), Some(shard)) => NewName::Shard(shard),
                    _ => self.copy_on(of, group),
                }
            })
            .collect();
        Some(self.part((group, shard), &names, edits))
    }

    /// The part of one shard of one table; other tables as the shard's group has them.
    pub fn one(&self, at: usize, shard: usize, edits: Vec<Edit>) -> Part {
        let of = self.copies(at).and_then(|copies| copies.get(shard));
        let group = of.map_or(self.request.home, |s| s.group);
        let names: Vec<NewName<'_>> = (0..self.places.len())
            .map(|other| match of {
                Some(shard) if other == at => NewName::Shard(shard),
                _ => self.copy_on(other, group),
            })
            .collect();
        self.part((group, shard), &names, edits)
    }

    /// A table's name on a group that has a copy or shard of it.
    pub fn copy_on(&self, at: usize, group: usize) -> NewName<'_> {
        let copy = self
            .copies(at)
            .and_then(|copies| copies.iter().find(|copy: &&Shard| copy.group == group));
        copy.map_or(NewName::Same, NewName::Shard)
    }

    fn is_on(&self, at: usize, group: usize) -> bool {
        match self.places[at] {
            Place::Group(of) => of == group,
            _ => self
                .copies(at)
                .is_some_and(|copies| copies.iter().any(|copy| copy.group == group)),
        }
    }

    pub fn facts(&self) -> Facts {
        self.parsed.facts
    }

    /// PREPARE: there are parameters and no values.
    pub fn prepares(&self) -> bool {
        self.request.parameters.is_none() && !self.parsed.parameters.is_empty()
    }

    /// What belongs to one connection cannot run on several.
    pub fn check_spread(&self) -> Result<(), Refusal> {
        let facts = self.facts();
        let found = if facts.user_variable {
            "user variables in a statement over several servers"
        } else if facts.counts_found_rows {
            "SQL_CALC_FOUND_ROWS in a statement over several servers"
        } else if facts.into {
            "SELECT … INTO over several servers"
        } else if facts.code_comment {
            "a version comment (/*! … */) in a statement over several servers"
        } else if facts.session_function.is_some() {
            "a function that belongs to one connection, in a statement over several servers"
        } else {
            return Ok(());
        };
        Err(self.refuse(
            found,
            "give the key's value, so that one shard is asked, or write it without",
        ))
    }

    pub fn check_local(&self, located: &Located) -> Result<(), Refusal> {
        let shards = self.wanted_shards(located).unwrap_or_default();
        if located.is_local && self.are_complete(&shards) {
            return Ok(());
        }
        Err(self.refuse(
            "a write that joins or reads tables which do not meet in each shard",
            "join by the sharding key, or read the rows first and then write them",
        ))
    }

    /// `what` cannot be done on several shards; `remedy` says what to do instead.
    pub fn refuse(&self, what: &str, remedy: &str) -> Refusal {
        Refusal::new(format!(
            "{}; not supported: {what}; {remedy}",
            self.subject()
        ))
    }
}
