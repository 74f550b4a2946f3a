//! The pace of the admin port's logins: an address whose logins fail waits, as on the clients' listeners.

use super::stream::Ended;
use crate::config::Proxy;
use crate::throttle::failures::{Failures, Rule, Turn};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Mutex;

/// Per process. All tasks of the admin port share it; none holds the lock across a wait.
#[derive(Clone)]
pub struct Pace {
    failures: Arc<Mutex<Failures>>,
    started: Instant,
}

impl Pace {
    pub fn new() -> Pace {
        Pace {
            failures: Arc::default(),
            started: Instant::now(),
        }
    }

    /// Waits for the address's turn; to be called before its password is looked at. False: so many of its logins
    /// wait already that this one cannot.
    pub async fn turn(&self, address: Option<IpAddr>, proxy: &Proxy) -> bool {
        let Some(address) = address else { return true };
        let now = self.now();
        let turn = self
            .failures
            .lock()
            .await
            .turn(address, Rule::of(proxy), now);
        match turn {
            Turn::Now => true,
            Turn::Wait(wait) => {
                tokio::time::sleep(wait).await;
                true
            }
            Turn::Never => false,
        }
    }

    /// Notes how a login of the address ended.
    pub async fn ended(&self, address: Option<IpAddr>, proxy: &Proxy, outcome: Result<(), &Ended>) {
        let Some(address) = address else { return };
        let (mut failures, now) = (self.failures.lock().await, self.now());
        match outcome {
            Ok(()) => failures.succeeded(address, now),
            Err(Ended::LoginRefused) => failures.failed(address, Rule::of(proxy), now),
            // it proved nothing, and guessed nothing
            Err(_) => {}
        }
    }

    /// Nanoseconds; does not run backwards.
    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
