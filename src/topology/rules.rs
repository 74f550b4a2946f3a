//! The policies of one user.
use crate::config::Policy;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The last number given.
static GIVEN: AtomicU64 = AtomicU64::new(0);

/// They never change, so that what was concluded from them can be kept by their number.
#[derive(Debug)]
pub struct Rules {
    id: u64,
    policies: Box<[Policy]>,
}

impl Rules {
    /// Not 0, and no other rules' in this process, whether they are still there or not.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl FromIterator<Policy> for Rules {
    fn from_iter<I: IntoIterator<Item = Policy>>(policies: I) -> Rules {
        Rules {
            id: 1 + GIVEN.fetch_add(1, Relaxed),
            policies: policies.into_iter().collect(),
        }
    }
}

impl Deref for Rules {
    type Target = [Policy];
    fn deref(&self) -> &[Policy] {
        &self.policies
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Action;

    #[test]
    fn the_same_policies_made_again_have_another_number() {
        let make = || Rules::from_iter([Policy::of_everything("p", Action::Deny)]);
        let (one, other) = (make(), make());
        assert_eq!(*one, *other);
        assert_ne!(one.id(), other.id());
        assert!(one.id() != 0 && Rules::from_iter([]).id() != 0);
    }
}
