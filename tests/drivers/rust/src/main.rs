//! The scripted work through Rust's drivers: driver-work sqlx|mysql_async
mod mysql_async_work;
mod sqlx_work;

use std::io::{BufRead, Write};

pub type Error = Box<dyn std::error::Error + Send + Sync>;

pub fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

pub fn out(text: impl AsRef<str>) {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{}", text.as_ref()).expect("the reader is there");
    stdout.flush().expect("the reader is there");
}

/// Waits until replicas may be read.
pub fn sync() {
    out("##sync");
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("an answer");
}

/// The statements of all drivers; None: a sync.
pub fn statements() -> Vec<Option<String>> {
    let text = std::fs::read_to_string(env("WORK")).expect("the work");
    text.lines()
        .filter(|line| *line == "##sync" || !(line.is_empty() || line.starts_with('#')))
        .map(|line| (line != "##sync").then(|| line.to_string()))
        .collect()
}

/// Long values by their length and a sum.
pub fn bytes(value: &[u8]) -> String {
    if value.len() > 500 {
        let sum = value.iter().fold(0u64, |sum, b| sum.wrapping_mul(31).wrapping_add(u64::from(*b)));
        return format!("[{}]{sum:x}", value.len());
    }
    match std::str::from_utf8(value) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("{value:x?}"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    match std::env::args().nth(1).as_deref() {
        Some("sqlx") => sqlx_work::run().await?,
        _ => mysql_async_work::run().await?,
    }
    out("##end");
    Ok(())
}
