//! `umpire import`: the configuration of another proxy as ours.
//!
//! What places rows exactly as there is translated. What does not is named with file and line, and left out: statements on
//! such a table are denied by a policy, since its rows would be looked for in the wrong place.
//!
//! | file | job |
//! |---|---|
//! | `model.rs` | what is imported, and its text |
//! | `spans.rs` | ranges of keys and of days |
//! | `kingshard.rs`, `yaml.rs` | kingshard's file |
//! | `mycat.rs`, `mycat/` | MyCat's files |
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a command of its own, without workers"
)]
mod kingshard;
mod model;
mod mycat;
mod spans;
#[cfg(test)]
mod tests;
mod yaml;

pub use kingshard::kingshard;
pub use mycat::mycat;

use crate::config::{self, SecretFile};
use model::Model;
use std::fmt;
use std::io;
use std::path::Path;

/// A configuration, and what an operator has to know about it.
#[derive(Debug)]
pub struct Imported {
    /// Accepted by `umpire check`.
    pub text: String,
    pub findings: Vec<Finding>,
}

impl Imported {
    /// Something is not there, or not as it was.
    pub fn lacks_something(&self) -> bool {
        self.findings.iter().any(|f| f.weight == Weight::LeftOut)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Translated, and the same as long as this holds.
    Condition,
    /// Not translated.
    LeftOut,
}

/// One remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub file: String,
    pub line: u32,
    pub weight: Weight,
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weight = match self.weight {
            Weight::Condition => "condition",
            Weight::LeftOut => "left out",
        };
        let Finding {
            file,
            line,
            message,
            ..
        } = self;
        write!(f, "{file}:{line}: {weight}: {message}")
    }
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct At {
    file: String,
    line: u32,
}

/// Collects remarks. Per import.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn condition(&mut self, at: &At, message: impl Into<String>) {
        self.add(at, Weight::Condition, message.into());
    }

    fn left_out(&mut self, at: &At, message: impl Into<String>) {
        self.add(at, Weight::LeftOut, message.into());
    }

    fn add(&mut self, at: &At, weight: Weight, message: String) {
        let finding = Finding {
            file: at.file.clone(),
            line: at.line,
            weight,
            message,
        };
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }
}

/// # Errors
/// The result would be no configuration; in words.
fn finish(model: &Model, findings: Findings) -> Result<Imported, String> {
    let text = model.text();
    let no_files = |_: &Path| -> io::Result<SecretFile> { Err(io::ErrorKind::NotFound.into()) };
    if let Err(errors) = config::parse(&text, "the result", &no_files) {
        let mut message = String::new();
        for finding in &findings.0 {
            message += &format!("{finding}\n");
        }
        return Err(format!(
            "{message}nothing is printed, since it would be no configuration:\n{errors}"
        ));
    }
    Ok(Imported {
        text,
        findings: findings.0,
    })
}

/// The text of a file; the error names it.
fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|cause| format!("{}: {cause}", file.display()))
}
