//! Data and reports of TPC-H's form.
use super::tpc::Pair;
use crate::common::random::Random;

fn day(r: &mut Random) -> String {
    format!(
        "'199{}-{:02}-{:02}'",
        2 + r.below(7),
        1 + r.below(12),
        1 + r.below(28)
    )
}

fn money(r: &mut Random, most: u64) -> String {
    format!("{}.{:02}", r.below(most), r.below(100))
}

/// So many orders, and what belongs to them.
pub fn load(pair: &mut Pair, r: &mut Random, orders: u64) {
    const SEGMENTS: [&str; 3] = ["BUILDING", "AUTOMOBILE", "MACHINERY"];
    const PRIORITIES: [&str; 4] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "5-LOW"];
    const MODES: [&str; 5] = ["MAIL", "SHIP", "AIR", "RAIL", "TRUCK"];
    const TYPES: [&str; 4] = [
        "PROMO BRUSHED TIN",
        "STANDARD POLISHED BRASS",
        "ECONOMY ANODIZED STEEL",
        "PROMO PLATED NICKEL",
    ];
    const BOXES: [&str; 4] = ["SM CASE", "MED BAG", "LG BOX", "SM BOX"];
    let (customers, parts, suppliers) = (orders / 6 + 1, orders / 10 + 20, 20);
    let mut rows: [Vec<String>; 8] = Default::default();
    rows[0] = (0..5).map(|n| format!("({n}, 'REGION {n}')")).collect();
    rows[1] = (0..25)
        .map(|n| format!("({n}, 'NATION {n}', {})", n % 5))
        .collect();
    rows[2] = (1..=suppliers)
        .map(|n| format!("({n}, 'Supplier {n}', {}, {})", r.below(25), money(r, 9000)))
        .collect();
    for n in 1..=parts {
        let (kind, packed) = (r.pick(&TYPES), r.pick(&BOXES));
        rows[3].push(format!(
            "({n}, 'Brand#{}', '{kind}', {}, '{packed}')",
            11 + r.below(4),
            1 + r.below(15)
        ));
        for s in 0..2 {
            rows[4].push(format!(
                "({n}, {}, {}, {})",
                1 + (n + s * 7) % suppliers,
                1 + r.below(999),
                money(r, 1000)
            ));
        }
    }
    for n in 1..=customers {
        rows[5].push(format!(
            "({n}, 'Customer {n}', {}, '{}-{:03}', {}, '{}')",
            r.below(25),
            10 + r.below(25),
            r.below(1000),
            money(r, 9000),
            r.pick(&SEGMENTS)
        ));
    }
    for n in 1..=orders {
        let comment = r.pick(&["special requests", "quickly", "pending deposits"]);
        rows[6].push(format!(
            "({n}, {}, {}, {}, '{}', 0, '{comment}')",
            1 + r.below(customers * 4 / 5),
            money(r, 400_000),
            day(r),
            r.pick(&PRIORITIES)
        ));
        for line in 1..=1 + r.below(5) {
            let (part, flag) = (1 + r.below(parts), r.pick(&["A", "N", "R"]));
            let status = r.pick(&["O", "F"]);
            let (mode, days) = (r.pick(&MODES), [day(r), day(r), day(r)].join(", "));
            rows[7].push(format!(
                "({n}, {line}, {part}, {}, {}, {}, 0.{:02}, 0.{:02}, '{flag}', '{status}', {days}, '{mode}')",
                1 + (part + 7 * r.below(2)) % suppliers, 1 + r.below(50), money(r, 90_000), r.below(11), r.below(9)
            ));
        }
    }
    let tables = [
        "region",
        "nation",
        "supplier",
        "part",
        "partsupp",
        "h_customer",
        "h_orders",
        "lineitem",
    ];
    for (table, rows) in tables.iter().zip(&rows) {
        super::tpc::insert(pair, table, rows);
    }
}

