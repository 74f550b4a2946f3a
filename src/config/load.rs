//! File and text → [`Config`].
use super::secret::{self, Reader, SecretFile};
use super::walk::{Findings, Section};
use super::{
    audit, coordination, group, library, limits, policy, proxy, sharding, user, Config,
    ConfigError, Problem, Watching,
};
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use toml::de::DeTable;

/// A configuration with everything that was found in it.
pub struct Examined {
    pub result: Result<Config, ConfigError>,
    /// What works but should be changed, such as a secret that everyone can read.
    pub warnings: Vec<Problem>,
    /// Where a password stands in the text itself.
    pub plain_secret: Option<Problem>,
    /// Every key the parser knows, without positions: `group.servers.weight`. Complete only when
    /// each kind of section occurs.
    pub keys: BTreeSet<String>,
}

/// Reads and validates a file; warnings go to the log.
///
/// # Errors
/// Every error of the file, or the one that kept it from being read.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    let examined = read(path);
    for warning in &examined.warnings {
        tracing::warn!("{warning}");
    }
    examined.result
}

/// Reads and validates a file. Paths in it that are not absolute start at its folder.
pub fn read(path: &Path) -> Examined {
    let name = path.display().to_string();
    let (text, world_readable) = match read_text(path) {
        Ok(read) => read,
        Err(message) => return unreadable(&name, message),
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut examined = examine(&text, &name, &|file| {
        secret::read_secret_file(&folder.join(file))
    });
    let mut unread = Vec::new();
    if let Ok(config) = &mut examined.result {
        unread = super::allow_list::load(&mut config.policies, folder);
        let mut watching = Watching::clone(&config.watching);
        watching.start_paths_at(folder);
        config.watching = Arc::new(watching);
        config.store = config.store.take().map(|store| folder.join(store));
        let saved = config.library_save_file.take();
        config.library_save_file = saved.map(|file| folder.join(file));
    }
    if !unread.is_empty() {
        return unreadable(&name, unread.join("; "));
    }
    if let Some(found) = examined.plain_secret.take_if(|_| world_readable) {
        examined.warnings.push(found);
    }
    examined
}

/// Validates a text. `file_name` is for the messages; `secrets` opens the files named by
/// `password_file` and `[tls]`.
///
/// # Errors
/// Every error of the text.
pub fn parse(
    text: &str,
    file_name: &str,
    secrets: &dyn Fn(&Path) -> io::Result<SecretFile>,
) -> Result<Config, ConfigError> {
    examine(text, file_name, secrets).result
}

/// As [`parse`], with the warnings.
pub fn examine(
    text: &str,
    file_name: &str,
    secrets: &dyn Fn(&Path) -> io::Result<SecretFile>,
) -> Examined {
    let findings = Findings::new(file_name, text);
    let (document, syntax) = DeTable::parse_recoverable(text);
    for error in &syntax {
        findings.error(
            error.span().map_or(0, |span| span.start),
            "",
            format!("not valid TOML: {}", error.message()),
        );
    }
    // what a broken text seems to say is no ground for further errors
    let config = if syntax.is_empty() {
        document_of(document.get_ref(), &findings, secrets)
    } else {
        None
    };
    let message = "the password stands in a file that every user of this machine can read; \
                   chmod 600 it or use password_file";
    let plain_secret = findings
        .plain_secret
        .get()
        .map(|at| findings.problem(at, "", message.into()));
    let (problems, warnings, keys) = findings.into_parts();
    let result = match config {
        Some(config) if problems.is_empty() => Ok(config),
        _ => Err(ConfigError { problems }),
    };
    Examined {
        result,
        warnings,
        plain_secret,
        keys,
    }
}

fn document_of(
    table: &DeTable<'_>,
    findings: &Findings<'_>,
    secrets: Reader<'_>,
) -> Option<Config> {
    let mut top = Section::top(table, findings);
    let proxy = proxy::read(&mut top, findings, secrets);
    let listen = proxy.as_ref().map_or(&[][..], |proxy| &proxy.listen);
    let mut groups = group::read(&mut top, listen, findings, secrets);
    let tls_offered = top.has("tls");
    let users = user::read(&mut top, &groups, tls_offered, findings, secrets);
    let limits = limits::read(&mut top);
    let policies = policy::read(&mut top, &users, findings);
    let (store, library_save_file) = coordination::read(&mut top, findings);
    let libraries = library::read(&mut top, &mut groups, store.is_some(), findings);
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    let (databases, tables) = sharding::read(&mut top, &names, store.is_some(), findings);
    let watching = Watching {
        audit: audit::audit(&mut top, findings),
        statistics: audit::statistics(&mut top),
    };
    top.finish();
    Some(Config {
        proxy: proxy?,
        groups,
        users,
        limits,
        policies,
        databases,
        tables,
        libraries,
        store,
        library_save_file,
        watching: Arc::new(watching),
    })
}

/// The text and whether everyone may read the file; the error is a message for people.
#[allow(
    clippy::disallowed_methods,
    reason = "the configuration is read at start-up and on the control thread"
)]
fn read_text(path: &Path) -> Result<(String, bool), String> {
    let cannot = |e: io::Error| format!("cannot be read: {e}");
    let mut file = std::fs::File::open(path).map_err(cannot)?;
    let world_readable = secret::is_world_readable(&file).map_err(cannot)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(cannot)?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|b| **b == b'\n').count() + 1;
        format!("line {line} is not UTF-8 text")
    })?;
    Ok((text, world_readable))
}

fn unreadable(file: &str, message: String) -> Examined {
    let problem = Problem {
        file: file.to_owned(),
        line: 0,
        column: 0,
        key: String::new(),
        message,
    };
    Examined {
        result: Err(ConfigError {
            problems: vec![problem],
        }),
        warnings: Vec::new(),
        plain_secret: None,
        keys: BTreeSet::new(),
    }
}
