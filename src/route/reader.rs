//! Which of the readable servers takes a read.

use super::{is_up, Context};
use crate::topology::{Group, Server, ServerId};

/// Two servers are drawn by weight, and the one with less to do for its weight is taken: shares
/// converge to the weights while all are equally fast, and a slow server gets less.
pub(super) fn choose(
    group: &Group,
    context: &Context,
    load: &dyn Fn(ServerId) -> u32,
) -> Option<usize> {
    let avoid = context.avoid;
    let total = readers(group, avoid)
        .map(|(_, server)| u64::from(server.weight))
        .sum::<u64>();
    if total == 0 {
        return None;
    }
    let seed = mix(context.seed);
    let (first, first_server) = draw(group, avoid, total, seed & 0xffff_ffff)?;
    let (second, second_server) = draw(group, avoid, total, seed >> 32)?;
    let first_work = work(first_server, second_server, load);
    let second_work = work(second_server, first_server, load);
    Some(if second_work < first_work {
        second
    } else {
        first
    })
}

/// Servers that may be given a read now, with their place in the group.
fn readers(group: &Group, avoid: Option<ServerId>) -> impl Iterator<Item = (usize, &Server)> {
    let primary = group.primary;
    let servers = group.servers.iter().enumerate();
    servers
        .map(|(index, server)| (index, server.as_ref()))
        .filter(move |(index, server)| {
            is_up(server)
                && avoid != Some(server.id)
                && (server.health.readable || primary == Some(*index))
        })
}

/// The reader at this place in the sum of weights, `at` of 2^32 along.
fn draw(group: &Group, avoid: Option<ServerId>, total: u64, at: u64) -> Option<(usize, &Server)> {
    let mut place = ((u128::from(at) * u128::from(total)) >> 32) as u64;
    readers(group, avoid).find(|(_, server)| {
        let weight = u64::from(server.weight);
        let is_here = place < weight;
        place = place.saturating_sub(weight);
        is_here
    })
}

/// Load per weight, as a cross product with the other's weight so that nothing is rounded.
fn work(server: &Server, other: &Server, load: &dyn Fn(ServerId) -> u32) -> u64 {
    u64::from(load(server.id)) * u64::from(other.weight)
}

/// Spreads a seed that may be a mere counter over all 64 bits (the finaliser of SplitMix64).
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
