//! What a command answers, and its bytes.

use crate::wire::{reply, resultset, status};

/// The answer to one statement.
#[derive(Debug)]
pub enum Answer {
    /// OK, with a line for the client to show.
    Done(String),
    Rows(Table),
    Refused(reply::Err),
}

/// A result set of text.
#[derive(Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<String>>>,
}

impl Table {
    pub fn new(columns: &[&str]) -> Table {
        Table {
            columns: columns.iter().map(|c| c.to_string()).collect(),
            rows: Vec::new(),
        }
    }

    /// One value a column.
    pub fn push<const N: usize>(&mut self, row: [String; N]) {
        debug_assert_eq!(N, self.columns.len());
        self.rows.push(row.into_iter().map(Some).collect());
    }
}

impl Answer {
    pub fn ok() -> Answer {
        Answer::Done(String::new())
    }

    /// The framed bytes, from sequence number 1 on.
    pub fn encode(self, capabilities: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Answer::Done(info) => {
                let ok = reply::Ok {
                    status: status::AUTOCOMMIT,
                    info: info.into_bytes(),
                    ..reply::Ok::default()
                };
                crate::wire::packet::frame(&ok.encode(capabilities), 1, &mut bytes);
            }
            Answer::Rows(table) => {
                let columns: Vec<&str> = table.columns.iter().map(String::as_str).collect();
                let flags = status::AUTOCOMMIT;
                resultset::encode(&columns, &table.rows, flags, capabilities, 1, &mut bytes);
            }
            Answer::Refused(error) => {
                crate::wire::packet::frame(&error.encode(), 1, &mut bytes);
            }
        }
        bytes
    }
}

/// `yes` or `no`, as all admin tables say it.
pub fn yes_no(on: bool) -> String {
    if on { "yes" } else { "no" }.into()
}
