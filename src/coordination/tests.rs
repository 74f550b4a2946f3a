use super::*;

fn job() -> Job {
    let part = |shard: usize| Part {
        place: format!("shard {shard} of shop.orders on group 's{shard}'"),
        group: format!("s{shard}"),
        sql: format!("ALTER TABLE `shop`.`orders_{shard}` ADD x INT COMMENT 'it''s \"so\"'"),
        state: PartState::Waiting,
        error: None,
    };
    Job {
        id: 0,
        user: "app".into(),
        schema: Some("shop".into()),
        statement: "ALTER TABLE orders ADD x INT".into(),
        sql_mode: None,
        begun: 1,
        rules: Vec::new(),
        parts: (0..3).map(part).collect(),
    }
}

#[test]
fn ids_are_never_given_out_twice_whatever_happens_in_between() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut given = std::collections::BTreeSet::new();
    let mut take = |store: &mut Store, count, floor| {
        let first = store.take_ids("shop.orders", count, floor).expect("kept");
        let first = first.expect("a floor is known");
        for id in first..first + count {
            assert!(given.insert(id), "{id} twice");
        }
        first
    };
    let mut store = Store::open(folder.path()).expect("a store");
    assert_eq!(store.take_ids("shop.orders", 5, None).expect("kept"), None);
    assert_eq!(take(&mut store, 10, Some(100)), 100);
    assert_eq!(take(&mut store, 10, None), 110);
    // the process dies: nothing is said to the store
    drop(store);
    let mut store = Store::open(folder.path()).expect("a store");
    assert_eq!(take(&mut store, 1000, Some(50)), 120, "no floor goes back");
    assert_eq!(take(&mut store, 1, Some(5000)), 5000);
    assert_eq!(
        take(&mut store, 1, Some(4000)),
        5001,
        "a clock that went back"
    );
    assert_eq!(
        store.take_ids("t2", 1, Some(0)).expect("kept"),
        Some(1),
        "0 is no id"
    );
    let most = i64::MAX as u64;
    assert!(store.take_ids("t3", 2, Some(most)).is_err(), "used up");
}

#[test]
fn a_job_is_there_until_all_its_parts_are_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(folder.path()).expect("a store");
    let id = store.begin(job()).expect("kept");
    let mut job = store.jobs().remove(0);
    job.parts[0].state = PartState::Done;
    job.parts[1].state = PartState::Failed;
    job.parts[1].error = Some("1060 (42S21): Duplicate column name 'x'".into());
    store.note(job.clone()).expect("kept");
    assert_eq!(
        job.progress(),
        "1 of 3 done; failed: shard 1 of shop.orders on group 's1' (1060 (42S21): Duplicate column name 'x')"
    );
    drop(store);
    let mut store = Store::open(folder.path()).expect("a store");
    assert_eq!(store.jobs(), [job.clone()], "after a restart");
    assert_eq!(
        store.begin(job.clone()).expect("kept"),
        id + 1,
        "numbers go on"
    );
    assert!(store.forget(id + 1).expect("removed"));
    assert!(!store.forget(id + 1).expect("nothing to remove"));
    job.parts.iter_mut().for_each(|p| p.state = PartState::Done);
    store.note(job).expect("kept");
    assert_eq!(store.jobs(), []);
    drop(store);
    assert_eq!(Store::open(folder.path()).expect("a store").jobs(), []);
}

#[test]
fn a_folder_belongs_to_one_process_and_holds_what_the_store_wrote() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    let second = Store::open(folder.path()).expect_err("it is in use");
    assert!(second.to_string().contains("in use"), "{second}");
    drop(store);
    let wrong = folder.path().join("ids.toml");
    std::fs::write(wrong, "next = 5").expect("written");
    let broken = Store::open(folder.path()).expect_err("it cannot be read");
    assert!(broken.to_string().contains("ids.toml"), "{broken}");
}

#[test]
fn a_rule_is_kept_from_its_job_until_its_tables_drop_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(folder.path()).expect("a store");
    let rule = Rule {
        table: "shop.orders".into(),
        text: "name = \"shop.orders\"\nkey = 'id'\n".into(),
    };
    let creates = Job {
        rules: vec![RuleChange::Adds(rule.clone())],
        ..job()
    };
    // nothing came of it: neither a job nor a rule is left
    let id = store.begin(creates.clone()).expect("kept");
    assert_eq!(store.rules(), std::slice::from_ref(&rule));
    assert!(store.forget(id).expect("removed"));
    assert_eq!(store.rules(), []);
    // it stopped in the middle, and is given up: some tables are there, and so is the rule
    let id = store.begin(creates.clone()).expect("kept");
    let mut half = Job {
        id,
        ..creates.clone()
    };
    half.parts[0].state = PartState::Done;
    store.note(half).expect("kept");
    assert!(store.forget(id).expect("removed"));
    drop(store);
    let mut store = Store::open(folder.path()).expect("a store");
    assert_eq!(
        store.rules(),
        std::slice::from_ref(&rule),
        "after a restart"
    );
    // the same again is not the second job's to take back; another is refused
    let id = store.begin(creates.clone()).expect("kept");
    assert!(store.forget(id).expect("removed"));
    assert_eq!(store.rules(), std::slice::from_ref(&rule));
    let other = Rule {
        table: "shop.Orders".into(),
        ..rule.clone()
    };
    let refused = store.begin(Job {
        rules: vec![RuleChange::Adds(other)],
        ..job()
    });
    let why = refused.expect_err("another rule").to_string();
    assert!(why.contains("another rule for shop.orders"), "{why}");
    // a rename: the rule and the ids have the new name when it is done
    assert_eq!(
        store.take_ids("shop.orders", 10, Some(1)).expect("kept"),
        Some(1)
    );
    let renamed = Rule {
        table: "shop.archive".into(),
        text: "name = 'shop.archive'\n".into(),
    };
    let mut renames = Job {
        rules: vec![RuleChange::Renames {
            from: "shop.orders".into(),
            to: renamed.clone(),
        }],
        ..job()
    };
    renames.id = store.begin(renames.clone()).expect("kept");
    assert_eq!(
        store.rules(),
        std::slice::from_ref(&rule),
        "until it is done"
    );
    renames
        .parts
        .iter_mut()
        .for_each(|p| p.state = PartState::Done);
    store.note(renames).expect("kept");
    assert_eq!(store.rules(), std::slice::from_ref(&renamed));
    assert_eq!(
        store.take_ids("shop.archive", 1, None).expect("kept"),
        Some(11)
    );
    // DROP TABLE
    let mut drops = Job {
        rules: vec![RuleChange::Drops("shop.archive".into())],
        ..job()
    };
    drops.id = store.begin(drops.clone()).expect("kept");
    assert_eq!(
        store.rules(),
        std::slice::from_ref(&renamed),
        "until it is done"
    );
    drops
        .parts
        .iter_mut()
        .for_each(|p| p.state = PartState::Done);
    store.note(drops).expect("kept");
    assert_eq!(store.rules(), []);
    drop(store);
    assert_eq!(Store::open(folder.path()).expect("a store").rules(), []);
}
