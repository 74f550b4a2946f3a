//! A decision for people: the rows of EXPLAIN ROUTE.

use super::{Decision, Route};
use crate::sniff::{Effects, Sniffed};
use crate::topology::Group;

/// Rows (what, value): verb, access, effects, hint, route and reason. Allocates; for the admin
/// command, not for the turn's path.
pub fn explain(
    sniffed: &Sniffed,
    decision: &Decision,
    group: &Group,
) -> Vec<(&'static str, String)> {
    vec![
        ("verb", format!("{:?}", sniffed.verb).to_uppercase()),
        ("access", format!("{:?}", sniffed.access).to_lowercase()),
        ("effects", effects(sniffed.effects)),
        (
            "hint",
            sniffed
                .hint
                .map_or("none".into(), |hint| format!("{hint:?}").to_lowercase()),
        ),
        ("route", route(decision.route, group)),
        ("reason", decision.reason.words().into()),
    ]
}

/// "BEGIN_READ_ONLY" becomes "begin read only".
fn effects(effects: Effects) -> String {
    let names: Vec<_> = effects
        .iter_names()
        .map(|(name, _)| name.to_lowercase().replace('_', " "))
        .collect();
    if names.is_empty() {
        "none".into()
    } else {
        names.join(", ")
    }
}

fn route(route: Route, group: &Group) -> String {
    match route {
        Route::Held => "held connection".into(),
        Route::NoPrimary => "no primary known".into(),
        Route::Primary(index) => format!("primary {}", address(group, index)),
        Route::Replica(index) if group.primary == Some(index) => {
            format!("primary {}", address(group, index))
        }
        Route::Replica(index) => format!("replica {}", address(group, index)),
    }
}

fn address(group: &Group, index: usize) -> String {
    group
        .servers
        .get(index)
        .map_or("?".into(), |server| server.address.to_string())
}
