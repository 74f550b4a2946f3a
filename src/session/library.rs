//! Libraries: groups that each have all tables, and all rows of the objects that belong to them. A session of such a group
//! says first whom its statements are about, and has that object's library for its own group from then on.
use super::shared::{Shared, Topology};
use super::{End, Session};
use crate::coordination::{shown, Candidate, LibraryAsk, MAX_OBJECT};
use crate::relay::Command;
use crate::session::pins::Pins;
use crate::sniff::lexer::{Kind, Lexer};
use crate::sniff::library::{self, LibraryCommand};
use crate::sniff::{self, Access, Dialect, Effects, Sniffed, Verb};
use crate::topology::shards::fnv1a_fmix64;
use crate::topology::{Group, Snapshot};
use crate::wire::{command, error, reply, status};
use ahash::AHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// Objects of which a worker remembers the library; all are forgotten when one more comes.
const KNOWN: usize = 16_384;

/// Whom the session's statements are about.
pub(super) struct Selected {
    /// Name of the library.
    library: Box<str>,
    /// Name of its group.
    group: Box<str>,
    object: Box<str>,
}

/// Libraries of objects, and of related objects by their class. Per worker. What an object belongs to never changes.
#[derive(Default)]
pub struct KnownLibraries(RefCell<AHashMap<Object, Box<str>>>);

/// No class: a core object.
type Object = (Option<Box<[u8]>>, Box<[u8]>);

impl KnownLibraries {
    fn get(&self, object: &Object) -> Option<Box<str>> {
        self.0.borrow().get(object).cloned()
    }

    fn put(&self, object: Object, library: &str) {
        let mut known = self.0.borrow_mut();
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(object, library.into());
    }
}

impl Session {
    /// The group of statements that no rule sends elsewhere.
    #[inline]
    pub(super) fn home(&self) -> &str {
        match &self.library {
            Some(selected) => &selected.group,
            None => &self.user.config.group,
        }
    }

    /// As [`Session::home`]; until a library is selected, any library will do, and one that has no primary now will not.
    pub(super) fn home_in<'s>(&'s self, snapshot: &'s Snapshot) -> &'s str {
        let home = self.home();
        if self.library.is_some() || !snapshot.is_of_library(home) {
            return home;
        }
        let has_primary = |name: &&str| {
            let of = |g: &&Arc<Group>| g.name == **name;
            snapshot
                .groups
                .iter()
                .find(of)
                .is_some_and(|g| g.primary.is_some())
        };
        let others = snapshot
            .libraries
            .iter()
            .map(|library| library.group.as_str());
        let mut usable = std::iter::once(home).chain(others).filter(has_primary);
        usable.next().unwrap_or(home)
    }

    /// Whether rules of databases and tables hold for this session: all that a library has is in its group.
    #[inline]
    pub(super) fn obeys_rules(&self) -> bool {
        !(self.shared.has_libraries() && self.uses_libraries())
    }

    /// There are rules for this session.
    #[inline]
    pub(super) fn shards(&self) -> bool {
        self.shared.sharding() && self.obeys_rules()
    }

    fn uses_libraries(&self) -> bool {
        let snapshot = self.shared.snapshot();
        self.library.is_some() || snapshot.is_of_library(&self.user.config.group)
    }

    fn lacks_library(&self) -> bool {
        self.library.is_none() && self.uses_libraries()
    }

    /// Err: a library has to be selected first.
    pub(super) fn has_library_for(&self, sniffed: &Sniffed, sql: &[u8]) -> Result<(), reply::Err> {
        if library::prepares_library_command(sql, sniffed, self.dialect) && self.uses_libraries() {
            return Err(not_prepared());
        }
        if self.lacks_library() && !needs_no_library(sniffed, sql, self.dialect) {
            return Err(not_selected());
        }
        Ok(())
    }

    pub(super) fn may_prepare(&self, sniffed: &Sniffed, sql: &[u8]) -> Result<(), reply::Err> {
        let asked = library::library_command(sql, sniffed, self.dialect);
        if asked.is_some() && self.uses_libraries() {
            return Err(not_prepared());
        }
        self.has_library_for(sniffed, sql)
    }

    /// Commands without text.
    pub(super) fn may_command(&self, kind: u8) -> Result<(), reply::Err> {
        let needs = matches!(
            kind,
            command::CREATE_DB
                | command::DROP_DB
                | command::REFRESH
                | command::BINLOG_DUMP
                | command::BINLOG_DUMP_GTID
        );
        if needs && self.lacks_library() {
            return Err(not_selected());
        }
        Ok(())
    }

    /// As after login.
    pub(super) fn leave_library(&mut self) {
        if self.library.take().is_some() {
            self.group = Default::default();
        }
    }