/// Queries 1, 3–7, 10–19 and 22, with the tables' names of these tests.
const QUERIES: [&str; 17] = [
    "SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice), SUM(l_extendedprice * (1 - l_discount)), \
     SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)), AVG(l_quantity), AVG(l_extendedprice), AVG(l_discount), COUNT(*) FROM lineitem \
     WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL 90 DAY GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus",
    "SELECT l_orderkey, SUM(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority FROM h_customer, h_orders, lineitem \
     WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate < DATE '1996-03-15' \
     AND l_shipdate > DATE '1993-03-15' GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10",
    "SELECT o_orderpriority, COUNT(*) AS order_count FROM h_orders WHERE o_orderdate >= DATE '1993-07-01' \
     AND o_orderdate < DATE '1993-07-01' + INTERVAL 30 MONTH AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) \
     GROUP BY o_orderpriority ORDER BY o_orderpriority",
    "SELECT n_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM h_customer, h_orders, lineitem, supplier, nation, region \
     WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey \
     AND n_regionkey = r_regionkey AND r_name = 'REGION 2' GROUP BY n_name ORDER BY revenue DESC, n_name",
    "SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' \
     AND l_shipdate < DATE '1994-01-01' + INTERVAL 2 YEAR AND l_discount BETWEEN 0.04 AND 0.07 AND l_quantity < 24",
    "SELECT supp_nation, cust_nation, l_year, SUM(volume) FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, YEAR(l_shipdate) AS l_year, \
     l_extendedprice * (1 - l_discount) AS volume FROM supplier, lineitem, h_orders, h_customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey \
     AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey \
     AND n1.n_regionkey < n2.n_regionkey) AS shipping GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year",
    "SELECT c_custkey, c_name, SUM(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name FROM h_customer, h_orders, lineitem, nation \
     WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_returnflag = 'R' AND c_nationkey = n_nationkey \
     GROUP BY c_custkey, c_name, c_acctbal, n_name ORDER BY revenue DESC, c_custkey LIMIT 20",
    "SELECT ps_partkey, SUM(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation WHERE ps_suppkey = s_suppkey \
     AND s_nationkey = n_nationkey GROUP BY ps_partkey HAVING SUM(ps_supplycost * ps_availqty) > \
     (SELECT SUM(ps_supplycost * ps_availqty) * 0.005 FROM partsupp) ORDER BY value DESC, ps_partkey",
    "SELECT l_shipmode, SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high, \
     SUM(CASE WHEN o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS low FROM h_orders, lineitem WHERE o_orderkey = l_orderkey \
     AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate GROUP BY l_shipmode ORDER BY l_shipmode",
    "SELECT c_count, COUNT(*) AS custdist FROM (SELECT c_custkey, COUNT(o_orderkey) AS c_count FROM h_customer LEFT OUTER JOIN h_orders \
     ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS c_orders GROUP BY c_count ORDER BY custdist DESC, c_count DESC",
    "SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / SUM(l_extendedprice * (1 - l_discount)) \
     AS promo_revenue FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-01-01'",
    "WITH revenue AS (SELECT l_suppkey AS supplier_no, SUM(l_extendedprice * (1 - l_discount)) AS total FROM lineitem WHERE l_shipdate >= DATE '1996-01-01' \
     GROUP BY l_suppkey) SELECT s_suppkey, s_name, total FROM supplier, revenue WHERE s_suppkey = supplier_no \
     AND total = (SELECT MAX(total) FROM revenue) ORDER BY s_suppkey",
    "SELECT p_brand, p_type, p_size, COUNT(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part WHERE p_partkey = ps_partkey AND p_brand <> 'Brand#12' \
     AND p_size IN (1, 3, 5, 7, 9, 11) GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand, p_type, p_size",
    "SELECT SUM(l_extendedprice) / 7.0 AS avg_yearly FROM lineitem, part WHERE p_partkey = l_partkey AND p_container = 'MED BAG' \
     AND l_quantity < (SELECT 0.7 * AVG(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)",
    "SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity) FROM h_customer, h_orders, lineitem WHERE o_orderkey IN \
     (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 120) AND c_custkey = o_custkey AND o_orderkey = l_orderkey \
     GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100",
    "SELECT SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part WHERE (p_partkey = l_partkey AND p_brand = 'Brand#12' \
     AND p_container IN ('SM CASE', 'SM BOX') AND l_quantity BETWEEN 1 AND 30) OR (p_partkey = l_partkey AND p_brand = 'Brand#13' AND l_shipmode IN ('AIR', 'RAIL'))",
    "SELECT cntrycode, COUNT(*) AS numcust, SUM(c_acctbal) AS totacctbal FROM (SELECT SUBSTRING(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal FROM h_customer \
     WHERE SUBSTRING(c_phone FROM 1 FOR 2) IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > (SELECT AVG(c_acctbal) FROM h_customer \
     WHERE c_acctbal > 0.00) AND NOT EXISTS (SELECT * FROM h_orders WHERE o_custkey = c_custkey)) AS custsale GROUP BY cntrycode ORDER BY cntrycode",
];

/// Every report says the same on both, and something.
pub fn run(pair: &mut Pair) {
    for sql in QUERIES {
        assert!(!pair.rows(sql).is_empty(), "{sql}");
    }
}
