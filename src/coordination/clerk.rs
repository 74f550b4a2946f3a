//! The store's thread, and what it is asked.
use super::job::Job;
use super::libraries::{Libraries, LibraryClerk};
use super::rule::{Follower, Rule};
use super::store::{Store, StoreError};
use std::path::Path;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};

/// Called on the store's thread with the answer; must not block (post it to a worker).
pub type Reply<T> = Box<dyn FnOnce(Result<T, String>) + Send>;

/// Questions under way; one more is refused.
const QUEUE: usize = 1024;

/// What the store is asked.
pub enum Ask {
    /// See [`Store::take_ids`].
    Ids {
        table: String,
        count: u64,
        floor: Option<u64>,
        reply: Reply<Option<u64>>,
    },
    /// A new job; its number.
    Begin(Job, Reply<u64>),
    Note(Job, Reply<()>),
    /// All that are not done, and whether each runs now.
    Jobs(Reply<Vec<(Job, bool)>>),
    /// See [`Store::claim`].
    Claim(u64, Reply<Job>),
    Release(u64),
    /// Whether there was such a job.
    Forget(u64, Reply<bool>),
    /// Who is told of rules from now on, and of those that there are at once.
    Follow(Follower),
    /// All rules.
    Rules(Reply<Vec<Rule>>),
    /// Answered when everyone has the rules as they are.
    Spread(Reply<()>),
}

/// Asks the store's thread. Cheap to clone; usable from any thread.
#[derive(Clone)]
pub struct Clerk(SyncSender<Ask>, LibraryClerk);

impl Clerk {
    /// Opens the store and starts its threads, which end when the last clerk is gone. `prepare` sees the libraries first.
    ///
    /// # Errors
    /// See [`Store::open`], [`Libraries::open`] and `prepare`; in words.
    pub fn start(
        folder: &Path,
        prepare: impl FnOnce(&mut Libraries) -> Result<(), String>,
    ) -> Result<Clerk, String> {
        let store = Store::open(folder).map_err(|e| e.to_string())?;
        let mut libraries = Libraries::open(folder).map_err(|e| e.to_string())?;
        prepare(&mut libraries)?;
        Clerk::spawn(store, libraries).map_err(|cause| format!("the store's threads: {cause}"))
    }

    fn spawn(store: Store, libraries: Libraries) -> std::io::Result<Clerk> {
        let (sender, asked) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("store".into());
        thread.spawn(move || run(store, &asked))?;
        Ok(Clerk(sender, LibraryClerk::start(libraries)?))
    }

    /// Asks about libraries.
    pub fn libraries(&self) -> &LibraryClerk {
        &self.1
    }

    /// Never blocks. The reply is called in any case, here if the question cannot be put.
    pub fn ask(&self, ask: Ask) {
        let refused = match self.0.try_send(ask) {
            Ok(()) => return,
            Err(TrySendError::Full(ask)) => (ask, "the store's disk is too slow: try again"),
            Err(TrySendError::Disconnected(ask)) => (ask, "the store has ended: see the log"),
        };
        refuse(refused.0, refused.1);
    }
}

fn refuse(ask: Ask, why: &str) {
    let why = why.to_string();
    match ask {
        Ask::Ids { reply, .. } => reply(Err(why)),
        Ask::Begin(_, reply) => reply(Err(why)),
        Ask::Note(_, reply) => reply(Err(why)),
        Ask::Jobs(reply) => reply(Err(why)),
        Ask::Claim(_, reply) => reply(Err(why)),
        Ask::Release(_) => tracing::error!(why, "a job could not be released"),
        Ask::Forget(_, reply) => reply(Err(why)),
        Ask::Follow(_) => tracing::error!(why, "nobody follows the rules"),
        Ask::Spread(reply) => reply(Err(why)),
        Ask::Rules(reply) => reply(Err(why)),
    }
}

#[allow(clippy::disallowed_methods, reason = "a thread that may block")]
fn run(mut store: Store, asked: &Receiver<Ask>) {
    let mut follower: Option<Follower> = None;
    let mut told_rules = store.rules().to_vec();
    while let Ok(ask) = asked.recv() {
        match ask {
            Ask::Ids {
                table,
                count,
                floor,
                reply,
            } => reply(told(store.take_ids(&table, count, floor))),
            Ask::Begin(job, reply) => reply(told(store.begin(job))),
            Ask::Note(job, reply) => reply(told(store.note(job))),
            Ask::Jobs(reply) => {
                let jobs = store.jobs().into_iter();
                reply(Ok(jobs
                    .map(|job| (job.clone(), store.is_claimed(job.id)))
                    .collect()));
            }
            Ask::Claim(id, reply) => reply(store.claim(id)),
            Ask::Release(id) => store.release(id),
            Ask::Forget(id, reply) => reply(told(store.forget(id))),
            Ask::Follow(new) => {
                new(store.rules().to_vec(), None);
                follower = Some(new);
            }
            Ask::Rules(reply) => reply(Ok(store.rules().to_vec())),
            Ask::Spread(reply) => match &follower {
                Some(follower) => follower(store.rules().to_vec(), Some(reply)),
                None => reply(Err("nobody follows the rules".into())),
            },
        }
        if told_rules != store.rules() {
            told_rules = store.rules().to_vec();
            if let Some(follower) = &follower {
                follower(told_rules.clone(), None);
            }
        }
    }
}

fn told<T>(result: Result<T, StoreError>) -> Result<T, String> {
    result.map_err(|error| {
        tracing::error!(%error, "the store");
        format!("the store: {error}")
    })
}
