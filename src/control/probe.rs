//! One server's checks: a kept connection, one round of questions, an [`Outcome`].
//!
//! The connection stays open between rounds, so that a server without a free connection never looks
//! dead. Only when it breaks is a new one tried, at once and within the same round: a server that
//! closed an idle connection has not failed.

use super::client::{Client, ClientError, Link, Rows};
use super::health::{Facts, Outcome, Replication};
use super::{greeting, replication, resolve};
use crate::config::{Address, Monitor, ProxyHeaders, ServerTls};
use crate::topology::{Greeting, Target, NO_SELECT_LIMIT};
use crate::wire::handshake;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Errors with which a living server turns away the monitor: too many connections (1040, 1203,
/// 1226), host blocked or not allowed (1129, 1130), login refused (1044, 1045, 1698), plugin or
/// password not usable (1251, 1820, 1862), account locked (3118, 4150, 4151).
const DECLINED: [u16; 14] = [
    1040, 1044, 1045, 1129, 1130, 1203, 1226, 1251, 1698, 1820, 1862, 3118, 4150, 4151,
];
const ACCESS_DENIED_SUPER: u16 = 1227;
const SYNTAX_ERROR: u16 = 1064;
const UNKNOWN_VARIABLE: u16 = 1193;
/// Who knocks where no monitor account is configured. A whole login, although it is refused, is not
/// counted as a broken one, which would block this host after max_connect_errors of them.
const STRANGER: &str = "umpire";

/// Per configured server, owned by its checking task.
pub struct Prober {
    address: Address,
    monitor: Option<Monitor>,
    tls: Option<Arc<ServerTls>>,
    headers: Option<ProxyHeaders>,
    /// Of one whole round.
    deadline: Duration,
    kept: Option<Client>,
    /// What the last greeting said, with the collations.
    learnt: Option<Greeting>,
    target: Option<Target>,
}

impl Prober {
    pub fn new(
        address: Address,
        monitor: Option<Monitor>,
        tls: Option<Arc<ServerTls>>,
        headers: Option<ProxyHeaders>,
        deadline: Duration,
    ) -> Prober {
        Prober {
            address,
            monitor,
            tls,
            headers,
            deadline,
            kept: None,
            learnt: None,
            target: None,
        }
    }

    /// What is known of the server from its greetings; None: it never answered.
    pub fn learnt(&self) -> Option<Greeting> {
        self.learnt.clone()
    }

    /// Where the address was found last.
    pub fn target(&self) -> Option<Target> {
        self.target.clone()
    }

    /// One round within the deadline.
    pub async fn round(&mut self) -> Outcome {
        let deadline = self.deadline;
        match tokio::time::timeout(deadline, self.ask()).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(e)) => self.classify(&e),
            Err(_) => Outcome::Failed {
                refused: false,
                text: format!("no answer within {} ms", deadline.as_millis()),
            },
        }
    }

    /// The kept connection is out of `self` while a question is under way: if the deadline drops
    /// this future, the half-read connection goes with it.
    async fn ask(&mut self) -> Result<Outcome, ClientError> {
        if let Some(mut client) = self.kept.take() {
            if let Ok(facts) = self.facts(&mut client).await {
                self.kept = Some(client);
                return Ok(Outcome::Answered(facts));
            }
        }
        let (link, greeting) = self.open().await?;
        let Some(monitor) = self.monitor.clone() else {
            self.learn(&greeting, HashMap::new());
            return knock(link, self.tls.as_ref(), &greeting).await;
        };
        let (user, password) = (&monitor.user, &monitor.password);
        let tls = self.tls.as_ref();
        let mut client = Client::login(link, tls, &greeting, user, password).await?;
        client.settle_in().await?;
        if !self.knows(&greeting) {
            let collations = collations(&mut client, &greeting.version).await?;
            self.learn(&greeting, collations);
        }
        let facts = self.facts(&mut client).await?;
        self.kept = Some(client);
        Ok(Outcome::Answered(facts))
    }

    /// Resolves the name again and connects to the first of its addresses that answers.
    async fn open(&mut self) -> Result<(Link, handshake::Greeting), ClientError> {
        let targets = self.resolve().await?;
        if self
            .target
            .as_ref()
            .is_none_or(|known| !targets.contains(known))
        {
            self.target = targets.first().cloned();
        }
        let share = self.deadline / (targets.len().max(1) as u32);
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for target in targets {
            match tokio::time::timeout(share, Link::connect(&target, self.headers)).await {
                Ok(Ok(mut link)) => {
                    let greeting = link.greeting().await?;
                    self.target = Some(target);
                    return Ok((link, greeting));
                }
                Ok(Err(e)) => last = e,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(last.into())
    }

    /// A name service that is away does not make a known server unreachable.
    async fn resolve(&self) -> io::Result<Vec<Target>> {
        match (resolve::resolve(&self.address).await, &self.target) {
            (Err(_), Some(known)) => Ok(vec![known.clone()]),
            (result, _) => result,
        }
    }

    fn knows(&self, greeting: &handshake::Greeting) -> bool {
        self.learnt
            .as_ref()
            .is_some_and(|known| greeting::same(known, greeting) && !known.collations.is_empty())
    }

    fn learn(&mut self, from: &handshake::Greeting, collations: HashMap<u16, (String, String)>) {
        self.learnt = Some(Greeting {
            version: from.version.clone(),
            capabilities: from.capabilities,
            collation: from.collation,
            auth_plugin: from.auth_plugin.clone(),
            collations: Arc::new(collations),
            sql_mode: String::new(),
            autocommit: true,
            select_limit: false,
            div_precision_increment: Greeting::DIV_PRECISION_INCREMENT,
        });
    }

    async fn facts(&mut self, client: &mut Client) -> Result<Facts, ClientError> {
        let read_only = read_only(client).await?;
        if let Some(learnt) = self.learnt.as_mut() {
            learn_defaults(learnt, client).await?;
        }
        let mariadb = self.learnt.as_ref().is_some_and(|g| g.is_mariadb());
        let replication = replication_status(client, mariadb).await?;
        Ok(Facts {
            read_only,
            replication,
        })
    }

    fn classify(&self, error: &ClientError) -> Outcome {
        let text = error.to_string();
        match error {
            ClientError::Server(e) if DECLINED.contains(&e.code) => Outcome::Declined(text),
            ClientError::Unsupported(_) => Outcome::Declined(text),
            ClientError::Io(e) => Outcome::Failed {
                refused: nobody_listens(e),
                text,
            },
            _ => Outcome::Failed {
                refused: false,
                text,
            },
        }
    }
}

fn nobody_listens(e: &io::Error) -> bool {
    // For a Unix socket: its file is gone, or nobody accepts on it.
    matches!(e.raw_os_error(), Some(libc::ECONNREFUSED | libc::ENOENT))
}

/// The greeting has been read; the answer to a stranger's login does not matter, but whether TLS can be agreed on.
async fn knock(
    link: Link,
    tls: Option<&Arc<ServerTls>>,
    greeting: &handshake::Greeting,
) -> Result<Outcome, ClientError> {
    match Client::login(link, tls, greeting, STRANGER, "").await {
        Ok(client) => client.quit().await,
        Err(e @ ClientError::Tls(_)) => return Err(e),
        Err(_) => {}
    }
    Ok(Outcome::Greeted)
}

/// Whether the server refuses writes: `read_only`, or a storage engine that cannot write.
async fn read_only(client: &mut Client) -> Result<bool, ClientError> {
    let both = "SELECT @@global.read_only, @@global.innodb_read_only";
    let rows = match client.query(both).await {
        // a server without InnoDB
        Err(ClientError::Server(e)) if e.code == UNKNOWN_VARIABLE => {
            client.query("SELECT @@global.read_only, 0").await?
        }
        other => other?,
    };
    let on = |column| {
        rows.at(0, column)
            .map(|value| !matches!(value, "0" | "OFF"))
    };
    match (on(0), on(1)) {
        // super_read_only implies read_only on every server that has it.
        (Some(read_only), Some(innodb)) => Ok(read_only || innodb),
        _ => Err(ClientError::Malformed("answer to @@read_only")),
    }
}

/// What Umpire goes by as long as a session has not set it.
async fn learn_defaults(learnt: &mut Greeting, client: &mut Client) -> Result<(), ClientError> {
    let question = "SELECT @@global.sql_mode, @@global.autocommit, @@global.sql_select_limit, @@global.div_precision_increment";
    let rows = client.query(question).await?;
    learnt.sql_mode = rows.at(0, 0).unwrap_or_default().to_owned();
    learnt.autocommit = rows.at(0, 1) != Some("0");
    learnt.select_limit = rows.at(0, 2).is_some_and(|limit| limit != NO_SELECT_LIMIT);
    let increment = rows.at(0, 3).and_then(|digits| digits.parse().ok());
    learnt.div_precision_increment = increment.unwrap_or(Greeting::DIV_PRECISION_INCREMENT);
    Ok(())
}

async fn replication_status(
    client: &mut Client,
    mariadb: bool,
) -> Result<Replication, ClientError> {
    let first = if mariadb {
        "SHOW ALL SLAVES STATUS"
    } else {
        "SHOW REPLICA STATUS"
    };
    match client.query(first).await {
        Ok(rows) => Ok(replication::summarise(&rows)),
        Err(ClientError::Server(e)) if e.code == SYNTAX_ERROR => {
            // MySQL before 8.0.22
            Ok(replication::summarise(
                &client.query("SHOW SLAVE STATUS").await?,
            ))
        }
        Err(ClientError::Server(e)) if e.code == ACCESS_DENIED_SUPER => {
            let need = if mariadb {
                "SLAVE MONITOR"
            } else {
                "REPLICATION CLIENT"
            };
            Ok(Replication::Unknown(format!(
                "the monitor account may not see replication: GRANT {need} ON *.* TO it"
            )))
        }
        Err(e) => Err(e),
    }
}

/// Collation id → (collation, character set).
async fn collations(
    client: &mut Client,
    version: &str,
) -> Result<HashMap<u16, (String, String)>, ClientError> {
    // Since 10.10 MariaDB's COLLATIONS has no ids for the collations that several character sets
    // share.
    const SHARED: &str = "SELECT ID, FULL_COLLATION_NAME, CHARACTER_SET_NAME \
         FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY";
    const PLAIN: &str =
        "SELECT ID, COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS";
    let shared = version.contains("MariaDB") && greeting::at_least(version, "10.10.0");
    let rows = client.query(if shared { SHARED } else { PLAIN }).await?;
    Ok(collation_map(&rows))
}

fn collation_map(rows: &Rows) -> HashMap<u16, (String, String)> {
    (0..rows.count())
        .filter_map(|row| {
            let id = rows.at(row, 0)?.parse().ok()?;
            Some((
                id,
                (rows.at(row, 1)?.to_string(), rows.at(row, 2)?.to_string()),
            ))
        })
        .collect()
}
