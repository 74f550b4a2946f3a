mod numbers;
mod random;
#[path = "../../tests/common/random.rs"]
#[allow(dead_code, reason = "shared with the tests on servers")]
mod splitmix;
mod steps;
mod unify;
mod world;
