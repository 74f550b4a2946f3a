//! The sections `[[user]]`.
use super::group::known_group;
use super::secret::{self, Reader};
use super::walk::{Findings, Section};
use super::{addresses, limits, tls};
use super::{Accounts, Addresses, AuthPlugin, Group, Limits, Secret, ServerAccount, User, UserTls};
use std::collections::HashMap;

/// Longest user name in characters: MariaDB's limit (MySQL's is 32).
const MAX_NAME: usize = 128;

/// Reads all users; `groups` are the names they may point to.
pub(super) fn read(
    top: &mut Section<'_, '_>,
    groups: &[Group],
    tls_offered: bool,
    findings: &Findings<'_>,
    secrets: Reader<'_>,
) -> Vec<User> {
    let sections = top.tables("user");
    let by_server = |group: &Group| group.accounts == Accounts::Server;
    if sections.is_empty() && !top.has("user") && !groups.iter().any(by_server) {
        findings.error(
            0,
            "user",
            "missing: at least one [[user]], or nobody can log in (or accounts = \"server\" in a \
             [[group]], and the servers' own accounts work)",
        );
    }
    let mut seen = HashMap::new();
    sections
        .into_iter()
        .map(|section| user(section, &mut seen, groups, tls_offered, findings, secrets))
        .collect()
}

fn user(
    mut section: Section<'_, '_>,
    seen: &mut HashMap<String, usize>,
    groups: &[Group],
    tls_offered: bool,
    findings: &Findings<'_>,
    secrets: Reader<'_>,
) -> User {
    let name = name(&mut section, seen, findings);
    let group = group(&mut section, groups, findings);
    let by_server = groups
        .iter()
        .any(|g| g.name == group && g.accounts == Accounts::Server);
    let mut user = User {
        name,
        // an error is reported; the value is never used
        secret: secret::user(&mut section, by_server, findings, secrets)
            .unwrap_or(Secret::Plain(String::new())),
        group,
        addresses: addresses::read(&mut section, findings),
        max_connections: None,
        qps: None,
        limits: Limits::default(),
        tls: tls::user_mode(&mut section, tls_offered, findings),
        auth_plugin: None,
        server_account: None,
    };
    user.auth_plugin = auth_plugin(&mut section, &user.secret, tls_offered, findings);
    user.server_account = server_account(&mut section, &user.name, findings, secrets);
    let hash = section.has("password_hash") && matches!(user.secret, Secret::Ed25519(_));
    if hash && user.server_account.is_none() && !tls_offered {
        findings.error(
            section.at,
            &section.path_of("password_hash"),
            "of an ed25519 hash nothing is left to log in at the servers with: give server_password, or the \
             section [tls], so that Umpire can ask a client for the password itself",
        );
    }
    limits::of_user(&mut section, &mut user);
    section.finish();
    user
}

impl User {
    /// A user whom only the servers know, without limits of Umpire's own.
    pub fn of_server(name: &str, group: &str) -> User {
        User {
            name: name.to_owned(),
            secret: Secret::Server,
            group: group.to_owned(),
            addresses: Addresses::default(),
            max_connections: None,
            qps: None,
            limits: Limits::default(),
            tls: UserTls::Optional,
            auth_plugin: None,
            server_account: None,
        }
    }
}

/// `auth_plugin`: one that can prove the secret.
fn auth_plugin(
    section: &mut Section<'_, '_>,
    secret: &Secret,
    tls_offered: bool,
    findings: &Findings<'_>,
) -> Option<AuthPlugin> {
    let found = section.string("auth_plugin")?;
    let known = PLUGINS.iter().copied().find(|plugin| {
        plugin.word() == found.value
            // as the protocol and clients call it
            || *plugin == AuthPlugin::Ed25519 && found.value == "client_ed25519"
    });
    let Some(plugin) = known else {
        let words = PLUGINS.map(|plugin| format!("{:?}", plugin.word()));
        let message = format!("{:?} is not one of {}", found.value, words.join(", "));
        findings.error(found.at, &found.key, message);
        return None;
    };
    if plugin == AuthPlugin::Clear && !tls_offered {
        tls::needs_section(&found, findings);
    }
    let fits = match secret {
        Secret::Plain(_) => true,
        Secret::Native(_) => matches!(plugin, AuthPlugin::Native | AuthPlugin::Clear),
        Secret::CachingSha2 { .. } => {
            matches!(plugin, AuthPlugin::CachingSha2 | AuthPlugin::Clear)
        }
        Secret::Ed25519(_) => matches!(plugin, AuthPlugin::Ed25519 | AuthPlugin::Clear),
        Secret::Server => {
            let message = "is for users with a password of their own; the servers' accounts say by which plugin \
                           they log in";
            findings.error(found.at, &found.key, message);
            return None;
        }
    };
    if !fits {
        let message = format!("{:?} cannot prove this kind of password_hash", found.value);
        findings.error(found.at, &found.key, message);
    }
    fits.then_some(plugin)
}

const PLUGINS: [AuthPlugin; 4] = [
    AuthPlugin::Native,
    AuthPlugin::CachingSha2,
    AuthPlugin::Ed25519,
    AuthPlugin::Clear,
];

impl AuthPlugin {
    /// As in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            AuthPlugin::Native => "mysql_native_password",
            AuthPlugin::CachingSha2 => "caching_sha2_password",
            AuthPlugin::Ed25519 => "ed25519",
            AuthPlugin::Clear => "mysql_clear_password",
        }
    }
}

/// `server_user` and its password; the user's own name where only a password is given.
fn server_account(
    section: &mut Section<'_, '_>,
    name: &str,
    findings: &Findings<'_>,
    secrets: Reader<'_>,
) -> Option<ServerAccount> {
    let user = section.string("server_user");
    let password = secret::server(section, user.is_some(), findings, secrets)?;
    let user = match user {
        None => name,
        Some(found) => {
            if !is_name(found.value) {
                findings.error(found.at, &found.key, wrong_name());
            }
            found.value
        }
    };
    Some(ServerAccount {
        user: user.to_owned(),
        password,
    })
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().count() <= MAX_NAME && !name.contains('\0')
}

fn wrong_name() -> String {
    format!("a user's name has 1 to {MAX_NAME} characters and no NUL")
}

fn name(
    section: &mut Section<'_, '_>,
    seen: &mut HashMap<String, usize>,
    findings: &Findings<'_>,
) -> String {
    let Some(found) = section.required("name", "every user needs a name") else {
        return String::new();
    };
    let name = found.value;
    if !is_name(name) {
        findings.error(found.at, &found.key, wrong_name());
    } else if let Some(line) = seen.insert(name.to_owned(), findings.line(found.at)) {
        findings.error(
            found.at,
            &found.key,
            format!("there is a user {name:?} already, at line {line}"),
        );
    }
    name.to_owned()
}

fn group(section: &mut Section<'_, '_>, groups: &[Group], findings: &Findings<'_>) -> String {
    let Some(found) = section.required("group", "the name of the user's group") else {
        return String::new();
    };
    known_group(&found, groups, findings);
    found.value.to_owned()
}