    pub(super) async fn library_command(
        &mut self,
        command: &Command,
        asked: LibraryCommand,
    ) -> Result<(), End> {
        if !self.uses_libraries() {
            let what = "this user's group belongs to no library";
            return self.deny(command, &failed(what));
        }
        if !command.is_whole() {
            return self.deny(command, &failed("command too long"));
        }
        let outcome = match asked {
            LibraryCommand::Select { object } => self.select(None, object).await,
            LibraryCommand::SelectRelated { class, object } => {
                self.select(Some(class), object).await
            }
            LibraryCommand::Relate {
                class,
                object,
                core,
            } => self
                .relate([class, object, core])
                .await
                .map_err(Told::Error),
            LibraryCommand::Wrong(why) => Err(Told::Error(error::own(why))),
        };
        match outcome {
            Ok(()) => {
                self.shared.stats.turns_local.add(1);
                self.tell_ok();
                Ok(())
            }
            Err(Told::Error(error)) => {
                self.tell(&error);
                Ok(())
            }
            Err(Told::End(end)) => Err(end),
        }
    }

    async fn select(&mut self, class: Option<Vec<u8>>, object: Vec<u8>) -> Result<(), Told> {
        let names = class.iter().chain([&object]);
        check(names.map(Vec::as_slice))?;
        let name = shown(&object).into_boxed_str();
        let object: Object = (class.map(Into::into), object.into());
        let library = match self.shared.known_libraries.get(&object) {
            Some(library) => library,
            None => self.ask(object).await?,
        };
        let snapshot = self.shared.snapshot();
        let selected = found(&snapshot, &library, name)?;
        if *selected.group != *self.home() || self.library.is_none() {
            self.switch(selected).await?;
        } else {
            self.library = Some(Box::new(selected));
        }
        self.shared.stats.libraries_selected.add(1);
        Ok(())
    }

    /// Asks the store, which gives a core object a library if it has none.
    async fn ask(&self, object: Object) -> Result<Box<str>, reply::Err> {
        let shared = &self.shared;
        let library = match &object {
            (None, core) => assign(shared, core).await.map_err(|why| failed(&why))?,
            (Some(class), related) => {
                let asked = shared.ask_libraries(|reply| LibraryAsk::FindRelated {
                    class: class.clone(),
                    object: related.clone(),
                    reply,
                });
                let library = asked.await.map_err(|why| failed(&why))?;
                library.ok_or_else(|| {
                    let (class, object) = (shown(class), shown(related));
                    failed(&format!(
                        "'{object}' of class '{class}' is not known: SET CORREL_OBJECT '{class}' '{object}' core-object"
                    ))
                })?
            }
        };
        shared.known_libraries.put(object, &library);
        Ok(library.into())
    }

    /// Everything that the old connection has stays there, and is gone with it.
    async fn switch(&mut self, selected: Selected) -> Result<(), Told> {
        let open = Pins::TRANSACTION | Pins::XA;
        if self.pins.intersects(open) || self.status & status::IN_TRANS != 0 {
            let what = "a transaction is open in another library: COMMIT or ROLLBACK first";
            return Err(failed(what).into());
        }
        const SETTINGS: Pins = Pins::TRACKING
            .union(Pins::VARIABLE)
            .union(Pins::ROLE)
            .union(Pins::NEXT_TRANSACTION);
        if self.pins.intersects(SETTINGS) {
            let what = "the session has settings that cannot go along (session_track_*, SET ROLE, SET TRANSACTION for one \
                        transaction, or a variable that cannot be set again): end what they are for, or reset the connection";
            return Err(failed(what).into());
        }
        if self.pins.contains(Pins::SCHEMA) {
            self.learn_schema().await.map_err(Told::End)?;
        }
        // LAST_INSERT_ID() is the session's, wherever it was made
        self.pins.remove(Pins::DIAGNOSTICS);
        if self.pins.contains(Pins::INSERT_ID) {
            if let Some(mut lease) = self.held.take() {
                let after = std::mem::replace(&mut lease.after, crate::backend::After::Close);
                self.settle_doubts(&mut lease).await.map_err(Told::End)?;
                lease.after = after;
                self.held = Some(lease);
            }
        }
        if let Some(lease) = self.held.take() {
            self.forget(lease);
        }
        self.pins = Pins::empty();
        self.kept = None;
        self.last = None;
        self.lent_warnings = false;
        self.own_id = false;
        self.statements.lose_connection();
        self.library = Some(Box::new(selected));
        self.group = Default::default();
        Ok(())
    }

    async fn relate(&mut self, names: [Vec<u8>; 3]) -> Result<(), reply::Err> {
        check(names.iter().map(Vec::as_slice))?;
        let [class, object, core] = names;
        let asked = self.shared.ask_libraries(|reply| LibraryAsk::Relate {
            class: class.into(),
            object: object.into(),
            core: core.into(),
            reply,
        });
        asked
            .await
            .map_err(|why| error::own(&format!("set correl_object failed: {why}")))
    }

