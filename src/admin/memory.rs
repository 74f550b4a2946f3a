//! The process's memory, added up.

use super::workers::{ask, silent};
use crate::net::{self, Allocator};
use crate::observe::memory::{
    resident, ConnectionMemory, HeldBytes, Resident, UserMemory, WorkerMemory,
};
use crate::worker::mailbox::{Mailbox, Message};
use std::collections::BTreeMap;

pub struct Gathered {
    /// What the system says.
    pub resident: Resident,
    pub heap: u64,
    /// What the C library's allocator has handed out, with what each block costs.
    pub allocator: Allocator,
    pub workers: Vec<WorkerMemory>,
    /// Workers that gave no answer.
    pub silent: Vec<usize>,
}

/// Takes at most the workers' deadline.
pub async fn gather(mailboxes: &[Mailbox]) -> Gathered {
    let answers = ask(mailboxes, Message::Memory).await;
    let silent = silent(&answers);
    // what this page itself needs comes after the figures
    let allocator = net::allocator();
    let heap = net::memory::heap_of_process() as u64;
    #[allow(
        clippy::disallowed_methods,
        reason = "procfs, on the control thread: no disk is waited for"
    )]
    let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    Gathered {
        resident: resident(&smaps),
        heap,
        allocator,
        workers: answers.into_iter().flatten().collect(),
        silent,
    }
}

impl Gathered {
    /// Where the process's memory is, in lines that add up.
    pub fn process(&self) -> Vec<(&'static str, u64)> {
        let buffers = self.sum(|w| w.buffers);
        let in_arenas = self.allocator.in_arenas as u64;
        let allocated = in_arenas + self.allocator.mapped as u64;
        // what of the allocator's arenas is resident, and not handed out
        let free = self.resident.arenas.saturating_sub(in_arenas);
        vec![
            ("program and libraries", self.resident.program),
            ("rings", self.resident.rings),
            ("stacks", self.resident.stacks),
            ("receive buffers", buffers),
            ("heap", self.heap),
            ("allocator, its own", allocated.saturating_sub(self.heap)),
            ("allocator, free", free),
        ]
    }

    /// What of the heap is known by name. The rest is pools of server connections, states, tables and timers.
    pub fn heap(&self) -> Vec<(&'static str, u64)> {
        let mut held = HeldBytes::default();
        self.workers.iter().for_each(|w| held += w.held);
        let in_buffers = self.sum(|w| w.buffers);
        let mut kinds = vec![
            ("sockets", self.sum(|w| w.sockets)),
            ("sessions", self.sum(|w| w.sessions)),
            // what of it lies in receive buffers is no heap
            (
                "queues",
                (held.received + held.queued).saturating_sub(in_buffers),
            ),
            ("parts of commands", held.parts),
            ("prepared statements", held.statements),
            ("rows of several shards", held.rows),
            ("digests", self.sum(|w| w.digests)),
            ("audit queues", self.sum(|w| w.journal)),
            ("latencies", self.sum(|w| w.latency)),
        ];
        let known = kinds.iter().map(|(_, bytes)| bytes).sum();
        kinds.push(("other", self.heap.saturating_sub(known)));
        kinds
    }

    /// Over all workers, the one that holds the most first.
    pub fn users(&self) -> Vec<UserMemory> {
        let mut sums: BTreeMap<&str, UserMemory> = BTreeMap::new();
        for user in self.workers.iter().flat_map(|w| &w.users) {
            let sum = sums.entry(&user.user).or_default();
            sum.user.clone_from(&user.user);
            sum.sessions += user.sessions;
            sum.held += user.held;
        }
        let mut users: Vec<UserMemory> = sums.into_values().collect();
        users.sort_by_key(|u| std::cmp::Reverse(u.held.sum()));
        users
    }

    /// Those that hold the most, the heaviest first.
    pub fn connections(&self, most: usize) -> Vec<&ConnectionMemory> {
        let mut all: Vec<&ConnectionMemory> =
            self.workers.iter().flat_map(|w| &w.connections).collect();
        all.sort_by_key(|c| std::cmp::Reverse(c.sum()));
        all.truncate(most);
        all
    }

    fn sum(&self, of: impl Fn(&WorkerMemory) -> u64) -> u64 {
        self.workers.iter().map(of).sum()
    }
}
