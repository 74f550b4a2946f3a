//! The questions to a server about its accounts.
use super::rows::{self, AuthColumns, Facts, Privileges};
use crate::config::{Monitor, ProxyHeaders, ServerTls};
use crate::control::client::{Client, ClientError, Link, Rows};
use crate::topology::accounts::{AccountsRead, Host};
use crate::topology::{Server, Target};
use std::sync::Arc;

/// Accounts and privileges of one server.
const ROW_LIMIT: usize = 500_000;
/// No such table (1146), or no right to read it (1142, 1143, 1044).
const CANNOT: [u16; 4] = [1146, 1142, 1143, 1044];
/// ER_UNKNOWN_SYSTEM_VARIABLE.
const UNKNOWN_VARIABLE: u16 = 1193;

/// MariaDB since 10.4. Up to four ways to log in, each in two columns.
const MARIADB: &str = "SELECT User, Host, Priv, \
    JSON_VALUE(Priv,'$.is_role') is_role, JSON_VALUE(Priv,'$.plugin') plugin, \
    JSON_VALUE(Priv,'$.authentication_string') auth, JSON_VALUE(Priv,'$.account_locked') locked, \
    JSON_VALUE(Priv,'$.password_last_changed') changed, JSON_VALUE(Priv,'$.password_lifetime') lifetime, \
    JSON_VALUE(Priv,'$.ssl_type') ssl_kind, JSON_LENGTH(Priv,'$.auth_or') ways, \
    JSON_VALUE(Priv,'$.auth_or[0].plugin') plugin0, JSON_VALUE(Priv,'$.auth_or[0].authentication_string') auth0, \
    JSON_VALUE(Priv,'$.auth_or[1].plugin') plugin1, JSON_VALUE(Priv,'$.auth_or[1].authentication_string') auth1, \
    JSON_VALUE(Priv,'$.auth_or[2].plugin') plugin2, JSON_VALUE(Priv,'$.auth_or[2].authentication_string') auth2, \
    JSON_VALUE(Priv,'$.auth_or[3].plugin') plugin3, JSON_VALUE(Priv,'$.auth_or[3].authentication_string') auth3 \
    FROM mysql.global_priv";
/// MySQL. The stored digest holds unprintable bytes.
const MYSQL: &str = "SELECT u.*, CONCAT('0x', HEX(u.authentication_string)) auth, \
    UNIX_TIMESTAMP(u.password_last_changed) changed FROM mysql.user u";
/// Older MariaDB.
const OLD_MARIADB: &str = "SELECT u.*, \
    IF(u.authentication_string = '', u.Password, u.authentication_string) auth FROM mysql.user u";

/// A monitor's connection to one server.
pub(super) struct Reader {
    client: Client,
    mariadb: bool,
    seen_as: Host,
}

/// How a server sees Umpire, over a connection of its own.
pub(super) async fn seen_as(server: &Server, monitor: &Monitor) -> Result<Host, String> {
    let reader = Reader::connect(server, monitor).await?;
    reader.client.quit().await;
    Ok(reader.seen_as)
}

impl Reader {
    pub async fn connect(server: &Server, monitor: &Monitor) -> Result<Reader, String> {
        let target = server.target.as_ref().ok_or("its name does not resolve")?;
        Reader::open(target, server.proxy_protocol, server.tls.as_ref(), monitor)
            .await
            .map_err(|e| e.to_string())
    }

    async fn open(
        target: &Target,
        headers: Option<ProxyHeaders>,
        tls: Option<&Arc<ServerTls>>,
        monitor: &Monitor,
    ) -> Result<Reader, ClientError> {
        let mut link = Link::connect(target, headers).await?;
        let local = link.local();
        let greeting = link.greeting().await?;
        let (user, password) = (&monitor.user, &monitor.password);
        let mut client = Client::login(link, tls, &greeting, user, password).await?;
        client.settle_in().await?;
        let rows = client.query("SELECT USER(), VERSION()").await?;
        let user = rows.at(0, 0).unwrap_or_default();
        let mariadb = rows.at(0, 1).is_some_and(|v| v.contains("MariaDB"))
            || greeting.version.contains("MariaDB");
        Ok(Reader {
            client,
            mariadb,
            seen_as: rows::seen_as(user, local),
        })
    }

