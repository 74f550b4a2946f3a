use super::spans::{civil, days, first_wins, Span};
use super::*;
use crate::config::{Config, Method, Rule};
use std::fs;
use std::path::PathBuf;

fn config(imported: &Imported) -> Config {
    let no_files = |_: &Path| -> io::Result<SecretFile> { Err(io::ErrorKind::NotFound.into()) };
    config::parse(&imported.text, "imported", &no_files).unwrap_or_else(|e| panic!("{e}"))
}

/// Files in a folder of their own.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("written");
    }
    let path = folder.path().to_owned();
    (folder, path)
}

fn rule<'c>(config: &'c Config, name: &str) -> &'c Rule {
    let of = |t: &&config::Table| format!("{}.{}", t.schema, t.name) == name;
    let found = config.tables.iter().find(of);
    &found.unwrap_or_else(|| panic!("no {name}")).rule
}

/// Group and table of each shard.
fn places(rule: &Rule) -> Vec<String> {
    let shards = match rule {
        Rule::Broadcast(shards) | Rule::Sharded { shards, .. } => shards,
        Rule::Placed(group) => return vec![group.clone()],
    };
    let place = |s: &config::Shard| format!("{}:{}.{}", s.group, s.schema, s.table);
    shards.iter().map(place).collect()
}

fn said(imported: &Imported, line: u32, words: &str) {
    let found = imported
        .findings
        .iter()
        .any(|f| f.line == line && f.message.contains(words));
    assert!(found, "line {line}: {words}: {:#?}", imported.findings);
}

const KINGSHARD: &str = "
# server listen addr
addr : 0.0.0.0:9696
user_list:
-
    user :  app
    password : 0123
allow_ips: 127.0.0.1,10.0.0.0/8
nodes :
-
    name : node1
    max_conns_limit : 32
    user :  kingshard
    password : 'king # shard'
    master : 127.0.0.1:3306
    slave : 192.168.59.101:3307@2,192.168.59.101:3308@3
    down_after_noalive : 32
-
    name : node2
    max_conns_limit : 32
    user :  kingshard
    password : 'king # shard'
    master : 192.168.59.103:3307
    slave :
schema_list :
-
    user: app
    nodes: [node1,node2]
    default: node1
    shard:
    -
        db : kingshard
        table: test_shard_hash
        key: id
        nodes: [node1, node2]
        type: hash
        locations: [4,4]
    -
        db : kingshard
        table: test_shard_range
        key: id
        type: range
        nodes: [node1, node2]
        locations: [1,2]
        table_row_limit: 10000
    -
        db : kingshard
        table: by_month
        key: ctime
        type: date_month
        nodes: [node1,node2]
        date_range: [201512-201602,201609]
    -
        db : kingshard
        table: by_day
        key: ctime
        type: date_day
        nodes: [node1,node2]
        date_range: [20160228-20160301,20171231]
    -
        db : kingshard
        table: wrong
        key: ctime
        type: murmur
        nodes: [node1,node2]
";

#[test]
fn kingshards_file_becomes_the_same_rules() {
    let (_folder, path) = folder(&[("ks.yaml", KINGSHARD)]);
    let imported = kingshard(&path.join("ks.yaml")).expect("imported");
    let config = config(&imported);
    let hash = rule(&config, "kingshard.test_shard_hash");
    let placed = places(hash);
    assert_eq!(placed.len(), 8);
    assert_eq!(placed[3], "node1:kingshard.test_shard_hash_0003");
    assert_eq!(placed[4], "node2:kingshard.test_shard_hash_0004");
    assert!(matches!(hash, Rule::Sharded { method: Method::Mod, key, .. } if key == "id"));
    let Rule::Sharded {
        method: Method::Range(spans),
        ..
    } = rule(&config, "kingshard.test_shard_range")
    else {
        panic!("a range");
    };
    let spans: Vec<_> = spans.iter().map(|s| (s.from, s.below)).collect();
    let expected = [(0, 10_000), (10_000, 20_000), (20_000, 30_000)];
    assert_eq!(spans, expected.map(|(a, b)| (Some(a), Some(b))));
    assert_eq!(
        places(rule(&config, "kingshard.by_month")),
        [
            "node1:kingshard.by_month_201512",
            "node1:kingshard.by_month_201601",
            "node1:kingshard.by_month_201602",
            "node2:kingshard.by_month_201609"
        ]
    );
    assert_eq!(
        places(rule(&config, "kingshard.by_day")),
        [
            "node1:kingshard.by_day_20160228",
            "node1:kingshard.by_day_20160229",
            "node1:kingshard.by_day_20160301",
            "node2:kingshard.by_day_20171231"
        ]
    );
    assert!(imported
        .text
        .contains("from = \"2017-12-31\", below = \"2018-01-01\""));
    let user = &config.users[0];
    assert_eq!((&*user.name, &*user.group), ("app", "node1"));
    assert!(
        imported.text.contains("password = \"0123\""),
        "{}",
        imported.text
    );
    assert!(imported
        .text
        .contains("allow = [\"127.0.0.1/32\", \"10.0.0.0/8\"]"));
    let account = user.server_account.as_ref().expect("another account there");
    assert_eq!(
        (&*account.user, &*account.password),
        ("kingshard", "king # shard")
    );
    assert_eq!(config.groups[0].servers[2].weight, 3);
    said(&imported, 32, "whole number's type");
    said(&imported, 61, "no method for type \"murmur\"");
    assert!(imported.lacks_something());
    assert!(imported.text.contains("tables = [\"kingshard.wrong\"]"));
}

