//! What follows from a configuration: servers to check, and a snapshot of it.
use super::{Keeper, Watched};
use crate::config::{self, Config};
use crate::control::reload;
use crate::control::watch::watch;
use crate::topology::Snapshot;
use std::sync::Arc;
use std::time::Instant;

impl Keeper {
    /// Ok: what was done, in words; Err: why nothing was.
    pub(in crate::control) fn reload(&mut self, now: Instant) -> Result<String, String> {
        let loaded = reload::load(&self.config_path, &self.config).inspect_err(|why| {
            tracing::error!("reload: nothing was changed: {why}");
        })?;
        let sections = self.rules.iter().map(|rule| rule.text.as_str());
        let config = loaded.config.with_stored(sections).inspect_err(|why| {
            tracing::error!("reload: nothing was changed: {why}");
        })?;
        tracing::info!("reload: {}", loaded.words);
        self.config = Arc::new(config);
        self.watch_configured();
        self.accounts.configure(&self.config, &mut self.ids);
        let config = self.config.clone();
        self.rebuild(&config, now);
        Ok(loaded.words)
    }

    /// Publishes what follows from a changed configuration.
    pub(super) fn rebuild(&mut self, config: &Config, now: Instant) {
        let first = Snapshot::build(config, Some(&self.snapshot), &mut self.ids, &[]);
        self.snapshot = Arc::new(first.snapshot);
        let (built, healths) = self.settle(now, |snapshot, ids, learnt| {
            Snapshot::build(config, Some(snapshot), ids, learnt)
        });
        self.healths = healths;
        self.raise(built.alarms);
        self.snapshot = Arc::new(built.snapshot);
        self.send_snapshot();
    }

    /// One that runs out is warned of every day, not only when it becomes an alarm.
    pub(in crate::control) fn look_at_certificates(&self) {
        reload::expiring(&self.config).for_each(|warning| tracing::warn!("{warning}"));
    }

    /// Starts, keeps and ends the checking tasks as the configuration says.
    pub(super) fn watch_configured(&mut self) {
        let mut before = std::mem::take(&mut self.watched);
        let config = self.config.clone();
        for group in &config.groups {
            if group.monitor.is_none() {
                tracing::warn!(
                    group = group.name,
                    "no monitor account is configured: roles are trusted as configured, health is \
                     known by connecting only, replication lag is not known"
                );
            }
            for server in &group.servers {
                let address = &server.address;
                let watched = match before.remove(address) {
                    Some(w) if w.is_for(server, group) => w,
                    old => self.begin_watching(server, group, old),
                };
                self.watched.insert(address.clone(), watched);
            }
        }
    }

    /// A new task; what is known of the server is carried over from `old`.
    fn begin_watching(
        &mut self,
        server: &config::Server,
        group: &config::Group,
        old: Option<Watched>,
    ) -> Watched {
        self.generations += 1;
        let generation = self.generations;
        let (reports, clock) = (self.reports.clone(), self.clock.clone());
        let (monitor, headers) = (group.monitor.clone(), group.proxy_protocol);
        let (address, tls) = (server.address.clone(), server.tls.clone());
        let checks = watch(
            address,
            generation,
            monitor.clone(),
            tls.clone(),
            headers,
            reports,
            clock,
        );
        let old = old.as_ref();
        Watched {
            generation,
            health: old.map(|w| w.health.clone()).unwrap_or_default(),
            heard_of: old.is_some_and(|w| w.heard_of),
            greeting: old.and_then(|w| w.greeting.clone()),
            target: old.and_then(|w| w.target.clone()),
            monitor,
            tls,
            headers,
            task: tokio::spawn(checks).abort_handle(),
        }
    }
}
