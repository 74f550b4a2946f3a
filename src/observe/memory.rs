//! Where the process's memory is, as SHOW MEMORY and `/metrics` tell it.

/// Bytes of one connection, or of several together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeldBytes {
    /// Received and not taken yet.
    pub received: u64,
    /// Queued and not sent yet.
    pub queued: u64,
    /// Parts of a command that is not whole.
    pub parts: u64,
    /// Prepared statements.
    pub statements: u64,
    /// Rows of statements on several shards.
    pub rows: u64,
}

impl HeldBytes {
    pub fn sum(&self) -> u64 {
        self.received + self.queued + self.parts + self.statements + self.rows
    }
}

impl std::ops::AddAssign for HeldBytes {
    fn add_assign(&mut self, other: HeldBytes) {
        self.received += other.received;
        self.queued += other.queued;
        self.parts += other.parts;
        self.statements += other.statements;
        self.rows += other.rows;
    }
}

/// What a session holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionMemory {
    pub id: u32,
    pub user: String,
    pub state: String,
    pub client: HeldBytes,
    /// Of the server connection that it uses.
    pub server: HeldBytes,
}

impl ConnectionMemory {
    pub fn sum(&self) -> u64 {
        self.client.sum() + self.server.sum()
    }
}

/// What a user's sessions hold on one worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserMemory {
    pub user: String,
    pub sessions: u64,
    pub held: HeldBytes,
}

/// One worker's answer. Bytes, but where it says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkerMemory {
    pub worker: usize,
    /// Allocated by its thread and in use; of it:
    pub heap: u64,
    pub sockets: u64,
    pub sessions: u64,
    pub digests: u64,
    pub journal: u64,
    pub latency: u64,
    /// Of all connections, those of the pools among them. What of it lies in receive buffers is no heap.
    pub held: HeldBytes,
    /// Receive buffers, resident; beside the heap.
    pub buffers: u64,
    /// Of the heap.
    pub high_water: u64,
    pub limit: u64,
    pub pressed: bool,
    /// Statements and connections that ended for it, a count.
    pub evictions: u64,
    pub users: Vec<UserMemory>,
    /// Those that hold the most, the heaviest first.
    pub connections: Vec<ConnectionMemory>,
}

/// What the system says of the process, bytes that are resident.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resident {
    pub all: u64,
    /// The program and its libraries.
    pub program: u64,
    /// Shared with the kernel: the rings.
    pub rings: u64,
    /// Of all threads.
    pub stacks: u64,
}

/// Reads `/proc/self/smaps`. A thread's stack is an anonymous mapping behind a guard page of its own.
pub fn resident(smaps: &str) -> Resident {
    const GUARD: u64 = 4096;
    let mut found = Resident::default();
    let (mut kind, mut guarded) = (Kind::Other, None);
    for line in smaps.lines() {
        if let Some(mapping) = Mapping::read(line) {
            let behind_guard = guarded == Some(mapping.start);
            let is_guard = mapping.end - mapping.start == GUARD && mapping.is_closed;
            guarded = is_guard.then_some(mapping.end);
            kind = match mapping.name {
                name if name.starts_with("anon_inode:[io_uring]") => Kind::Rings,
                name if name.starts_with('/') || name == "[vdso]" => Kind::Program,
                "[stack]" => Kind::Stack,
                "" if behind_guard => Kind::Stack,
                _ => Kind::Other,
            };
        } else if let Some(size) = line.strip_prefix("Rss:") {
            let kib = size.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            let bytes: u64 = 1024 * kib;
            found.all += bytes;
            match kind {
                Kind::Rings => found.rings += bytes,
                Kind::Program => found.program += bytes,
                Kind::Stack => found.stacks += bytes,
                Kind::Other => {}
            }
        }
    }
    found
}

enum Kind {
    Program,
    Rings,
    Stack,
    Other,
}

struct Mapping<'a> {
    start: u64,
    end: u64,
    is_closed: bool,
    name: &'a str,
}

impl<'a> Mapping<'a> {
    /// `start-end mode offset device inode name`
    fn read(line: &'a str) -> Option<Mapping<'a>> {
        let mut words = line.splitn(6, ' ');
        let (start, end) = words.next()?.split_once('-')?;
        let mode = words.next()?;
        Some(Mapping {
            start: u64::from_str_radix(start, 16).ok()?,
            end: u64::from_str_radix(end, 16).ok()?,
            is_closed: mode.starts_with("---"),
            name: words.nth(3).unwrap_or("").trim(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_list_of_mappings_is_read() {
        let smaps = "\
55d0c0000000-55d0c0100000 r-xp 00000000 08:01 12     /usr/bin/umpire
Size:               1024 kB
Rss:                 600 kB
55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]
Rss:                 100 kB
7f0000000000-7f0000001000 ---p 00000000 00:00 0 
Rss:                   0 kB
7f0000001000-7f0000201000 rw-p 00000000 00:00 0 
Rss:                  24 kB
7f0000300000-7f0000340000 rw-p 00000000 00:00 0 
Rss:                  40 kB
7f0000400000-7f0000421000 rw-s 00000000 00:0f 77     anon_inode:[io_uring]
Rss:                 132 kB
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
Rss:                   8 kB
";
        let found = resident(smaps);
        assert_eq!(
            found,
            Resident {
                all: 904 << 10,
                program: 600 << 10,
                rings: 132 << 10,
                stacks: 32 << 10,
            }
        );
    }
}
