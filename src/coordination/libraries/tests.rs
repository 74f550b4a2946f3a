use super::*;
use std::collections::BTreeSet;
use std::fs;
use std::sync::mpsc::channel;

fn candidates(names: &[&str]) -> Vec<Candidate> {
    let candidate = |name: &&str| Candidate {
        name: (*name).to_owned(),
        weight: 1,
    };
    names.iter().map(candidate).collect()
}

/// Spreads well enough for tests.
fn hash(n: u64) -> u64 {
    (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ n
}

fn give(libraries: &mut Libraries, object: &[u8], n: u64, among: &[Candidate]) -> String {
    let (library, _) = libraries.assign(object, hash(n), among).expect("given");
    libraries.flush().expect("flushed");
    library
}

#[test]
fn an_object_keeps_its_library_whatever_is_added_raised_or_restarted() {
    let folder = tempfile::tempdir().expect("a folder");
    let two = candidates(&["a", "b"]);
    let mut given = Vec::new();
    let mut libraries = Libraries::open(folder.path()).expect("opened");
    for n in 0..200 {
        let object = format!("object {n}").into_bytes();
        given.push((object.clone(), give(&mut libraries, &object, n, &two)));
    }
    for restart in 0..3 {
        drop(libraries);
        libraries = Libraries::open(folder.path()).expect("opened again");
        let more = candidates(&["new", "a", "b"]);
        libraries.raise("new", 1000).expect("raised");
        for (n, (object, library)) in given.iter().enumerate() {
            let again = libraries.assign(object, hash(n as u64 + restart), &more);
            assert_eq!(again, Ok((library.clone(), false)));
        }
        libraries.flush().expect("flushed");
    }
    let report = libraries.report(&candidates(&["a", "b", "new"]));
    assert_eq!(report[2].1.raised, 3000);
    assert_eq!(report[0].1.objects + report[1].1.objects, 200);
}

#[test]
fn each_assignment_raises_the_weight_of_all_other_libraries_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut libraries = Libraries::open(folder.path()).expect("opened");
    let three = candidates(&["a", "b", "c"]);
    let weights = |libraries: &Libraries| -> Vec<u64> {
        let report = libraries.report(&three).into_iter();
        report
            .map(|(_, _, weight)| weight.expect("a candidate"))
            .collect()
    };
    assert_eq!(weights(&libraries), [1, 1, 1]);
    // ranges [0, 1), [1, 2), [2, 3)
    assert_eq!(libraries.assign(b"x", 4, &three), Ok(("b".into(), true)));
    assert_eq!(weights(&libraries), [2, 1, 2]);
    // ranges [0, 2), [2, 3), [3, 5)
    assert_eq!(libraries.assign(b"y", 6, &three), Ok(("a".into(), true)));
    assert_eq!(weights(&libraries), [2, 2, 3]);
    libraries.raise("b", 10).expect("raised");
    assert_eq!(weights(&libraries), [2, 12, 3]);
    assert!(libraries.assign(b"z", 1, &[]).is_err());
}

#[test]
fn libraries_fill_evenly_and_a_new_one_catches_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut libraries = Libraries::open(folder.path()).expect("opened");
    let fill = |libraries: &mut Libraries, from: u64, to: u64, among: &[Candidate]| {
        for n in from..to {
            let object = n.to_string();
            libraries
                .assign(object.as_bytes(), hash(n), among)
                .expect("given");
        }
    };
    fill(&mut libraries, 0, 3000, &candidates(&["a", "b", "c"]));
    for (name, count, _) in libraries.report(&candidates(&["a", "b", "c"])) {
        assert!((800..1200).contains(&count.objects), "{name}: {count:?}");
    }
    let four = candidates(&["a", "b", "c", "d"]);
    fill(&mut libraries, 3000, 4000, &four);
    let newest = libraries.report(&four).remove(3).1.objects;
    assert!(newest > 280, "more than its quarter of the new: {newest}");
}

#[test]
fn any_bytes_are_kept_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let every: Vec<u8> = (0..=254).collect();
    let names: [&[u8]; 7] = [
        &every,
        b"a b",
        b"a%20b",
        b"\n",
        b"x\ny z",
        "héllo 客户".as_bytes(),
        b"-",
    ];
    let among = candidates(&["a", "b"]);
    let mut libraries = Libraries::open(folder.path()).expect("opened");
    let mut known = Vec::new();
    for (n, name) in names.iter().enumerate() {
        known.push(give(&mut libraries, name, n as u64, &among));
        libraries.relate(name, name, name).expect("tied");
    }
    libraries.flush().expect("flushed");
    drop(libraries);
    let libraries = Libraries::open(folder.path()).expect("opened again");
    for (name, library) in names.iter().zip(&known) {
        assert_eq!(libraries.library_of(name), Some(library.as_str()));
        assert_eq!(libraries.core_object(name, name), Some(*name));
    }
    assert_eq!(libraries.find(3, &|_| true).len(), 3);
    assert_eq!(libraries.find(9, &|name| name == "a b").len(), 1);
}

#[test]
fn a_related_object_is_tied_once_to_an_object_that_exists() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut libraries = Libraries::open(folder.path()).expect("opened");
    let unknown = libraries.relate(b"mail", b"a@b.c", b"1");
    assert!(unknown
        .expect_err("no such object")
        .contains("belongs to no library"));
    let among = candidates(&["a"]);
    give(&mut libraries, b"1", 1, &among);
    give(&mut libraries, b"2", 2, &among);
    assert_eq!(libraries.relate(b"mail", b"a@b.c", b"1"), Ok(()));
    assert_eq!(
        libraries.relate(b"mail", b"a@b.c", b"1"),
        Ok(()),
        "the same"
    );
    let other = libraries.relate(b"mail", b"a@b.c", b"2");
    assert!(other.expect_err("tied already").contains("never changes"));
    assert_eq!(libraries.relate(b"phone", b"a@b.c", b"2"), Ok(()));
    assert_eq!(libraries.core_object(b"mail", b"a@b.c"), Some(&b"1"[..]));
    assert_eq!(libraries.core_object(b"fax", b"a@b.c"), None);
}

