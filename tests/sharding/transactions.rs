//! The client's transactions on tables of several groups.
use super::world::World;
use crate::common::random::Random;
use crate::common::{code, needs, scalar};
use crate::generate;
use mysql::prelude::Queryable;

/// An id of table t on each group.
fn ids(world: &World) -> [String; 2] {
    [0, 1].map(|group| world.ask_group(group, &format!("SELECT MIN(id) FROM app.t_{}", 2 * group)))
}

#[test]
fn a_transaction_stays_on_its_group_however_it_began_and_the_next_one_commits_it() {
    needs!(the_proxy);
    let world = World::start();
    for sql in generate::rows(&mut Random(4)) {
        world.both(&sql);
    }
    let [on_main, on_second] = ids(&world);
    let set = |id: &str, g: u8| format!("UPDATE t SET g = {g} WHERE id = {id}");
    let mut other = world.umpire();
    let mut g_of = |id: &str| scalar(&mut other, &format!("SELECT g FROM t WHERE id = {id}"));
    for (first, second) in [(&on_main, &on_second), (&on_second, &on_main)] {
        // begun by BEGIN, or by the first statement
        for begin in ["BEGIN", "SET autocommit = 0"] {
            let mut client = world.umpire();
            client.query_drop(begin).expect(begin);
            client.query_drop(set(first, 91)).expect("the first group");
            // every group has the same rows of b: the transaction's own is asked
            for _ in 0..12 {
                client
                    .query_drop("SELECT label FROM b WHERE g = 1")
                    .expect("a copy");
            }
            let error = client.query_drop(set(second, 91)).unwrap_err();
            assert_eq!(code(&error), 1105, "{begin}: {error}");
            client.query_drop("ROLLBACK").expect("rolled back");
            assert_ne!(g_of(first), "91", "{begin}");
        }
        let mut client = world.umpire();
        client.query_drop("BEGIN").expect("begun");
        client.query_drop(set(first, 92)).expect("changed");
        assert_ne!(g_of(first), "92", "not yet");
        client
            .query_drop("START TRANSACTION")
            .expect("committed, and begun");
        assert_eq!(g_of(first), "92");
        client
            .query_drop(set(second, 93))
            .expect("a new transaction may");
        client.query_drop("ROLLBACK").expect("rolled back");
        assert_ne!(g_of(second), "93");
    }
}
