//! Many rows, many clients: memory stays, and so does the data.
use super::world::World;
use crate::common::{self, needs, process, rows, scalar};
use crate::soak;
use mysql::prelude::Queryable;
use std::process::Command;

/// Four shards by the remainder of `id`, in this schema.
pub fn by_remainder(table: &str) -> String {
    let name = table.rsplit('.').next().unwrap_or(table);
    let shards: Vec<String> = (0..4)
        .map(|at| {
            let group = ["main", "second"][at / 2];
            format!("{{ group = \"{group}\", table = \"{name}_{at}\" }}")
        })
        .collect();
    let shards = shards.join(", ");
    format!(
        "\n[[table]]\nname = \"{table}\"\nkey = \"id\"\nmethod = \"mod\"\nshards = [{shards}]\n"
    )
}

/// Reads all rows in their order; the most memory that the proxy had meanwhile.
fn read_in_order(world: &World, count: u64) -> u64 {
    let mut client = world.umpire();
    let mut most = 0;
    let mut read = 0_u64;
    let mut before = None;
    let all = "SELECT k, id, pad FROM big ORDER BY k DESC, id";
    for row in client.query_iter(all).expect("rows") {
        let (k, id, _): (i64, u64, String) = mysql::from_row(row.expect("a row"));
        let key = (-k, id);
        assert!(
            before.is_none_or(|before| before < key),
            "{before:?}, then {key:?}"
        );
        before = Some(key);
        read += 1;
        if read % 2000 == 0 {
            most = most.max(process::resident_bytes(world.proxy.pid()));
        }
    }
    assert_eq!(read, count);
    most
}

#[test]
fn an_order_over_shards_takes_no_more_memory_for_more_rows() {
    needs!(the_proxy);
    let (few, many) = if soak() {
        (100_000, 4_000_000)
    } else {
        (10_000, 120_000)
    };
    let world = World::with(&by_remainder("app.big"));
    world.create_table(
        "big",
        "id INT NOT NULL PRIMARY KEY, k INT, pad CHAR(200)",
        true,
    );
    let fill = |from: u64, to: u64| {
        for shard in 0..4 {
            let rows = format!(
                "INSERT INTO big_{shard} SELECT seq, seq * 7919 % 5000, REPEAT('x', 190) FROM seq_{from}_to_{to} WHERE seq % 4 = {shard}"
            );
            world.run_on(shard / 2, &rows);
        }
    };
    fill(1, few);
    // buffers and the allocator's arenas grow with the first
    read_in_order(&world, few);
    let least = read_in_order(&world, few);
    fill(few + 1, many);
    let most = read_in_order(&world, many);
    let grown = most.saturating_sub(least);
    assert!(
        grown < 8 << 20,
        "{} KiB more for {} KiB more of rows",
        grown >> 10,
        (many - few) / 5
    );
}

const SIZE: u64 = 1000;

#[test]
fn sysbench_reads_and_writes_sharded_tables_and_loses_nothing() {
    needs!(the_proxy);
    let rules = [
        by_remainder("sbtest.sbtest1"),
        by_remainder("sbtest.sbtest2"),
    ]
    .concat();
    // sysbench's transactions use rows of any shard
    let world = World::set_up("cross_shard_transactions = \"best-effort\"\n", &rules);
    let mut client = world.umpire();
    for group in 0..2 {
        // two servers do not see each other's locks
        world.run_on(group, "SET GLOBAL innodb_lock_wait_timeout = 1");
        for (table, shard) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
            let create = format!(
                "CREATE TABLE sbtest.sbtest{table}_{} (id INT NOT NULL PRIMARY KEY, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL \
                 DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', KEY k_1 (k)) ENGINE=InnoDB",
                2 * group + shard
            );
            world.run_on(group, &create);
        }
    }
    for table in 1..=2 {
        let all: Vec<String> = (1..=SIZE)
            .map(|id| format!("({id}, {}, REPEAT('c', 119), 'pad')", id % 100))
            .collect();
        let insert = format!("INSERT INTO sbtest.sbtest{table} VALUES {}", all.join(", "));
        client.query_drop(insert).expect("inserted");
    }
    let time = if soak() { "--time=60" } else { "--time=3" };
    for ps_mode in ["disable", "auto"] {
        let output = Command::new(common::server::find_program("sysbench"))
            .args([
                "oltp_read_write",
                "--mysql-host=127.0.0.1",
                "--mysql-user=app",
            ])
            .args(["--mysql-password=apppw", "--mysql-db=sbtest", "--tables=2"])
            .arg(format!("--table-size={SIZE}"))
            .arg(format!("--mysql-port={}", world.proxy.port))
            .arg(format!("--db-ps-mode={ps_mode}"))
            .args(["--threads=8", time, "run"])
            .output()
            .expect("sysbench runs");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{ps_mode}: {said}");
        assert!(
            said.contains("reconnects:                          0"),
            "{said}"
        );
    }
    for table in 1..=2 {
        let sums = format!("SELECT COUNT(*), COUNT(DISTINCT id), SUM(id), MIN(LENGTH(c)) FROM sbtest.sbtest{table}");
        let expected = [
            SIZE.to_string(),
            SIZE.to_string(),
            (SIZE * (SIZE + 1) / 2).to_string(),
            "119".into(),
        ];
        assert_eq!(rows(&mut client, &sums), [expected]);
        for shard in 0..4 {
            let strangers = format!(
                "SELECT COUNT(*) FROM sbtest.sbtest{table}_{shard} WHERE id % 4 <> {shard}"
            );
            assert_eq!(
                world.ask_group(shard / 2, &strangers),
                "0",
                "each row is in its shard"
            );
        }
    }
    let status = "SHOW STATUS LIKE 'partial_commits'";
    assert_eq!(rows(&mut world.proxy.admin(), status)[0][1], "0");
    assert_eq!(scalar(&mut client, "SELECT 'alive'"), "alive");
}
