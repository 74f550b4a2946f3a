//! After a load, what the allocator keeps of it goes back to the system.
use crate::net;
use std::time::Duration;

const LOOK: Duration = Duration::from_secs(1);
/// Worth the work: it takes the allocator's locks for some milliseconds.
const WORTH: usize = 8 << 20;

/// Runs until dropped.
pub(super) async fn tend() {
    let mut kept = Kept::default();
    loop {
        tokio::time::sleep(LOOK).await;
        let allocator = net::allocator();
        if kept.look(allocator.in_arenas + allocator.mapped, allocator.free) {
            net::give_back();
        }
    }
}

/// What was seen of the allocator.
#[derive(Default)]
struct Kept {
    /// Free bytes of which nothing would go back any more: they stay free when they were given back.
    given_back: usize,
    used: usize,
}

impl Kept {
    /// True: much is free that was not given back yet, and it does not become more right now.
    fn look(&mut self, used: usize, free: usize) -> bool {
        self.given_back = self.given_back.min(free);
        let steady = used + WORTH / 8 >= std::mem::replace(&mut self.used, used);
        let worth = free >= self.given_back + WORTH;
        if steady && worth {
            self.given_back = free;
        }
        steady && worth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_goes_back_once_after_a_load_has_ended() {
        const MIB: usize = 1 << 20;
        let mut kept = Kept::default();
        let seen = [(100, 0), (60, 40), (20, 80), (20, 80), (20, 80)];
        let gave = seen.map(|(used, free)| kept.look(used * MIB, free * MIB));
        assert_eq!(gave, [false, false, false, true, false]);
        // the next load uses what is free, and leaves it again
        assert!(!kept.look(95 * MIB, 5 * MIB) && !kept.look(20 * MIB, 80 * MIB));
        assert!(kept.look(20 * MIB, 80 * MIB) && !kept.look(20 * MIB, 82 * MIB));
    }
}
