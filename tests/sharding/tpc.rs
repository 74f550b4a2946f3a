//! The transactions of TPC-C and reports of TPC-H, in small, on four shards and on one server.
use super::world::{broadcast, sharded, World};
use crate::common::random::Random;
use crate::common::try_rows;
use mysql::Conn;

/// Name, columns, sharding key; without a key every group has all rows.
const TABLES: [(&str, &str, &str); 17] = [
    ("warehouse", "w_id INT NOT NULL PRIMARY KEY, w_name VARCHAR(10), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2)", "w_id"),
    ("district", "d_w_id INT NOT NULL, d_id INT NOT NULL, d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)", "d_w_id"),
    ("customer", "c_w_id INT NOT NULL, c_d_id INT NOT NULL, c_id INT NOT NULL, c_first VARCHAR(16), c_last VARCHAR(16), c_credit CHAR(2), \
        c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt INT, c_data VARCHAR(250), \
        PRIMARY KEY (c_w_id, c_d_id, c_id), KEY (c_w_id, c_d_id, c_last, c_first)", "c_w_id"),
    ("history", "h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT NOT NULL, h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24)", "h_w_id"),
    ("orders", "o_w_id INT NOT NULL, o_d_id INT NOT NULL, o_id INT NOT NULL, o_c_id INT, o_entry_d DATETIME, o_carrier_id INT, o_ol_cnt INT, \
        PRIMARY KEY (o_w_id, o_d_id, o_id), KEY (o_w_id, o_d_id, o_c_id, o_id)", "o_w_id"),
    ("new_orders", "no_w_id INT NOT NULL, no_d_id INT NOT NULL, no_o_id INT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id)", "no_w_id"),
    ("order_line", "ol_w_id INT NOT NULL, ol_d_id INT NOT NULL, ol_o_id INT NOT NULL, ol_number INT NOT NULL, ol_i_id INT, ol_delivery_d DATETIME, \
        ol_quantity INT, ol_amount DECIMAL(6,2), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)", "ol_w_id"),
    ("stock", "s_w_id INT NOT NULL, s_i_id INT NOT NULL, s_quantity INT, s_ytd INT, s_order_cnt INT, s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)", "s_w_id"),
    ("item", "i_id INT NOT NULL PRIMARY KEY, i_name VARCHAR(24), i_price DECIMAL(5,2)", ""),
    ("h_customer", "c_custkey INT NOT NULL PRIMARY KEY, c_name VARCHAR(25), c_nationkey INT, c_phone CHAR(15), c_acctbal DECIMAL(15,2), c_mktsegment CHAR(10)", "c_custkey"),
    ("h_orders", "o_orderkey INT NOT NULL PRIMARY KEY, o_custkey INT, o_totalprice DECIMAL(15,2), o_orderdate DATE, o_orderpriority CHAR(15), o_shippriority INT, o_comment VARCHAR(79)", "o_orderkey"),
    ("lineitem", "l_orderkey INT NOT NULL, l_linenumber INT NOT NULL, l_partkey INT, l_suppkey INT, l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), \
        l_discount DECIMAL(15,2), l_tax DECIMAL(15,2), l_returnflag CHAR(1), l_linestatus CHAR(1), l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, \
        l_shipmode CHAR(10), PRIMARY KEY (l_orderkey, l_linenumber)", "l_orderkey"),
    ("part", "p_partkey INT NOT NULL PRIMARY KEY, p_brand CHAR(10), p_type VARCHAR(25), p_size INT, p_container CHAR(10)", ""),
    ("supplier", "s_suppkey INT NOT NULL PRIMARY KEY, s_name CHAR(25), s_nationkey INT, s_acctbal DECIMAL(15,2)", ""),
    ("partsupp", "ps_partkey INT NOT NULL, ps_suppkey INT NOT NULL, ps_availqty INT, ps_supplycost DECIMAL(15,2), PRIMARY KEY (ps_partkey, ps_suppkey)", "ps_partkey"),
    ("nation", "n_nationkey INT NOT NULL PRIMARY KEY, n_name CHAR(25), n_regionkey INT", ""),
    ("region", "r_regionkey INT NOT NULL PRIMARY KEY, r_name CHAR(25)", ""),
];

