//! Statements that are not parsed: those that name only whole tables pass through to their group.
use super::bind::{shown, Place};
use super::catalogue;
use super::ddl;
use super::explained;
use super::mention;
use super::parse::Unread;
use super::remedy;
use super::request::{Planned, Request};
use super::show;
use super::types::Refusal;

/// Longer statements are not parsed, bytes: a worker's other sessions would wait for it.
pub(super) const LONGEST: usize = 4 << 20;

/// Statements that are not parsed: those that name only whole tables pass through.
pub(super) fn other(request: &Request<'_>, verb: &str) -> Result<Planned, Refusal> {
    if let Some(planned) = catalogue::listed(request)? {
        return Ok(planned);
    }
    if let Some(plan) = show::plan(request)? {
        return Ok(Planned::Plan(plan));
    }
    if matches!(verb, "EXPLAIN" | "DESCRIBE" | "DESC" | "ANALYZE") {
        if let Some(planned) = explained::plan(request)? {
            return Ok(planned);
        }
    }
    let places = mention::places(request)?;
    if let Some(shown) = ruled(request, &places) {
        if let Some(planned) = ddl::plan(request)? {
            return Ok(planned);
        }
        return Err(remedy::refusal(request, verb, &shown));
    }
    if matches!(verb, "PREPARE" | "EXECUTE") {
        let message = format!(
            "{verb} of a text that may name a sharded table: use the protocol's prepared statements instead (your \
             connector's prepare call)"
        );
        return Err(Refusal::new(message));
    }
    if !matches!(verb, "SHOW" | "DESCRIBE" | "DESC" | "EXPLAIN") {
        catalogue::check_unread(request, verb)?;
    }
    if verb == "USE" {
        let name = mention::last_name(request);
        let group = name.and_then(|name| request.map.database(&name));
        return Ok(Planned::Whole {
            group: group.unwrap_or(request.home),
        });
    }
    Ok(Planned::Whole {
        group: one_group(request, &places)?,
    })
}

/// What the parser does not understand may still pass through to one server, if no sharded table can be in it.
pub(super) fn statement(request: &Request<'_>, unread: Unread) -> Result<Planned, Refusal> {
    let shown = match unread_whole(request)? {
        Ok(planned) => return Ok(planned),
        Err(shown) => shown,
    };
    let near = request.sql.get(unread.at..).unwrap_or_default();
    let near: String = String::from_utf8_lossy(near).chars().take(40).collect();
    Err(Refusal {
        code: 1235,
        state: *b"42000",
        message: format!(
            "{shown}; this statement is not understood: expected {} near '{near}'; write it in another way",
            unread.expected
        ),
    })
}

pub(super) fn too_long(request: &Request<'_>) -> Result<Planned, Refusal> {
    let shown = match unread_whole(request)? {
        Ok(planned) => return Ok(planned),
        Err(shown) => shown,
    };
    let limit = LONGEST >> 20;
    Err(Refusal::new(format!(
        "{shown}; a statement of more than {limit} MiB cannot use it: split it, or send large values as parameters of a \
         prepared statement"
    )))
}

/// The one group of a statement that is not parsed; or the sharded or broadcast table in it.
fn unread_whole(request: &Request<'_>) -> Result<Result<Planned, String>, Refusal> {
    let places = mention::places(request)?;
    if let Some(shown) = ruled(request, &places) {
        return Ok(Err(shown));
    }
    catalogue::check_unread(request, &mention::verb(request))?;
    Ok(Ok(Planned::Whole {
        group: one_group(request, &places)?,
    }))
}

/// A sharded or broadcast table among these.
fn ruled(request: &Request<'_>, places: &[Place]) -> Option<String> {
    places.iter().find_map(|place| match place {
        Place::Group(_) => None,
        Place::Broadcast(at) | Place::Sharded(at) => request.map.table(*at).map(shown),
    })
}

/// The one group of whole tables; names that are not known to be tables do not count.
fn one_group(request: &Request<'_>, places: &[Place]) -> Result<usize, Refusal> {
    let default = request
        .schema
        .and_then(|schema| request.map.database(schema));
    let mut groups = places.iter().filter_map(|place| match place {
        Place::Group(group) => Some(*group),
        _ => None,
    });
    let Some(first) = groups.next() else {
        return Ok(default.unwrap_or(request.home));
    };
    if groups.all(|group| group == first) {
        return Ok(first);
    }
    Err(several_groups())
}

pub(super) fn several_groups() -> Refusal {
    Refusal::new(
        "the statement names tables that are on several groups: only SELECT can put them together; split it into one \
         statement a group",
    )
}
