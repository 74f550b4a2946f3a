//! A connection on loan.
use super::connection::ServerConnection;
use super::pool::Pool;
use crate::wire::reply::Err as ServerError;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A connection on loan; goes back, is reset or closed on drop, as `after` says.
pub struct Lease {
    /// Some until the drop.
    conn: Option<Box<ServerConnection>>,
    pool: Rc<Pool>,
    /// False: opened for one purpose, closed on drop.
    pooled: bool,
}

/// Why there is no lease.
#[derive(Debug)]
pub enum LeaseError {
    /// No connection within the deadline (budget spent, or connecting is backed off); text says which.
    Timeout(String),
    /// The server answered the login with an error (1045, 1049, 1040 after retries …).
    Refused(ServerError),
    /// No connection could be made: refused, unreachable, TLS …
    Unreachable(String),
}

impl Lease {
    pub(super) fn new(pool: &Rc<Pool>, mut conn: Box<ServerConnection>, pooled: bool) -> Lease {
        conn.uses += 1;
        pool.lent();
        Lease {
            conn: Some(conn),
            pool: pool.clone(),
            pooled,
        }
    }

    /// Others wait for a connection to this server, or would have to.
    pub fn is_wanted(&self) -> bool {
        let budget = &self.server.budget;
        self.pool.someone_waits() || budget.used() >= budget.limit()
    }

    /// Ends the loan without the consequences of a drop.
    pub(super) fn into_connection(mut self) -> Option<Box<ServerConnection>> {
        let conn = self.conn.take();
        if conn.is_some() {
            self.pool.unlent();
        }
        conn
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(conn) = self.conn.take() else { return };
        self.pool.unlent();
        if self.pooled {
            self.pool.take_back(conn);
        } else {
            self.pool.dismiss(conn);
        }
    }
}

impl Deref for Lease {
    type Target = ServerConnection;
    fn deref(&self) -> &ServerConnection {
        match &self.conn {
            Some(conn) => conn,
            None => unreachable!("a lease has its connection until it is dropped"),
        }
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut ServerConnection {
        match &mut self.conn {
            Some(conn) => conn,
            None => unreachable!("a lease has its connection until it is dropped"),
        }
    }
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lease({})", self.id)
    }
}
