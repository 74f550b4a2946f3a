//! The scripted work through Rust's drivers: rust-work mysql_async | sqlx
mod native;
mod sqlx_work;

use std::fmt::Debug;
use std::io::{BufRead, Write};

pub fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

pub fn port() -> u16 {
    env("DB_PORT").parse().expect("a port")
}

/// One line of what is compared. Large values by their length and a checksum.
pub fn out(label: &str, value: impl Debug) {
    let label = short(label);
    println!("{label} {}", short(&format!("{value:?}")));
}

fn short(text: &str) -> String {
    if text.len() <= 2_000 {
        return text.to_owned();
    }
    let sum = text.bytes().fold(0u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    format!("[{} bytes, {sum:x}]", text.len())
}

/// Waits until the servers that may be read have everything.
pub fn sync() {
    println!("##sync");
    std::io::stdout().flush().expect("a reader");
    let mut line = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut line)
        .expect("an answer");
}

pub enum Line {
    Sync,
    Sql(String),
}

/// The statements that every driver runs.
pub fn work() -> Vec<Line> {
    let text = std::fs::read_to_string(env("WORK")).expect("the file of statements");
    let lines = text
        .lines()
        .filter(|line| *line == "##sync" || !(line.is_empty() || line.starts_with('#')));
    lines
        .map(|line| match line {
            "##sync" => Line::Sync,
            sql => Line::Sql(sql.to_owned()),
        })
        .collect()
}

#[tokio::main]
async fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("mysql_async") => native::run().await,
        Some("sqlx") => sqlx_work::run().await,
        other => panic!("mysql_async or sqlx, not {other:?}"),
    }
    println!("##end");
}