#[test]
fn kingshards_older_forms_are_read_too() {
    let head = "addr : 0.0.0.0:9696\nuser : k\npassword : p\nnodes :\n-\n    name : n1\n    user : k\n    password : p\n    master : 127.0.0.1:3306\n";
    let one = "schema :\n    db : d\n    nodes: [n1]\n    default: n1\n    shard:\n    -\n        table: t\n        key: id\n        nodes: [n1]\n        type: hash\n        locations: [3]\n";
    let old = "schemas :\n-\n    db : d\n    nodes: [n1]\n    rules:\n        default: n1\n        shard:\n        -\n            table: t\n            key: id\n            nodes: [n1]\n            type: hash\n            locations: [3]\n";
    for form in [one, old] {
        let (_folder, path) = folder(&[("ks.yaml", &format!("{head}{form}"))]);
        let imported = kingshard(&path.join("ks.yaml")).expect("imported");
        let config = config(&imported);
        assert_eq!(
            places(rule(&config, "d.t")),
            ["n1:d.t_0000", "n1:d.t_0001", "n1:d.t_0002"]
        );
        assert!(!imported.lacks_something(), "{:?}", imported.findings);
        assert!(imported.findings[0].message.contains("no key is negative"));
    }
    for (text, words) in [
        ("nodes: [", "ks.yaml:"),
        ("", "nothing in it"),
        ("a: &x 1\nb: *x", "aliases"),
    ] {
        let (_folder, path) = folder(&[("ks.yaml", text)]);
        let error = kingshard(&path.join("ks.yaml")).expect_err(text);
        assert!(error.contains(words), "{text}: {error}");
    }
}

const SCHEMA: &str = r#"<?xml version="1.0"?>
<!DOCTYPE mycat:schema SYSTEM "schema.dtd">
<mycat:schema xmlns:mycat="http://io.mycat/">
  <schema name="shop" checkSQLschema="false" sqlMaxLimit="100" dataNode="dn1">
    <table name="travelrecord,address" dataNode="dn1,dn2,dn3" rule="auto-sharding-long" />
    <table name="company" primaryKey="ID" type="global" dataNode="dn1,dn3" />
    <table name="hotnews" primaryKey="ID" dataNode="dn$1-3" rule="mod-long" />
    <table name="employee" dataNode="dn1,dn2" rule="sharding-by-intfile" />
    <table name="customer" dataNode="dn1,dn2" rule="by-province">
      <childTable name="orders" joinKey="customer_id" parentKey="province">
        <childTable name="order_items" joinKey="order_id" parentKey="id" />
      </childTable>
    </table>
    <table name="visits" dataNode="dn1,dn2" rule="by-month" />
    <table name="days" dataNode="dn1,dn2" rule="by-date" />
    <table name="logs" dataNode="dn1,dn2" rule="sharding-by-murmur" />
    <table name="plain" dataNode="dn1" />
    <table name="elsewhere" dataNode="dn3" />
  </schema>
  <dataNode name="dn1" dataHost="host1" database="shop" />
  <dataNode name="dn2" dataHost="host1" database="db2" />
  <dataNode name="dn3" dataHost="host2" database="db3" />
  <dataHost name="host1" maxCon="1000" minCon="10" balance="1" writeType="0" dbType="mysql" dbDriver="native">
    <heartbeat>select user()</heartbeat>
    <writeHost host="hostM1" url="10.0.0.1:3306" user="root" password="123456">
      <readHost host="hostS1" url="10.0.0.2:3306" user="root" password="123456" />
    </writeHost>
  </dataHost>
  <dataHost name="host2" maxCon="1000" minCon="10" balance="0" writeType="0" dbType="mysql" dbDriver="jdbc">
    <heartbeat>select user()</heartbeat>
    <writeHost host="hostM2" url="jdbc:mysql://10.0.0.3:3306" user="root" password="123456" />
  </dataHost>
</mycat:schema>
"#;