pub fn start() -> World {
    let rules: Vec<String> = TABLES
        .iter()
        .map(|(name, _, key)| match *key {
            "" => broadcast(name),
            key => sharded(name, key, "hash"),
        })
        .collect();
    let world = World::with(&rules.concat());
    for (name, columns, key) in TABLES {
        world.create_table(name, columns, !key.is_empty());
    }
    world
}

/// Umpire and the plain server, which must say the same.
pub struct Pair {
    umpire: Conn,
    direct: Conn,
}

impl Pair {
    pub fn of(world: &World) -> Pair {
        Pair {
            umpire: world.umpire(),
            direct: world.direct(),
        }
    }

    /// The rows of both, which are in the same order if the statement says which.
    pub fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        let mut both = [&mut self.umpire, &mut self.direct].map(|conn| {
            let mut rows = try_rows(conn, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
            if !sql.contains("ORDER BY") {
                rows.sort();
            }
            (rows, conn.affected_rows())
        });
        assert_eq!(both[0], both[1], "{sql}");
        std::mem::take(&mut both[0].0)
    }

    fn row(&mut self, sql: &str) -> Vec<String> {
        self.rows(sql).into_iter().next().unwrap_or_default()
    }
}

pub const WAREHOUSES: u64 = 6;
const DISTRICTS: u64 = 2;
const CUSTOMERS: u64 = 12;
const ITEMS: u64 = 40;
const LAST_NAMES: [&str; 4] = ["BARBAR", "OUGHTABLE", "PRIPRES", "ESEANTI"];
const WHEN: &str = "'2024-03-04 05:06:07'";

pub fn insert(pair: &mut Pair, table: &str, rows: &[String]) {
    for some in rows.chunks(200) {
        pair.rows(&format!("INSERT INTO {table} VALUES {}", some.join(", ")));
    }
}

/// The nine tables of TPC-C.
pub fn load(pair: &mut Pair, r: &mut Random) {
    let mut rows: [Vec<String>; 5] = Default::default();
    for w in 1..=WAREHOUSES {
        rows[0].push(format!("({w}, 'w{w}', 0.{:04}, 0)", r.below(2000)));
        for i in 1..=ITEMS {
            rows[1].push(format!("({w}, {i}, {}, 0, 0, 'data{i}')", 10 + r.below(91)));
        }
        for d in 1..=DISTRICTS {
            rows[2].push(format!("({w}, {d}, 0.{:04}, 0, 1)", r.below(2000)));
            for c in 1..=CUSTOMERS {
                let credit = if r.one_in(10) { "BC" } else { "GC" };
                rows[3].push(format!(
                    "({w}, {d}, {c}, 'first{}', '{}', '{credit}', 0.{:04}, -10, 10, 1, 'x')",
                    r.below(50),
                    r.pick(&LAST_NAMES),
                    r.below(5000)
                ));
            }
        }
    }
    for i in 1..=ITEMS {
        rows[4].push(format!(
            "({i}, 'item{i}', {}.{:02})",
            1 + r.below(99),
            r.below(100)
        ));
    }
    for (table, rows) in ["warehouse", "stock", "district", "customer", "item"]
        .iter()
        .zip(&rows)
    {
        insert(pair, table, rows);
    }
}

/// One transaction of the mix: 45 new orders, 43 payments, 4 each of the others in a hundred.
pub fn transaction(pair: &mut Pair, r: &mut Random) {
    let (w, d) = (1 + r.below(WAREHOUSES), 1 + r.below(DISTRICTS));
    match r.below(100) {
        0..=44 => new_order(pair, r, w, d),
        45..=87 => payment(pair, r, w, d),
        88..=91 => order_status(pair, r, w, d),
        92..=95 => delivery(pair, r, w),
        _ => stock_level(pair, r, w, d),
    }
}

