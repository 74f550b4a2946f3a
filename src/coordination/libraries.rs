//! Which library a core object belongs to: given once, on the disk before anybody hears of it, and never changed.
//!
//! `libraries.log` in the store's folder has a line for each fact, in the order in which they came to be:
//!
//! ```text
//! object DATE TIME OBJECT LIBRARY
//! correl DATE TIME CLASS OBJECT CORE-OBJECT
//! weight DATE TIME LIBRARY NUMBER
//! ```
//!
//! Bytes of names that are not printable ASCII, spaces and `%` stand as `%XX`. Lines are appended and flushed; those of
//! questions that wait together are flushed together. A last line without its end was never answered, and goes.
mod clerk;
mod journal;
mod saved;
#[cfg(test)]
mod tests;

pub use clerk::{LibraryAsk, LibraryClerk};
pub use journal::MAX_OBJECT;

use super::store::StoreError;
use ahash::AHashMap;
use journal::{Fact, Journal};
use std::collections::BTreeMap;
use std::path::Path;

/// A library that objects may be given to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub name: String,
    /// As configured; what it has been raised by is added.
    pub weight: u64,
}

/// What is known of one library.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LibraryCount {
    /// Objects that belong to it.
    pub objects: u64,
    /// By how much an operator has raised its weight.
    pub raised: u64,
}

/// A related object, by its class.
type Related = (Box<[u8]>, Box<[u8]>);

/// Everything that the file says, and the file.
#[derive(Debug)]
pub struct Libraries {
    names: Vec<String>,
    counts: Vec<LibraryCount>,
    /// Place of the library in `names`.
    objects: AHashMap<Box<[u8]>, u32>,
    related: AHashMap<Related, Box<[u8]>>,
    journal: Journal,
}

impl Libraries {
    /// Reads the file, if it is there.
    ///
    /// # Errors
    /// It cannot be read, or has a line that is not the store's.
    pub fn open(folder: &Path) -> Result<Libraries, StoreError> {
        let (journal, facts) = Journal::open(&folder.join("libraries.log"))?;
        let mut libraries = Libraries {
            names: Vec::new(),
            counts: Vec::new(),
            objects: AHashMap::new(),
            related: AHashMap::new(),
            journal,
        };
        for (line, fact) in facts {
            let added = libraries.believe(fact);
            added.map_err(|why| libraries.journal.wrong_line(line, &why))?;
        }
        Ok(libraries)
    }

    /// The library that an object belongs to.
    pub fn library_of(&self, object: &[u8]) -> Option<&str> {
        let at = *self.objects.get(object)?;
        self.names.get(at as usize).map(String::as_str)
    }

    /// The core object that a related one is tied to.
    pub fn core_object(&self, class: &[u8], object: &[u8]) -> Option<&[u8]> {
        let key = (class.into(), object.into());
        self.related.get(&key).map(|core| &**core)
    }

    /// The object's library; one that has none gets one of `candidates`, by `hash`. Not on the disk before
    /// [`Libraries::flush`].
    ///
    /// # Errors
    /// There is no candidate.
    pub fn assign(
        &mut self,
        object: &[u8],
        hash: u64,
        candidates: &[Candidate],
    ) -> Result<(String, bool), String> {
        if let Some(known) = self.library_of(object) {
            return Ok((known.to_owned(), false));
        }
        let chosen = self.choose(hash, candidates);
        let name = chosen.ok_or("no library is configured")?.to_owned();
        self.note(Fact::Object {
            object: object.into(),
            library: name.clone(),
        })?;
        Ok((name, true))
    }