const RULE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE mycat:rule SYSTEM "rule.dtd">
<mycat:rule xmlns:mycat="http://io.mycat/">
  <tableRule name="auto-sharding-long"><rule><columns>id</columns><algorithm>rang-long</algorithm></rule></tableRule>
  <tableRule name="mod-long"><rule><columns>id</columns><algorithm>mod-long</algorithm></rule></tableRule>
  <tableRule name="sharding-by-intfile"><rule><columns>sharding_id</columns><algorithm>hash-int</algorithm></rule></tableRule>
  <tableRule name="by-province"><rule><columns>province</columns><algorithm>provinces</algorithm></rule></tableRule>
  <tableRule name="by-month"><rule><columns>at</columns><algorithm>partbymonth</algorithm></rule></tableRule>
  <tableRule name="by-date"><rule><columns>at</columns><algorithm>partbyday</algorithm></rule></tableRule>
  <tableRule name="sharding-by-murmur"><rule><columns>id</columns><algorithm>murmur</algorithm></rule></tableRule>
  <function name="murmur" class="io.mycat.route.function.PartitionByMurmurHash"><property name="seed">0</property></function>
  <function name="hash-int" class="io.mycat.route.function.PartitionByFileMap">
    <property name="mapFile">partition-hash-int.txt</property>
    <property name="defaultNode">1</property>
  </function>
  <function name="provinces" class="io.mycat.route.function.PartitionByFileMap">
    <property name="mapFile">provinces.txt</property>
    <property name="type">1</property>
  </function>
  <function name="rang-long" class="io.mycat.route.function.AutoPartitionByLong">
    <property name="mapFile">autopartition-long.txt</property>
  </function>
  <function name="mod-long" class="io.mycat.route.function.PartitionByMod"><property name="count">3</property></function>
  <function name="partbymonth" class="io.mycat.route.function.PartitionByMonth">
    <property name="dateFormat">yyyy-MM-dd</property><property name="sBeginDate">2015-12-01</property>
  </function>
  <function name="partbyday" class="io.mycat.route.function.PartitionByDate">
    <property name="dateFormat">yyyy-MM-dd</property><property name="sBeginDate">2014-01-01</property>
    <property name="sPartionDay">10</property>
  </function>
</mycat:rule>
"#;

const SERVER: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE mycat:server SYSTEM "server.dtd">
<mycat:server xmlns:mycat="http://io.mycat/">
  <system><property name="serverPort">8066</property></system>
  <user name="app" defaultAccount="true">
    <property name="password">secret &amp; more</property>
    <property name="schemas">shop</property>
  </user>
  <user name="reader">
    <property name="password">user</property>
    <property name="schemas">shop</property>
    <property name="readOnly">true</property>
  </user>
</mycat:server>
"#;

const RANGES: &str = "# range start-end ,data node index\n# K=1000,M=10000.\n0-500M=0\n500M-1000M=1\n1000M-1500M=2\n";

fn mycat_files<'t>(rule: &'t str, ranges: &'t str) -> Vec<(&'t str, &'t str)> {
    vec![
        ("schema.xml", SCHEMA),
        ("rule.xml", rule),
        ("server.xml", SERVER),
        ("autopartition-long.txt", ranges),
        ("partition-hash-int.txt", "10000=0\n10010=1\n"),
        ("provinces.txt", "beijing=0\nshanghai=1\n"),
    ]
}

#[test]
fn mycats_files_become_the_same_rules_or_are_refused() {
    let (_folder, path) = folder(&mycat_files(RULE, RANGES));
    let imported = mycat(&path).expect("imported");
    let config = config(&imported);
    for table in ["shop.travelrecord", "shop.address"] {
        let Rule::Sharded {
            method: Method::Range(spans),
            ..
        } = rule(&config, table)
        else {
            panic!("a range");
        };
        let spans: Vec<_> = spans.iter().map(|s| (s.from, s.below)).collect();
        // the first range that holds a key has it
        let expected = [
            (0, 5_000_001),
            (5_000_001, 10_000_001),
            (10_000_001, 15_000_001),
        ];
        assert_eq!(spans, expected.map(|(a, b)| (Some(a), Some(b))), "{table}");
    }
    assert_eq!(
        places(rule(&config, "shop.company")),
        ["host1:shop.company", "host2:db3.company"]
    );
    assert_eq!(
        places(rule(&config, "shop.hotnews")),
        [
            "host1:shop.hotnews",
            "host1:db2.hotnews",
            "host2:db3.hotnews"
        ]
    );
    assert!(
        imported.text.contains("values = [10010], default = true"),
        "{}",
        imported.text
    );
    assert!(imported.text.contains("values = [\"shanghai\"]"));
    assert_eq!(
        places(rule(&config, "shop.orders")),
        ["host1:shop.orders", "host1:db2.orders"]
    );
    assert!(
        matches!(rule(&config, "shop.orders"), Rule::Sharded { key, .. } if key == "customer_id")
    );
    assert!(imported
        .text
        .contains("from = \"2015-12\", below = \"2016-01\""));
    // a difference is cut towards zero
    assert!(imported
        .text
        .contains("from = \"2013-12-23\", below = \"2014-01-11\""));
    assert!(imported
        .text
        .contains("from = \"2014-01-11\", below = \"2014-01-21\""));
    assert_eq!(places(rule(&config, "shop.plain")), ["host1"]);
    said(&imported, 7, "no key is negative");
    said(&imported, 9, "differ in case");
    said(
        &imported,
        11,
        "table shop.order_items: its rows are where their parent's row is",
    );
    said(
        &imported,
        16,
        "PartitionByMurmurHash places rows as no method",
    );
    said(&imported, 18, "Umpire does not rename databases");
    said(&imported, 9, "\"reader\" may only read");
    let denied = "tables = [\"shop.order_items\", \"shop.logs\", \"shop.elsewhere\"]";
    assert!(imported.text.contains(denied), "{}", imported.text);
    let user = &config.users[0];
    assert_eq!(
        (&*user.name, &*user.group, config.users.len()),
        ("app", "host1", 1)
    );
    assert!(imported.text.contains("password = \"secret & more\""));
    assert!(imported.text.contains("server_user = \"root\""));
    assert_eq!(
        (
            config.databases[0].name.as_str(),
            config.databases[0].group.as_str()
        ),
        ("shop", "host1")
    );
}