    /// For EXPLAIN ROUTE.
    pub(super) fn explained_library(&self, snapshot: &Topology) -> Option<(String, String)> {
        let value = match &self.library {
            Some(s) => format!(
                "{} (group {}), of object '{}'",
                s.library, s.group, s.object
            ),
            None if snapshot.is_of_library(&self.user.config.group) => {
                "none selected: tables cannot be used yet".into()
            }
            None => return None,
        };
        Some(("library".into(), value))
    }
}

enum Told {
    Error(reply::Err),
    End(End),
}

impl From<reply::Err> for Told {
    fn from(error: reply::Err) -> Told {
        Told::Error(error)
    }
}

async fn assign(shared: &Shared, object: &[u8]) -> Result<String, String> {
    let snapshot = shared.snapshot();
    let candidates = candidates(&snapshot);
    let asked = shared.ask_libraries(|reply| LibraryAsk::Assign {
        object: object.into(),
        hash: fnv1a_fmix64(object),
        candidates,
        reply,
    });
    let (library, new) = asked.await?;
    shared.stats.library_objects_assigned.add(u64::from(new));
    Ok(library)
}

fn candidates(snapshot: &Topology) -> Vec<Candidate> {
    let candidate = |library: &crate::config::Library| Candidate {
        name: library.name.clone(),
        weight: library.weight,
    };
    snapshot.libraries.iter().map(candidate).collect()
}

fn found(snapshot: &Topology, library: &str, object: Box<str>) -> Result<Selected, reply::Err> {
    let known = snapshot.libraries.iter().find(|l| l.name == library);
    let known = known.ok_or_else(|| {
        failed(&format!(
            "object '{object}' belongs to library '{library}', which is no longer configured"
        ))
    })?;
    Ok(Selected {
        library: library.into(),
        group: known.group.as_str().into(),
        object,
    })
}

fn check<'n>(names: impl Iterator<Item = &'n [u8]>) -> Result<(), reply::Err> {
    for name in names {
        if name.len() > MAX_OBJECT {
            let length = name.len();
            let what = format!("a name has {length} bytes; names have up to {MAX_OBJECT}");
            return Err(failed(&what));
        }
    }
    Ok(())
}

/// What is about the session and the servers alone, whichever library that is: what drivers send when they connect.
fn needs_no_library(sniffed: &Sniffed, sql: &[u8], dialect: Dialect) -> bool {
    const TOUCHES: Effects = Effects::BEGIN
        .union(Effects::SET_GLOBAL)
        .union(Effects::SET_OTHER)
        .union(Effects::CREATES_TEMPORARY_TABLE)
        .union(Effects::LOCKS_TABLES)
        .union(Effects::FLUSHES_WITH_LOCK)
        .union(Effects::GET_LOCK)
        .union(Effects::PREPARES)
        .union(Effects::HANDLER_OPEN)
        .union(Effects::XA_START)
        .union(Effects::XA_END)
        .union(Effects::CALL)
        .union(Effects::LOCAL_INFILE)
        .union(Effects::LOCKING_READ)
        .union(Effects::MULTI_STATEMENT)
        .union(Effects::UNKNOWN_FUNCTION)
        .union(Effects::UNREAD);
    if sniffed.access == Access::Write || sniffed.effects.intersects(TOUCHES) {
        return false;
    }
    match sniffed.verb {
        Verb::Select | Verb::Do | Verb::Set => !names_table(sql, dialect),
        Verb::Show | Verb::Describe | Verb::Help | Verb::Use => true,
        Verb::Commit | Verb::Rollback | Verb::Kill | Verb::Empty => true,
        Verb::Explain => sniff::explained_route(sql, dialect).is_some(),
        _ => false,
    }
}

fn names_table(sql: &[u8], dialect: Dialect) -> bool {
    let mut lexer = Lexer::new(sql, dialect);
    loop {
        let token = lexer.next();
        match token.kind {
            Kind::End => return false,
            Kind::Word if !token.qualified => {
                let word = lexer.bytes(&token);
                let words: [&[u8]; 3] = [b"from", b"into", b"table"];
                if words.iter().any(|w| w.eq_ignore_ascii_case(word)) {
                    return true;
                }
            }
            _ => {}
        }
    }
}

/// 1046, as where no database is selected.
fn not_selected() -> reply::Err {
    let what = "No library selected: send SELECT LIBRARY object before statements that use tables";
    reply::Err {
        code: 1046,
        state: *b"3D000",
        message: what.as_bytes().to_vec(),
    }
}

fn not_prepared() -> reply::Err {
    error::own("commands about libraries cannot be prepared: send them as text")
}

fn failed(why: &str) -> reply::Err {
    error::own(&format!("set library failed: {why}"))
}
