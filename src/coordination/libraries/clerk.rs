//! The thread that asks and answers for libraries. Questions that wait together share a flush.
use super::super::clerk::Reply;
use super::{Candidate, Libraries, LibraryCount};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};

/// Questions under way; one more is refused.
const QUEUE: usize = 4096;
/// Questions that share a flush.
const BATCH: usize = 1024;

/// What is asked.
pub enum LibraryAsk {
    /// The library of an object; one that has none is given one of the candidates, and whether it was.
    Assign {
        object: Box<[u8]>,
        /// Of the object; decides among the candidates.
        hash: u64,
        candidates: Vec<Candidate>,
        reply: Reply<(String, bool)>,
    },
    /// The library of an object, if it has one.
    Find {
        object: Box<[u8]>,
        reply: Reply<Option<String>>,
    },
    /// The library of the core object that a related one is tied to.
    FindRelated {
        class: Box<[u8]>,
        object: Box<[u8]>,
        reply: Reply<Option<String>>,
    },
    Relate {
        class: Box<[u8]>,
        object: Box<[u8]>,
        core: Box<[u8]>,
        reply: Reply<()>,
    },
    Raise {
        library: String,
        by: u64,
        reply: Reply<()>,
    },
    /// See [`Libraries::report`].
    Report(
        Vec<Candidate>,
        Reply<Vec<(String, LibraryCount, Option<u64>)>>,
    ),
    /// See [`Libraries::find`].
    Objects {
        limit: usize,
        wanted: Box<dyn Fn(&str) -> bool + Send>,
        reply: Reply<Vec<(String, String)>>,
    },
}

/// Asks the libraries' thread. Cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct LibraryClerk(SyncSender<LibraryAsk>);

impl LibraryClerk {
    /// The thread ends when the last clerk is gone.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(libraries: Libraries) -> std::io::Result<LibraryClerk> {
        let (sender, asked) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("libraries".into());
        thread.spawn(move || run(libraries, &asked))?;
        Ok(LibraryClerk(sender))
    }

    /// Never blocks. The reply is called in any case, here if the question cannot be put.
    pub fn ask(&self, ask: LibraryAsk) {
        match self.0.try_send(ask) {
            Ok(()) => {}
            Err(TrySendError::Full(ask)) => refuse(ask, "the store's disk is too slow: try again"),
            Err(TrySendError::Disconnected(ask)) => {
                refuse(ask, "the store has ended: see the log");
            }
        }
    }
}

fn refuse(ask: LibraryAsk, why: &str) {
    let why = why.to_string();
    match ask {
        LibraryAsk::Assign { reply, .. } => reply(Err(why)),
        LibraryAsk::Find { reply, .. } | LibraryAsk::FindRelated { reply, .. } => reply(Err(why)),
        LibraryAsk::Relate { reply, .. } | LibraryAsk::Raise { reply, .. } => reply(Err(why)),
        LibraryAsk::Report(_, reply) => reply(Err(why)),
        LibraryAsk::Objects { reply, .. } => reply(Err(why)),
    }
}

/// Told whether everything noted so far is on the disk.
type Pending = Box<dyn FnOnce(Result<(), String>)>;

#[allow(clippy::disallowed_methods, reason = "a thread that may block")]
fn run(mut libraries: Libraries, asked: &Receiver<LibraryAsk>) {
    while let Ok(first) = asked.recv() {
        let mut pending = Vec::new();
        let more = asked.try_iter().take(BATCH);
        for ask in std::iter::once(first).chain(more) {
            pending.push(answer(&mut libraries, ask));
        }
        let flushed = libraries.flush();
        if let Err(error) = &flushed {
            tracing::error!(error, "the libraries' file");
        }
        for told in pending {
            told(flushed.clone());
        }
    }
}

/// What was found out is told only when all that it rests on is on the disk: what one question of a batch has made known,
/// another one may have been answered with.
fn answer(libraries: &mut Libraries, ask: LibraryAsk) -> Pending {
    match ask {
        LibraryAsk::Assign {
            object,
            hash,
            candidates,
            reply,
        } => later(libraries.assign(&object, hash, &candidates), reply),
        LibraryAsk::Find { object, reply } => {
            let found = libraries.library_of(&object).map(str::to_owned);
            later(Ok(found), reply)
        }
        LibraryAsk::FindRelated {
            class,
            object,
            reply,
        } => {
            let core = libraries.core_object(&class, &object);
            let found = core.and_then(|core| libraries.library_of(core));
            later(Ok(found.map(str::to_owned)), reply)
        }
        LibraryAsk::Relate {
            class,
            object,
            core,
            reply,
        } => later(libraries.relate(&class, &object, &core), reply),
        LibraryAsk::Raise { library, by, reply } => later(libraries.raise(&library, by), reply),
        LibraryAsk::Report(candidates, reply) => later(Ok(libraries.report(&candidates)), reply),
        LibraryAsk::Objects {
            limit,
            wanted,
            reply,
        } => later(Ok(libraries.find(limit, &*wanted)), reply),
    }
}

fn later<T: 'static>(outcome: Result<T, String>, reply: Reply<T>) -> Pending {
    Box::new(move |flushed| {
        reply(match flushed {
            Ok(()) => outcome,
            Err(why) => outcome.and(Err(format!("the store: {why}"))),
        });
    })
}