#[test]
fn what_mycat_places_otherwise_is_never_taken_for_the_same() {
    let left_out = |rule: &str, ranges: &str, line: u32, words: &str| {
        let (_folder, path) = folder(&mycat_files(rule, ranges));
        said(&mycat(&path).expect("imported"), line, words);
    };
    left_out(
        RULE,
        "0-100=0\n101-200=1\n201-300=0\n",
        5,
        "data node 0 has several ranges",
    );
    left_out(
        RULE,
        "0-100\n",
        5,
        "autopartition-long.txt:1: expected key=node",
    );
    left_out(RULE, "0-100=7\n", 5, "needs more than 3 data nodes");
    left_out(
        &RULE.replace(">3<", ">4<"),
        RANGES,
        7,
        "places rows on 4 data nodes",
    );
    let ends = RULE.replace(
        "2015-12-01",
        "2015-12-01</property><property name=\"sEndDate\">2016-11-30",
    );
    left_out(&ends, RANGES, 14, "begins with the first data node again");
    let default = RULE.replace(
        "autopartition-long.txt</property>",
        "autopartition-long.txt</property><property name=\"defaultNode\">0</property>",
    );
    left_out(
        &default,
        RANGES,
        5,
        "data node 0 has several ranges of keys",
    );
    for class in [
        "PartitionByLong",
        "PartitionByString",
        "PartitionByJumpConsistentHash",
        "PartitionByCRC32PreSlot",
    ] {
        let other = RULE.replace("PartitionByMod", class);
        left_out(
            &other,
            RANGES,
            7,
            &format!("{class} places rows as no method"),
        );
    }
    let (_folder, path) = folder(&[
        ("schema.xml", "<schema"),
        ("rule.xml", RULE),
        ("server.xml", SERVER),
    ]);
    let error = mycat(&path).expect_err("broken");
    assert!(error.contains("schema.xml:1:"), "{error}");
    let (_folder, path) = folder(&[("schema.xml", SCHEMA), ("server.xml", SERVER)]);
    assert!(mycat(&path).expect_err("no rules").contains("rule.xml"));
}

#[test]
fn the_first_range_has_a_key_and_the_default_the_rest() {
    let span = |from: Option<i64>, below: Option<i64>| Span { from, below };
    let of = |from: i64, below: i64| span(Some(from), Some(below));
    let joined = first_wins(&[(0, of(0, 11)), (1, of(10, 21))], None);
    assert_eq!(joined, Ok(vec![(0, of(0, 11)), (1, of(11, 21))]));
    let joined = first_wins(&[(0, of(5, 8)), (0, of(0, 5))], None);
    assert_eq!(joined, Ok(vec![(0, of(0, 8))]));
    assert_eq!(first_wins(&[(0, of(5, 6)), (1, of(0, 10))], None), Err(1));
    let open = span(None, Some(5));
    let joined = first_wins(&[(0, open)], Some(1));
    assert_eq!(joined, Ok(vec![(0, open), (1, span(Some(5), None))]));
}

#[test]
fn days_are_counted_over_leap_years() {
    assert_eq!((days(1970, 1, 1), days(2000, 3, 1)), (0, 11_017));
    for number in (-200_000..200_000).step_by(37) {
        let (year, month, day) = civil(number);
        assert_eq!(days(year, month, day), number);
    }
    assert_eq!(civil(days(2016, 2, 28) + 1), (2016, 2, 29));
}