#[test]
fn a_line_that_a_crash_cut_off_was_never_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("libraries.log");
    let whole = "object 2026-11-30 09:00:00 1 a\nobject 2026-11-30 09:00:00 2 b\n";
    for cut in ["object 2026-11-30 09:00:01 3", "object", "\0\0\0\0", "o"] {
        fs::write(&file, format!("{whole}{cut}")).expect("written");
        let mut libraries = Libraries::open(folder.path()).expect("opened");
        assert_eq!(libraries.library_of(b"2"), Some("b"));
        assert_eq!(libraries.library_of(b"3"), None);
        give(&mut libraries, b"4", 4, &candidates(&["a"]));
        drop(libraries);
        let libraries = Libraries::open(folder.path()).expect("opened again");
        assert_eq!(libraries.library_of(b"4"), Some("a"));
    }
    for wrong in [
        "object 1 a\n",
        "nonsense\n",
        "object d t 2 c\n",
        "object d t %zz c\n",
    ] {
        fs::write(&file, format!("{whole}{wrong}")).expect("written");
        let error = Libraries::open(folder.path()).expect_err(wrong).to_string();
        assert!(error.contains("libraries.log:3"), "{error}");
    }
}

#[test]
fn what_could_not_be_written_is_not_known_and_can_be_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("gone");
    fs::create_dir(&inner).expect("a folder");
    let mut libraries = Libraries::open(&inner).expect("opened");
    fs::remove_dir(&inner).expect("removed");
    let among = candidates(&["a", "b"]);
    libraries.assign(b"1", 7, &among).expect("noted");
    libraries.raise("a", 5).expect("noted");
    assert!(libraries
        .flush()
        .expect_err("no folder")
        .contains("libraries.log"));
    assert_eq!(libraries.library_of(b"1"), None);
    let report = libraries.report(&among);
    assert!(report
        .iter()
        .all(|(_, count, _)| *count == LibraryCount::default()));
    fs::create_dir(&inner).expect("a folder");
    give(&mut libraries, b"1", 1, &among);
    assert!(Libraries::open(&inner)
        .expect("opened")
        .library_of(b"1")
        .is_some());
}

#[test]
fn askers_of_the_same_object_get_one_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let clerk = LibraryClerk::start(Libraries::open(folder.path()).expect("opened"));
    let clerk = clerk.expect("started");
    let (answers, answered) = channel();
    std::thread::scope(|scope| {
        for asker in 0..8_u64 {
            let (clerk, answers) = (clerk.clone(), answers.clone());
            scope.spawn(move || {
                for object in 0..40_u64 {
                    let answers = answers.clone();
                    clerk.ask(LibraryAsk::Assign {
                        object: object.to_string().into_bytes().into(),
                        hash: hash(object * 8 + asker),
                        candidates: candidates(&["a", "b", "c"]),
                        reply: Box::new(move |told| {
                            let (library, new) = told.expect("an answer");
                            answers.send((object, library, new)).expect("heard");
                        }),
                    });
                }
            });
        }
    });
    drop(answers);
    let all: Vec<_> = answered.iter().take(8 * 40).collect();
    let different: BTreeSet<_> = all
        .iter()
        .map(|(object, library, _)| (object, library))
        .collect();
    assert_eq!((all.len(), different.len()), (320, 40));
    assert_eq!(all.iter().filter(|(_, _, new)| *new).count(), 40);
}

#[test]
fn save_files_of_the_old_kind_are_taken_over_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mysqlda.save");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    write(
        "mysqlda.save",
        "2017-08-24 22:17:11 1 mysql_data_2\n2017-08-26 16:34:31 a%20b mysql_data_1\r\n\n",
    );
    write("mysqlda.user_id.save", "2017-08-26 18:11:42 330001 1\n");
    write("other.save", "nonsense");
    let known = ["mysql_data_1".to_owned(), "mysql_data_2".to_owned()];
    for _ in 0..2 {
        let mut libraries = Libraries::open(folder.path()).expect("opened");
        libraries.take_over(&file, &known).expect("taken over");
        assert_eq!(libraries.library_of(b"1"), Some("mysql_data_2"));
        assert_eq!(libraries.library_of(b"a%20b"), Some("mysql_data_1"));
        assert_eq!(
            libraries.core_object(b"user_id", b"330001"),
            Some(&b"1"[..])
        );
        assert_eq!(libraries.find(9, &|_| true).len(), 2);
    }
    let refused = |text: &str, words: &str| {
        write("mysqlda.save", text);
        let mut libraries = Libraries::open(folder.path()).expect("opened");
        let error = libraries.take_over(&file, &known).expect_err(text);
        assert!(error.contains(words), "{error}");
    };
    refused(
        "2017-08-24 22:17:11 1 mysql_data_1\n",
        "mysqlda.save:1: object '1' belongs",
    );
    refused(
        "\n2017-08-24 22:17:11 9 elsewhere\n",
        "mysqlda.save:2: library 'elsewhere'",
    );
    refused("2017-08-24 22:17:11 9\n", "mysqlda.save:1: expected date");
}