fn new_order(pair: &mut Pair, r: &mut Random, w: u64, d: u64) {
    let (c, lines) = (1 + r.below(CUSTOMERS), 5 + r.below(6));
    pair.rows("BEGIN");
    pair.row(&format!(
        "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = {w} AND c_w_id = w_id AND c_d_id = {d} AND c_id = {c}"
    ));
    let next = pair.row(&format!(
        "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = {w} AND d_id = {d} FOR UPDATE"
    ));
    let o: u64 = next[0].parse().expect("a number");
    pair.rows(&format!(
        "UPDATE district SET d_next_o_id = {} WHERE d_id = {d} AND d_w_id = {w}",
        o + 1
    ));
    pair.rows(&format!(
        "INSERT INTO orders VALUES ({w}, {d}, {o}, {c}, {WHEN}, NULL, {lines})"
    ));
    pair.rows(&format!(
        "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES ({o}, {d}, {w})"
    ));
    for number in 1..=lines {
        let (i, quantity) = (1 + r.below(ITEMS), 1 + r.below(10));
        let item = pair.row(&format!(
            "SELECT i_price, i_name FROM item WHERE i_id = {i}"
        ));
        let stock = pair.row(&format!(
            "SELECT s_quantity, s_data FROM stock WHERE s_i_id = {i} AND s_w_id = {w} FOR UPDATE"
        ));
        let has: u64 = stock[0].parse().expect("a number");
        let left = if has >= quantity + 10 {
            has - quantity
        } else {
            has + 91 - quantity
        };
        pair.rows(&format!(
            "UPDATE stock SET s_quantity = {left}, s_ytd = s_ytd + {quantity}, s_order_cnt = s_order_cnt + 1 WHERE s_i_id = {i} AND s_w_id = {w}"
        ));
        pair.rows(&format!(
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_quantity, ol_amount) \
             VALUES ({o}, {d}, {w}, {number}, {i}, {quantity}, {quantity} * {})",
            item[0]
        ));
    }
    pair.rows(if r.one_in(20) { "ROLLBACK" } else { "COMMIT" });
}

fn customer(pair: &mut Pair, r: &mut Random, w: u64, d: u64) -> u64 {
    if r.below(10) >= 6 {
        return 1 + r.below(CUSTOMERS);
    }
    let last = r.pick(&LAST_NAMES);
    let found = pair.rows(&format!(
        "SELECT c_id, c_balance FROM customer WHERE c_w_id = {w} AND c_d_id = {d} AND c_last = '{last}' ORDER BY c_first, c_id"
    ));
    let middle = found
        .get(found.len() / 2)
        .map(|row| row[0].parse().expect("a number"));
    middle.unwrap_or(1)
}

fn payment(pair: &mut Pair, r: &mut Random, w: u64, d: u64) {
    let amount = format!("{}.{:02}", 1 + r.below(4999), r.below(100));
    pair.rows("START TRANSACTION");
    pair.rows(&format!(
        "UPDATE warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = {w}"
    ));
    pair.row(&format!(
        "SELECT w_name, w_ytd FROM warehouse WHERE w_id = {w}"
    ));
    pair.rows(&format!(
        "UPDATE district SET d_ytd = d_ytd + {amount} WHERE d_w_id = {w} AND d_id = {d}"
    ));
    let c = customer(pair, r, w, d);
    let known = pair.row(&format!("SELECT c_credit, c_balance, c_data FROM customer WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {c} FOR UPDATE"));
    let data = match known[0].as_str() {
        "BC" => format!(", c_data = LEFT(CONCAT('{c} {d} {w} ', c_data), 250)"),
        _ => String::new(),
    };
    pair.rows(&format!(
        "UPDATE customer SET c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount}, c_payment_cnt = c_payment_cnt + 1{data} \
         WHERE c_w_id = {w} AND c_d_id = {d} AND c_id = {c}"
    ));
    pair.rows(&format!(
        "INSERT INTO history VALUES ({c}, {d}, {w}, {d}, {w}, {WHEN}, {amount}, 'paid')"
    ));
    pair.rows("COMMIT");
}

