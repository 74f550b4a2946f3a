//! What the admin servers see of the control thread, and may ask of it.

use crate::config::Config;
use crate::coordination::Clerk;
use crate::observe::WorkerStats;
use crate::topology::{Health, Snapshot};
use crate::worker::mailbox::Mailbox;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// The state of affairs after the last check. Immutable; replaced as a whole.
#[derive(Debug, Clone)]
pub struct View {
    pub config: Arc<Config>,
    /// What the workers have.
    pub snapshot: Arc<Snapshot>,
    /// Health by group and server, in the snapshot's order; newer than the snapshot's own, which is
    /// published only when something changes for the workers.
    pub healths: Vec<Vec<Health>>,
    /// What a person should look at; one line each.
    pub alarms: Vec<String>,
    pub draining: bool,
}

pub(super) enum Request {
    Reload(oneshot::Sender<Result<String, String>>),
    SetLimit {
        user: String,
        key: String,
        value: Option<u64>,
        answer: oneshot::Sender<Result<String, String>>,
    },
    Shutdown,
}

/// Cheap to clone; usable on any task of the control thread.
#[derive(Clone)]
pub struct Handle {
    pub(super) requests: mpsc::Sender<Request>,
    pub(super) view: watch::Receiver<Arc<View>>,
    pub(super) mailboxes: Arc<[Mailbox]>,
    pub(super) stats: Arc<[Arc<WorkerStats>]>,
    pub(super) clerk: Option<Clerk>,
}

impl Handle {
    /// A handle without a control thread behind it, for tests: `requests` of the pair answers
    /// nothing, so that reload reports that the control thread has ended.
    pub fn fixed(view: View, mailboxes: Vec<Mailbox>, stats: Vec<Arc<WorkerStats>>) -> Handle {
        let (requests, _) = mpsc::channel(1);
        let (_, view) = watch::channel(Arc::new(view));
        Handle {
            requests,
            view,
            mailboxes: mailboxes.into(),
            stats: stats.into(),
            clerk: None,
        }
    }

    pub fn view(&self) -> Arc<View> {
        self.view.borrow().clone()
    }

    pub fn mailboxes(&self) -> &[Mailbox] {
        &self.mailboxes
    }

    /// The store of what outlives the process, if there is one.
    pub fn clerk(&self) -> Option<&Clerk> {
        self.clerk.as_ref()
    }

    /// One a worker, in the order of the mailboxes.
    pub fn stats(&self) -> &[Arc<WorkerStats>] {
        &self.stats
    }

    /// Reads the configuration file again. Ok: what was done, and what needs a restart; Err: why
    /// nothing was changed.
    pub async fn reload(&self) -> Result<String, String> {
        let (answer, answered) = oneshot::channel();
        let ended = || "the control thread has ended".to_string();
        self.requests
            .send(Request::Reload(answer))
            .await
            .map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Changes one limit of a user until the next reload; `value` None takes it away. Ok: what holds now, in words;
    /// Err: why nothing was changed.
    pub async fn set_limit(
        &self,
        user: String,
        key: String,
        value: Option<u64>,
    ) -> Result<String, String> {
        let (answer, answered) = oneshot::channel();
        let request = Request::SetLimit {
            user,
            key,
            value,
            answer,
        };
        let ended = || "the control thread has ended".to_string();
        self.requests.send(request).await.map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Drains and ends the process, as SIGTERM does; asked twice, at once.
    pub async fn shutdown(&self) -> bool {
        self.requests.send(Request::Shutdown).await.is_ok()
    }
}