    pub async fn quit(self) {
        self.client.quit().await;
    }

    pub fn seen_as(&self) -> &Host {
        &self.seen_as
    }

    pub async fn read(&mut self) -> Result<AccountsRead, String> {
        match self.ask().await {
            Err(ClientError::Server(e)) if CANNOT.contains(&e.code) => Err(format!(
                "the monitor account may not read the accounts ({}): GRANT SELECT ON mysql.* TO it",
                String::from_utf8_lossy(&e.message)
            )),
            other => other.map_err(|e| e.to_string()),
        }
    }

    async fn ask(&mut self) -> Result<AccountsRead, ClientError> {
        let facts = self.facts().await?;
        let (rows, columns) = self.accounts().await?;
        let mut privileges = Privileges::default();
        let tables: &[&str] = match self.mariadb {
            true => &["roles_mapping", "db"],
            false => &["role_edges", "default_roles", "global_grants", "db"],
        };
        for table in tables {
            if let Some(rows) = self
                .optional(&format!("SELECT * FROM mysql.{table}"))
                .await?
            {
                privileges.add(table, &rows);
            }
        }
        Ok(AccountsRead {
            mariadb: self.mariadb,
            skip_name_resolve: facts.skip_name_resolve,
            require_secure_transport: self.requires_encryption().await?,
            accounts: rows::accounts(&rows, columns, &facts, privileges),
            ..AccountsRead::default()
        })
    }

    /// MariaDB before 10.5 and MySQL before 5.7 have no such setting.
    async fn requires_encryption(&mut self) -> Result<bool, ClientError> {
        let sql = "SELECT @@global.require_secure_transport";
        let rows = self.optional_if(sql, &[UNKNOWN_VARIABLE]).await?;
        let on = |value: &str| !matches!(value, "0" | "OFF");
        Ok(rows.is_some_and(|rows| rows.at(0, 0).is_some_and(on)))
    }

    async fn facts(&mut self) -> Result<Facts, ClientError> {
        let sql = "SELECT @@global.skip_name_resolve, UNIX_TIMESTAMP(), @@global.default_password_lifetime";
        let without = "SELECT @@global.skip_name_resolve, UNIX_TIMESTAMP()";
        let rows = match self.client.query(sql).await {
            // MariaDB before 10.4.3 has no lifetime
            Err(ClientError::Server(_)) => self.client.query(without).await?,
            other => other?,
        };
        let number = |column| rows.at(0, column).and_then(|text| text.parse().ok());
        Ok(Facts {
            mariadb: self.mariadb,
            skip_name_resolve: rows.at(0, 0).is_some_and(|v| !matches!(v, "0" | "OFF")),
            now: number(1).unwrap_or(0),
            lifetime: number(2).unwrap_or(0),
        })
    }

    async fn accounts(&mut self) -> Result<(Rows, AuthColumns), ClientError> {
        if !self.mariadb {
            let rows = self.client.query_up_to(MYSQL, ROW_LIMIT).await?;
            return Ok((rows, AuthColumns::MySql));
        }
        if let Some(rows) = self.optional_if(MARIADB, &[1146]).await? {
            return Ok((rows, AuthColumns::Json));
        }
        let rows = self.client.query_up_to(OLD_MARIADB, ROW_LIMIT).await?;
        Ok((rows, AuthColumns::OldMariaDb))
    }

    async fn optional(&mut self, sql: &str) -> Result<Option<Rows>, ClientError> {
        self.optional_if(sql, &CANNOT).await
    }

    async fn optional_if(&mut self, sql: &str, codes: &[u16]) -> Result<Option<Rows>, ClientError> {
        match self.client.query_up_to(sql, ROW_LIMIT).await {
            Err(ClientError::Server(e)) if codes.contains(&e.code) => Ok(None),
            other => other.map(Some),
        }
    }
}
