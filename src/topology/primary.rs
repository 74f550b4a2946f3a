//! Which server of a group is its primary. Pure.
//!
//! The one writable server is. Two writable servers are an alarm and change nothing: the primary
//! stays, and the other one is *disputed*: it missed the primary's writes, so it does not take over
//! when the primary goes, until it was seen read-only once (an operator has set it right).
//!
//! Where the order of the list decides ([`Primary::First`]), the first server that is alive and writable is the primary,
//! whatever the others are: who writes the list that way keeps them in step.
use super::{Server, ServerId};
use crate::config::{Primary, Role};

/// What a group's next decision needs of the earlier ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// The last primary, also while none is known.
    pub last: Option<ServerId>,
    /// Servers that were writable beside the primary and not seen read-only since.
    pub disputed: Vec<ServerId>,
}

/// The outcome of [`derive_primary`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Index in the group's servers.
    pub primary: Option<usize>,
    /// One line for people when an operator must act.
    pub alarm: Option<String>,
    pub memory: Memory,
}

/// Decides from the servers' roles and health and the earlier decisions.
pub fn derive_primary<'s>(
    election: Primary,
    memory: &Memory,
    servers: impl IntoIterator<Item = &'s Server>,
) -> Decision {
    let servers: Vec<&Server> = servers.into_iter().collect();
    let mut memory = settled(memory, &servers);
    let writable: Vec<usize> = (0..servers.len())
        .filter(|i| is_writable(servers[*i]))
        .collect();
    let (primary, alarm) = match writable[..] {
        [] => (alone(&servers), None),
        [first, ..] if election == Primary::First => (Some(first), None),
        [one] => sole(one, &servers, &memory),
        _ => several(&writable, &servers, &mut memory),
    };
    if let Some(index) = primary {
        let id = servers[index].id;
        memory.last = Some(id);
        memory.disputed.retain(|disputed| *disputed != id);
    }
    Decision {
        primary,
        alarm,
        memory,
    }
}

fn is_writable(server: &Server) -> bool {
    server.health.alive && server.health.writable
}

/// Forgets what no longer counts: servers gone from the group, disputed ones seen read-only.
fn settled(memory: &Memory, servers: &[&Server]) -> Memory {
    let find = |id: &ServerId| servers.iter().find(|server| server.id == *id);
    let seen_read_only = |s: &&Server| s.health.alive && !s.health.writable;
    let open = |id: &&ServerId| find(id).is_some_and(|s| !seen_read_only(s));
    Memory {
        last: memory.last.filter(|id| find(id).is_some()),
        disputed: memory.disputed.iter().filter(open).copied().collect(),
    }
}

/// The only server of a group is its primary although it is read-only: nobody else can take over, some accounts may write all
/// the same, and to the others the server itself says what is wrong (1290).
fn alone(servers: &[&Server]) -> Option<usize> {
    match servers {
        [only] if only.role == Role::Primary && only.health.alive => Some(0),
        _ => None,
    }
}

fn sole(index: usize, servers: &[&Server], memory: &Memory) -> (Option<usize>, Option<String>) {
    let server = servers[index];
    if memory.last == Some(server.id) || !memory.disputed.contains(&server.id) {
        return (Some(index), None);
    }
    let alarm = format!(
        "{} is the only writable server left, but it was writable beside the primary and may lack its writes; \
         it takes no writes until it was seen with read_only=1 once",
        server.address
    );
    (None, Some(alarm))
}

/// Keeps the primary, or at the first look believes the configured role; else nobody.
fn several(
    writable: &[usize],
    servers: &[&Server],
    memory: &mut Memory,
) -> (Option<usize>, Option<String>) {
    let last = writable
        .iter()
        .copied()
        .find(|i| memory.last == Some(servers[*i].id));
    let configured = || {
        let fits = |i: &usize| {
            servers[*i].role == Role::Primary && !memory.disputed.contains(&servers[*i].id)
        };
        writable.iter().copied().find(fits)
    };
    let primary = last.or_else(configured);
    if primary.is_some() {
        for other in writable
            .iter()
            .filter(|i| Some(**i) != primary)
            .map(|i| servers[*i].id)
        {
            if !memory.disputed.contains(&other) {
                memory.disputed.push(other);
            }
        }
    }
    let names: Vec<String> = writable
        .iter()
        .map(|i| servers[*i].address.to_string())
        .collect();
    let outcome = match primary {
        Some(index) => format!("{} stays the primary", servers[index].address),
        None => "none of them takes writes".into(),
    };
    let alarm = format!(
        "{} are writable; {outcome}; set read_only=1 on all but the primary",
        names.join(" and ")
    );
    (primary, Some(alarm))
}
