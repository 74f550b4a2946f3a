use crate::backend::{Prepared, PreparedCache, StatementKey};

fn statement(server_id: u32) -> Prepared {
    Prepared {
        server_id,
        parameters: 1,
        columns: 2,
        types_of: 0,
    }
}

#[test]
fn the_least_recently_used_statement_goes() {
    let mut cache = PreparedCache::new(2);
    assert_eq!(cache.insert(StatementKey(1), statement(11), &[]), None);
    assert_eq!(cache.insert(StatementKey(2), statement(12), &[]), None);
    assert!(cache.get(StatementKey(1)).is_some());
    assert_eq!(cache.insert(StatementKey(3), statement(13), &[]), Some(12));
    assert!(cache.get(StatementKey(2)).is_none());
    assert_eq!(cache.get(StatementKey(1)).map(|p| p.server_id), Some(11));
    assert_eq!(cache.len(), 2);
}

#[test]
fn a_statement_prepared_again_returns_its_old_id() {
    let mut cache = PreparedCache::new(2);
    cache.insert(StatementKey(1), statement(11), &[]);
    assert_eq!(cache.insert(StatementKey(1), statement(12), &[]), Some(11));
    assert_eq!(
        cache.insert(StatementKey(1), statement(12), &[]),
        None,
        "the same statement is not closed"
    );
    assert_eq!(cache.len(), 1);
}

#[test]
fn changes_through_get_stay() {
    let mut cache = PreparedCache::new(2);
    cache.insert(StatementKey(1), statement(11), &[]);
    if let Some(prepared) = cache.get(StatementKey(1)) {
        prepared.types_of = 7;
    }
    assert_eq!(cache.remove(StatementKey(1)).map(|p| p.types_of), Some(7));
    assert!(cache.is_empty());
}

#[test]
fn a_limit_of_nothing_still_holds_the_statement_in_use() {
    let mut cache = PreparedCache::new(0);
    cache.insert(StatementKey(1), statement(11), &[]);
    assert_eq!(cache.insert(StatementKey(2), statement(12), &[]), Some(11));
    assert_eq!(cache.len(), 1);
}

#[test]
fn a_statement_in_use_never_goes() {
    let mut cache = PreparedCache::new(2);
    let busy = [StatementKey(1), StatementKey(3)];
    cache.insert(StatementKey(1), statement(11), &busy);
    cache.insert(StatementKey(2), statement(12), &busy);
    assert_eq!(
        cache.insert(StatementKey(3), statement(13), &busy),
        Some(12)
    );
    assert_eq!(cache.insert(StatementKey(4), statement(14), &busy), None);
    assert_eq!(cache.len(), 3);
    assert_eq!(cache.insert(StatementKey(5), statement(15), &[]), Some(11));
}

/// Against a plain list, over many mixed operations.
#[test]
fn it_behaves_like_a_list_in_order_of_use() {
    let mut cache = PreparedCache::new(8);
    let mut model: Vec<u64> = Vec::new();
    let mut random = 1u64;
    for step in 0..20_000u32 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let key = random >> 60;
        let at = model.iter().position(|k| *k == key);
        match (random >> 40) % 8 {
            0 => {
                assert_eq!(
                    cache.remove(StatementKey(u128::from(key))).is_some(),
                    at.is_some()
                );
                model.retain(|k| *k != key);
            }
            1..=3 => {
                assert_eq!(
                    cache.get(StatementKey(u128::from(key))).is_some(),
                    at.is_some()
                );
                model.retain(|k| *k != key);
                model.extend(at.map(|_| key));
            }
            4 if step % 500 == 0 => {
                cache.clear();
                model.clear();
            }
            _ => {
                let gone = cache.insert(StatementKey(u128::from(key)), statement(key as u32), &[]);
                model.retain(|k| *k != key);
                model.push(key);
                let expected = (model.len() > 8).then(|| model.remove(0) as u32);
                assert_eq!(gone, expected);
            }
        }
        assert_eq!(cache.len(), model.len());
    }
}
