//! SET USER: limits that are changed at run time.
use super::Keeper;
use crate::config::{self, Config};
use std::sync::Arc;
use std::time::Instant;

impl Keeper {
    /// One limit of one user, until the next reload.
    pub(in crate::control) fn set_limit(
        &mut self,
        user: &str,
        key: &str,
        value: Option<u64>,
        now: Instant,
    ) -> Result<String, String> {
        let mut config = Config::clone(&self.config);
        let index = match config.users.iter().position(|u| u.name == user) {
            Some(index) => index,
            None => {
                config.users.push(self.user_of_servers(user)?);
                config.users.len() - 1
            }
        };
        config.users[index].set_limit(key, value)?;
        let shown = value.map_or("none".into(), |n| n.to_string());
        tracing::info!(user, key, value = shown, "a limit was changed");
        self.config = Arc::new(config);
        let config = self.config.clone();
        self.rebuild(&config, now);
        Ok(format!(
            "{key} of user '{user}' is {shown} until the configuration is read again"
        ))
    }

    /// A name that only the servers know, as if a `[[user]]` without anything of its own had it.
    fn user_of_servers(&self, name: &str) -> Result<config::User, String> {
        let known = self.snapshot.users.get(name);
        let known = known.ok_or_else(|| format!("there is no user '{name}'"))?;
        Ok(config::User::of_server(name, &known.config.group))
    }
}
