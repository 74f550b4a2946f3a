//! SHOW TLS: Umpire's own certificates and when they end.

use crate::admin::sql::answer::{Answer, Table};
use crate::config;
use crate::control::Handle;

pub fn run(handle: &Handle) -> Answer {
    let view = handle.view();
    let mut table = Table::new(&["certificate", "file", "expires", "days_left", "warning"]);
    for (what, own) in config::certificates(&view.config) {
        table.push([
            what,
            own.file.clone(),
            own.date(),
            own.days_left()
                .map(|days| days.to_string())
                .unwrap_or_default(),
            own.warning().unwrap_or_default(),
        ]);
    }
    Answer::Rows(table)
}
