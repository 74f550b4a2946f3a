//! Questions of a worker's sessions to the store ([`crate::coordination`]), whose thread answers by message.
use super::promise::Promise;
use super::shared::Shared;
use crate::coordination::{Ask, Clerk, LibraryAsk, Reply};
use crate::net;
use ahash::AHashMap;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

/// A disk that needs longer is taken for one that hangs.
const DEADLINE: Duration = Duration::from_secs(10);

/// Whatever was asked for.
pub type Stored = Box<dyn Any + Send>;
/// Brings an answer to its worker, by its ticket; called on the store's thread.
pub type Post = Arc<dyn Fn(u64, Stored) + Send + Sync>;

/// A worker's way to the store.
pub struct StoreLink {
    clerk: Clerk,
    post: Post,
    waiting: RefCell<AHashMap<u64, Promise<Stored>>>,
    next: Cell<u64>,
}

impl StoreLink {
    pub fn new(clerk: Clerk, post: Post) -> StoreLink {
        StoreLink {
            clerk,
            post,
            waiting: RefCell::default(),
            next: Cell::new(0),
        }
    }

    /// Tells the store something that has no answer.
    pub fn tell(&self, ask: Ask) {
        self.clerk.ask(ask);
    }

    /// An answer has come.
    pub fn answered(&self, ticket: u64, answer: Stored) {
        if let Some(promise) = self.waiting.borrow_mut().remove(&ticket) {
            promise.fulfil(answer);
        }
    }

    fn expect(&self, promise: Promise<Stored>) -> u64 {
        let ticket = self.next.get();
        self.next.set(ticket + 1);
        let mut waiting = self.waiting.borrow_mut();
        // those who no longer wait leave nothing behind
        waiting.retain(|_, promise| !promise.is_abandoned());
        waiting.insert(ticket, promise);
        ticket
    }
}

impl Shared {
    /// Asks the store and waits for its answer.
    ///
    /// # Errors
    /// There is none, it could not keep what it was to keep, or does not answer; in words.
    pub async fn ask_store<T: Send + 'static>(
        &self,
        ask: impl FnOnce(Reply<T>) -> Ask,
    ) -> Result<T, String> {
        self.ask_clerk(|clerk, reply| clerk.ask(ask(reply))).await
    }

    /// The same about libraries.
    pub async fn ask_libraries<T: Send + 'static>(
        &self,
        ask: impl FnOnce(Reply<T>) -> LibraryAsk,
    ) -> Result<T, String> {
        self.ask_clerk(|clerk, reply| clerk.libraries().ask(ask(reply)))
            .await
    }

    async fn ask_clerk<T: Send + 'static>(
        &self,
        put: impl FnOnce(&Clerk, Reply<T>),
    ) -> Result<T, String> {
        let Some(link) = self.store() else {
            return Err("this needs a section [coordination] in the configuration".into());
        };
        let promise: Promise<Stored> = Promise::default();
        let ticket = link.expect(promise.clone());
        let post = link.post.clone();
        let reply = Box::new(move |told| post(ticket, Box::new(told)));
        put(&link.clerk, reply);
        let answer = promise.wait_until(net::now() + DEADLINE).await;
        let answer = answer.ok_or("the store did not answer in time: its disk may hang")?;
        match answer.downcast::<Result<T, String>>() {
            Ok(told) => *told,
            Err(_) => Err("the store answered another question".into()),
        }
    }
}
