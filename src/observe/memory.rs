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
    /// Where the C library's allocator keeps small and middling blocks, in use or free.
    pub arenas: u64,
}

/// Reads `/proc/self/smaps`.
pub fn resident(smaps: &str) -> Resident {
    let mut found = Resident::default();
    let mut mappings = Mappings {
        rest: smaps.lines().peekable(),
    }
    .peekable();
    let mut before: Option<Mapping> = None;
    while let Some(mapping) = mappings.next() {
        found.all += mapping.resident;
        let place = match mapping.kind(before.as_ref(), mappings.peek()) {
            Kind::Program => Some(&mut found.program),
            Kind::Rings => Some(&mut found.rings),
            Kind::Stack => Some(&mut found.stacks),
            Kind::Arena => Some(&mut found.arenas),
            Kind::Other => None,
        };
        if let Some(place) = place {
            *place += mapping.resident;
        }
        before = Some(mapping);
    }
    found
}

enum Kind {
    Program,
    Rings,
    Stack,
    Arena,
    /// Large blocks of the allocator, receive buffers.
    Other,
}

#[derive(Default)]
struct Mapping<'a> {
    start: u64,
    end: u64,
    is_closed: bool,
    name: &'a str,
    /// Bytes.
    resident: u64,
    /// Memory for it was not set aside: only the allocator's arenas are mapped so.
    is_unreserved: bool,
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
            ..Mapping::default()
        })
    }

    /// A line about it that is no other mapping's beginning.
    fn note(&mut self, line: &str) {
        if let Some(size) = line.strip_prefix("Rss:") {
            let kib: u64 = size.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            self.resident = kib << 10;
        } else if let Some(flags) = line.strip_prefix("VmFlags:") {
            self.is_unreserved = flags.split_whitespace().any(|flag| flag == "nr");
        }
    }

    fn kind(&self, before: Option<&Mapping>, next: Option<&Mapping>) -> Kind {
        match self.name {
            name if name.starts_with("anon_inode:[io_uring]") => Kind::Rings,
            name if name.starts_with('/') || name == "[vdso]" => Kind::Program,
            "[stack]" => Kind::Stack,
            "[heap]" => Kind::Arena,
            "" if self.is_closed => Kind::Other,
            "" if self.is_arena(next) => Kind::Arena,
            "" if before.is_some_and(|before| before.guards(self)) => Kind::Stack,
            _ => Kind::Other,
        }
    }

    /// The second way is for systems that set memory aside for everything (vm.overcommit_memory = 2): an arena
    /// begins at a multiple of its greatest size, and what it does not use of that is closed.
    fn is_arena(&self, next: Option<&Mapping>) -> bool {
        const GREATEST: u64 = 64 << 20;
        let end = self.start.saturating_add(GREATEST);
        let closed_to_its_end = |next: &Mapping| {
            next.is_closed && next.start == self.end && self.end < end && next.end >= end
        };
        self.is_unreserved || (self.start % GREATEST == 0 && next.is_some_and(closed_to_its_end))
    }

    /// A thread's stack stands behind a closed page of its own.
    fn guards(&self, stack: &Mapping) -> bool {
        const PAGE: u64 = 4096;
        self.is_closed && self.end - self.start == PAGE && self.end == stack.start
    }
}

struct Mappings<'a, I: Iterator<Item = &'a str>> {
    rest: std::iter::Peekable<I>,
}

impl<'a, I: Iterator<Item = &'a str>> Iterator for Mappings<'a, I> {
    type Item = Mapping<'a>;

    fn next(&mut self) -> Option<Mapping<'a>> {
        let mut mapping = self.rest.find_map(Mapping::read)?;
        while let Some(line) = self.rest.next_if(|line| Mapping::read(line).is_none()) {
            mapping.note(line);
        }
        Some(mapping)
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
VmFlags: rd ex mr mw me
55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]
Rss:                 100 kB
7f0000000000-7f0000001000 ---p 00000000 00:00 0 
Rss:                   0 kB
7f0000001000-7f0000201000 rw-p 00000000 00:00 0 
Rss:                  24 kB
VmFlags: rd wr mr mw me ac nh
7f0000300000-7f0000340000 rw-p 00000000 00:00 0 
Rss:                  40 kB
VmFlags: rd wr mr mw me ac
7f0000400000-7f0000421000 rw-s 00000000 00:0f 77     anon_inode:[io_uring]
Rss:                 132 kB
7f0004000000-7f0004200000 rw-p 00000000 00:00 0 
Rss:                 700 kB
VmFlags: rd wr mr mw me nr
7f0004200000-7f0008000000 ---p 00000000 00:00 0 
Rss:                   0 kB
VmFlags: mr mw me nr
7f0008000000-7f000c000000 rw-p 00000000 00:00 0 
Rss:               65536 kB
VmFlags: rd wr mr mw me nr
7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0                          [stack]
Rss:                   8 kB
";
        let found = resident(smaps);
        assert_eq!(
            found,
            Resident {
                all: (1604 + 65536) << 10,
                program: 600 << 10,
                rings: 132 << 10,
                stacks: 32 << 10,
                arenas: (800 + 65536) << 10,
            }
        );
    }

    #[test]
    fn an_arena_is_known_by_its_place_where_its_flag_is_missing() {
        let arena = "\
7f0004000000-7f0004200000 rw-p 00000000 00:00 0 
Rss:                 700 kB
7f0004200000-7f0008000000 ---p 00000000 00:00 0 
Rss:                   0 kB
";
        assert_eq!(resident(arena).arenas, 700 << 10);
        // large blocks stand anywhere, and nothing closed has to follow
        for other in [
            arena.replace("7f0004", "7f0005"),
            arena.replace("---p", "rw-p"),
        ] {
            let found = resident(&other);
            assert_eq!((found.all, found.arenas), (700 << 10, 0), "{other}");
        }
    }
}