fn order_status(pair: &mut Pair, r: &mut Random, w: u64, d: u64) {
    let c = customer(pair, r, w, d);
    let last = pair.row(&format!(
        "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = {w} AND o_d_id = {d} AND o_c_id = {c} ORDER BY o_id DESC LIMIT 1"
    ));
    if let Some(o) = last.first() {
        pair.rows(&format!(
            "SELECT ol_i_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id = {o}"
        ));
    }
}

fn delivery(pair: &mut Pair, r: &mut Random, w: u64) {
    let carrier = 1 + r.below(10);
    for d in 1..=DISTRICTS {
        pair.rows("BEGIN");
        let oldest = pair.row(&format!("SELECT no_o_id FROM new_orders WHERE no_d_id = {d} AND no_w_id = {w} ORDER BY no_o_id LIMIT 1 FOR UPDATE"));
        if let Some(o) = oldest.first() {
            pair.rows(&format!(
                "DELETE FROM new_orders WHERE no_d_id = {d} AND no_w_id = {w} AND no_o_id = {o}"
            ));
            let of = format!("o_id = {o} AND o_d_id = {d} AND o_w_id = {w}");
            let c = pair.row(&format!("SELECT o_c_id FROM orders WHERE {of}"));
            pair.rows(&format!(
                "UPDATE orders SET o_carrier_id = {carrier} WHERE {of}"
            ));
            let lines = format!("ol_o_id = {o} AND ol_d_id = {d} AND ol_w_id = {w}");
            pair.rows(&format!(
                "UPDATE order_line SET ol_delivery_d = {WHEN} WHERE {lines}"
            ));
            let sum = pair.row(&format!(
                "SELECT SUM(ol_amount) FROM order_line WHERE {lines}"
            ));
            pair.rows(&format!(
                "UPDATE customer SET c_balance = c_balance + {} WHERE c_id = {} AND c_d_id = {d} AND c_w_id = {w}",
                sum[0], c[0]
            ));
        }
        pair.rows("COMMIT");
    }
}

fn stock_level(pair: &mut Pair, r: &mut Random, w: u64, d: u64) {
    let next = pair.row(&format!(
        "SELECT d_next_o_id FROM district WHERE d_w_id = {w} AND d_id = {d}"
    ));
    let next: u64 = next[0].parse().expect("a number");
    pair.rows(&format!(
        "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = {w} AND ol_d_id = {d} AND ol_o_id < {next} AND ol_o_id >= {} \
         AND s_w_id = {w} AND s_i_id = ol_i_id AND s_quantity < {}",
        next.saturating_sub(20),
        10 + r.below(40)
    ));
}

/// What must hold over all warehouses, and all that the tables hold.
pub fn check(pair: &mut Pair) {
    for sql in [
        "SELECT w_id FROM warehouse JOIN district ON d_w_id = w_id GROUP BY w_id, w_ytd HAVING w_ytd <> SUM(d_ytd)",
        "SELECT d_w_id, d_id FROM district JOIN orders ON o_w_id = d_w_id AND o_d_id = d_id GROUP BY d_w_id, d_id, d_next_o_id HAVING d_next_o_id - 1 <> MAX(o_id)",
        "SELECT no_w_id, no_d_id FROM new_orders GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
        "SELECT o_w_id, o_d_id, o_id FROM orders LEFT JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id \
         GROUP BY o_w_id, o_d_id, o_id, o_ol_cnt HAVING o_ol_cnt <> COUNT(ol_number)",
    ] {
        assert!(pair.rows(sql).is_empty(), "{sql}");
    }
    let paid = "SELECT (SELECT SUM(w_ytd) FROM warehouse), (SELECT SUM(h_amount) FROM history)";
    let paid = pair.row(paid);
    assert_eq!(paid[0], paid[1]);
    for (name, ..) in &TABLES[..9] {
        let keys = match *name {
            "history" => "1, 2, 3, 4, 5, 6, 7, 8",
            "warehouse" | "item" => "1",
            "district" | "stock" => "1, 2",
            "order_line" => "1, 2, 3, 4",
            _ => "1, 2, 3",
        };
        assert!(
            !pair
                .rows(&format!("SELECT * FROM {name} ORDER BY {keys}"))
                .is_empty(),
            "{name}"
        );
    }
}
