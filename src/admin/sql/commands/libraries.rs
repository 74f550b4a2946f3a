//! SHOW LIBRARIES, SHOW LIBRARY OBJECTS [LIKE 'pattern'], RAISE LIBRARY name BY number.
use super::unknown;
use crate::admin::sql::answer::{Answer, Table};
use crate::admin::sql::statement;
use crate::control::Handle;
use crate::coordination::{Candidate, LibraryAsk, LibraryCount, Reply};
use crate::wire::error;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The store's disk.
const STORE: Duration = Duration::from_secs(10);
/// Rows of SHOW LIBRARY OBJECTS.
const MOST: usize = 1000;
/// What one RAISE may add.
const MOST_WEIGHT: u64 = 1_000_000_000;

pub async fn show(handle: &Handle) -> Answer {
    let view = handle.view();
    let candidates: Vec<Candidate> = view
        .snapshot
        .libraries
        .iter()
        .map(|library| Candidate {
            name: library.name.clone(),
            weight: library.weight,
        })
        .collect();
    let report = match ask(handle, |reply| LibraryAsk::Report(candidates, reply)).await {
        Ok(report) => report,
        Err(why) => return Answer::Refused(error::own(&why)),
    };
    let columns = [
        "library",
        "group",
        "objects",
        "weight",
        "configured",
        "raised",
        "server",
    ];
    let mut table = Table::new(&columns);
    for (name, LibraryCount { objects, raised }, weight) in report {
        let library = view.snapshot.libraries.iter().find(|l| l.name == name);
        let group = library.map(|l| l.group.as_str());
        let of = view.snapshot.groups.iter().find(|g| group == Some(&g.name));
        let server = of.and_then(|g| g.servers.get(g.primary?));
        table.push([
            name,
            group.unwrap_or("none: no longer configured").to_owned(),
            objects.to_string(),
            weight.map_or_else(String::new, |w| w.to_string()),
            library.map_or_else(String::new, |l| l.weight.to_string()),
            raised.to_string(),
            server.map_or_else(String::new, |s| s.address.to_string()),
        ]);
    }
    Answer::Rows(table)
}

pub async fn objects(handle: &Handle, rest: &str) -> Answer {
    let Ok(pattern) = statement::like(rest) else {
        return Answer::Refused(unknown(rest));
    };
    let wanted: Box<dyn Fn(&str) -> bool + Send> = match pattern {
        Some(pattern) => Box::new(move |object| statement::matches(&pattern, object)),
        None => Box::new(|_| true),
    };
    let asked = ask(handle, |reply| LibraryAsk::Objects {
        limit: MOST,
        wanted,
        reply,
    });
    match asked.await {
        Ok(found) => {
            let mut table = Table::new(&["object", "library"]);
            for (object, library) in found {
                table.push([object, library]);
            }
            Answer::Rows(table)
        }
        Err(why) => Answer::Refused(error::own(&why)),
    }
}

pub async fn raise(handle: &Handle, rest: &str) -> Answer {
    let Some((name, by)) = statement::string(rest) else {
        return Answer::Refused(unknown(rest));
    };
    let by = statement::after(by.trim_start(), "by").map(|by| by.trim().parse::<u64>());
    let Some(Ok(by)) = by else {
        return Answer::Refused(unknown(rest));
    };
    if !(1..=MOST_WEIGHT).contains(&by) {
        let what = format!("a weight is raised by 1 to {MOST_WEIGHT}");
        return Answer::Refused(error::own(&what));
    }
    let known = |library: &crate::config::Library| library.name == name;
    if !handle.view().snapshot.libraries.iter().any(known) {
        return Answer::Refused(error::own(&format!("there is no library '{name}'")));
    }
    let library = name.clone();
    let asked = ask(handle, |reply| LibraryAsk::Raise { library, by, reply });
    match asked.await {
        Ok(()) => Answer::Done(format!("library {name} weighs {by} more")),
        Err(why) => Answer::Refused(error::own(&why)),
    }
}

async fn ask<T: Send + 'static>(
    handle: &Handle,
    question: impl FnOnce(Reply<T>) -> LibraryAsk,
) -> Result<T, String> {
    let Some(clerk) = handle.clerk() else {
        return Err(
            "there are no libraries without a section [coordination] in the configuration".into(),
        );
    };
    let (sender, answered) = oneshot::channel();
    let reply = Box::new(move |answer| drop(sender.send(answer)));
    clerk.libraries().ask(question(reply));
    match timeout(STORE, answered).await {
        Ok(Ok(answer)) => answer,
        _ => Err("the store does not answer: its disk may hang".into()),
    }
}