    /// Each library has a range as wide as its weight, one behind the other; the hash falls into one of them.
    fn choose<'c>(&self, hash: u64, candidates: &'c [Candidate]) -> Option<&'c str> {
        let all: u64 = self.counts.iter().map(|count| count.objects).sum();
        let weight = |candidate: &Candidate| u128::from(self.weight(candidate, all));
        let total: u128 = candidates.iter().map(weight).sum();
        let mut left = u128::from(hash).checked_rem(total)?;
        for candidate in candidates {
            match left.checked_sub(weight(candidate)) {
                Some(rest) => left = rest,
                None => return Some(&candidate.name),
            }
        }
        None
    }

    /// Each object that another library was given weighs 1.
    fn weight(&self, candidate: &Candidate, all: u64) -> u64 {
        let own = self.count(&candidate.name);
        candidate
            .weight
            .saturating_add(own.raised)
            .saturating_add(all.saturating_sub(own.objects))
    }

    fn count(&self, name: &str) -> LibraryCount {
        let at = self.names.iter().position(|known| known == name);
        at.and_then(|at| self.counts.get(at).cloned())
            .unwrap_or_default()
    }

    /// Ties a related object to a core object, for ever. Not on the disk before [`Libraries::flush`].
    ///
    /// # Errors
    /// The core object has no library, or the related one is tied to another.
    pub fn relate(&mut self, class: &[u8], object: &[u8], core: &[u8]) -> Result<(), String> {
        if self.library_of(core).is_none() {
            let core = shown(core);
            return Err(format!(
                "core object '{core}' belongs to no library yet: select library '{core}' first"
            ));
        }
        match self.core_object(class, object) {
            Some(known) if known == core => return Ok(()),
            Some(known) => {
                return Err(format!(
                    "'{}' of class '{}' is tied to '{}' already, and that never changes",
                    shown(object),
                    shown(class),
                    shown(known)
                ))
            }
            None => {}
        }
        self.note(Fact::Related {
            class: class.into(),
            object: object.into(),
            core: core.into(),
        })
    }

    /// From now on the library weighs so much more. Not on the disk before [`Libraries::flush`].
    ///
    /// # Errors
    /// In words.
    pub fn raise(&mut self, library: &str, by: u64) -> Result<(), String> {
        self.note(Fact::Raised {
            library: library.to_owned(),
            by,
        })
    }

    /// Name, what is known, and weight of each candidate; then of those that have objects and are none.
    pub fn report(&self, candidates: &[Candidate]) -> Vec<(String, LibraryCount, Option<u64>)> {
        let all: u64 = self.counts.iter().map(|count| count.objects).sum();
        let mut report: Vec<_> = candidates
            .iter()
            .map(|c| {
                (
                    c.name.clone(),
                    self.count(&c.name),
                    Some(self.weight(c, all)),
                )
            })
            .collect();
        for (name, count) in self.names.iter().zip(&self.counts) {
            if !candidates.iter().any(|c| c.name == *name) {
                report.push((name.clone(), count.clone(), None));
            }
        }
        report
    }

    /// Up to `limit` objects that `wanted` takes, with their libraries, in order of their names.
    pub fn find(&self, limit: usize, wanted: &dyn Fn(&str) -> bool) -> Vec<(String, String)> {
        let mut found = BTreeMap::new();
        for (object, at) in &self.objects {
            let object = shown(object);
            if wanted(&object) {
                found.insert(object, self.names.get(*at as usize).cloned());
                if found.len() == limit {
                    break;
                }
            }
        }
        let named = found.into_iter();
        named
            .map(|(object, library)| (object, library.unwrap_or_default()))
            .collect()
    }

    /// Brings everything that was noted to the disk.
    ///
    /// # Errors
    /// It is not there: what was noted since the last flush is forgotten.
    pub fn flush(&mut self) -> Result<(), String> {
        let Err((error, lost)) = self.journal.flush() else {
            return Ok(());
        };
        for fact in lost.into_iter().rev() {
            self.disbelieve(&fact);
        }
        Err(error.to_string())
    }

    fn note(&mut self, fact: Fact) -> Result<(), String> {
        self.journal.is_usable()?;
        self.believe(fact.clone())?;
        self.journal.add(fact);
        Ok(())
    }

    fn believe(&mut self, fact: Fact) -> Result<(), String> {
        match fact {
            Fact::Object { object, library } => {
                let at = self.place(&library);
                if self.objects.contains_key(&*object) {
                    return Err(format!("object '{}' has a library already", shown(&object)));
                }
                self.objects.insert(object, at);
                self.count_of(at, |count| count.objects += 1);
            }
            Fact::Related {
                class,
                object,
                core,
            } => {
                self.related.insert((class, object), core);
            }
            Fact::Raised { library, by } => {
                let at = self.place(&library);
                self.count_of(at, |count| count.raised = count.raised.saturating_add(by));
            }
        }
        Ok(())
    }

    fn disbelieve(&mut self, fact: &Fact) {
        match fact {
            Fact::Object { object, library } => {
                self.objects.remove(&**object);
                let at = self.place(library);
                self.count_of(at, |count| count.objects -= 1);
            }
            Fact::Related { class, object, .. } => {
                self.related.remove(&(class.clone(), object.clone()));
            }
            Fact::Raised { library, by } => {
                let at = self.place(library);
                self.count_of(at, |count| count.raised = count.raised.saturating_sub(*by));
            }
        }
    }

    fn place(&mut self, library: &str) -> u32 {
        if let Some(at) = self.names.iter().position(|name| name == library) {
            return at as u32;
        }
        self.names.push(library.to_owned());
        self.counts.push(LibraryCount::default());
        (self.names.len() - 1) as u32
    }

    fn count_of(&mut self, at: u32, change: impl FnOnce(&mut LibraryCount)) {
        if let Some(count) = self.counts.get_mut(at as usize) {
            change(count);
        }
    }
}

/// An object for people.
pub fn shown(object: &[u8]) -> String {
    let text = String::from_utf8_lossy(object);
    text.chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect()
}
