//! Runs a plan on several leases at once and gives its answers to `merge`.
