# joins by other columns
SELECT o.id, i.sku FROM orders o JOIN items i ON i.order_id = o.id WHERE o.total > 5 AND i.qty IN (1, 2);
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: i: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: its sharded tables are not tied by equal keys, so that their rows may be in different shards
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `total` decimal(10,2) NULL)
-- shard 0 on s0: SELECT `id`, `total` FROM `shop`.`orders_0` WHERE `total` > 5
-- shard 1 on s0: SELECT `id`, `total` FROM `shop`.`orders_1` WHERE `total` > 5
-- shard 2 on s1: SELECT `id`, `total` FROM `shop`.`orders_2` WHERE `total` > 5
-- shard 3 on s1: SELECT `id`, `total` FROM `shop`.`orders_3` WHERE `total` > 5
-- copied to `shop`.`umpire_gathered_1`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_1` (`id` bigint NULL, `order_id` bigint NULL, `sku` varchar(20) character set utf8mb4 collate utf8mb4_bin NULL, `qty` int NULL)
-- shard 0 on s0: SELECT `id`, `order_id`, `sku`, `qty` FROM `shop`.`items_0` WHERE `qty` IN (1, 2)
-- shard 1 on s0: SELECT `id`, `order_id`, `sku`, `qty` FROM `shop`.`items_1` WHERE `qty` IN (1, 2)
-- shard 2 on s1: SELECT `id`, `order_id`, `sku`, `qty` FROM `shop`.`items_2` WHERE `qty` IN (1, 2)
-- shard 3 on s1: SELECT `id`, `order_id`, `sku`, `qty` FROM `shop`.`items_3` WHERE `qty` IN (1, 2)
-- then on s0: SELECT o.id, i.sku FROM `shop`.`umpire_gathered_0` o JOIN `shop`.`umpire_gathered_1` i ON i.order_id = o.id WHERE o.total > 5 AND i.qty IN (1, 2)
SELECT a.id FROM orders a, orders b WHERE a.customer_id = 1 AND b.customer_id = 2 AND a.total = b.total;
-- table: a: mod of customer_id over 4 shards; conditions on customer_id leave [1]
-- table: b: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- why gathered: its sharded tables are not tied by equal keys, so that their rows may be in different shards
-- plan: gather: rows are copied to s1, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `customer_id` int NULL, `total` decimal(10,2) NULL)
-- shard 1 on s0: SELECT `id`, `customer_id`, `total` FROM `shop`.`orders_1` WHERE `customer_id` = 1
-- copied to `shop`.`umpire_gathered_1`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_1` (`id` bigint NULL, `customer_id` int NULL, `total` decimal(10,2) NULL)
-- shard 2 on s1: SELECT `id`, `customer_id`, `total` FROM `shop`.`orders_2` WHERE `customer_id` = 2
-- then on s1: SELECT a.id FROM `shop`.`umpire_gathered_0` a, `shop`.`umpire_gathered_1` b WHERE a.customer_id = 1 AND b.customer_id = 2 AND a.total = b.total

# aggregates that do not add up
SELECT COUNT(DISTINCT state) FROM orders;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: an aggregate, a key or an order whose exact value only a server knows (DISTINCT or GROUP_CONCAT, STDDEV, an expression over aggregates, a long text, FLOAT)
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`state` varchar(10) character set utf8mb4 collate utf8mb4_general_ci NULL)
-- shard 0 on s0: SELECT `state` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `state` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `state` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `state` FROM `shop`.`orders_3`
-- then on s0: SELECT COUNT(DISTINCT state) FROM `shop`.`umpire_gathered_0` AS `orders`
SELECT customer_id, GROUP_CONCAT(state) FROM orders GROUP BY customer_id;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: an aggregate, a key or an order whose exact value only a server knows (DISTINCT or GROUP_CONCAT, STDDEV, an expression over aggregates, a long text, FLOAT)
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`customer_id` int NULL, `state` varchar(10) character set utf8mb4 collate utf8mb4_general_ci NULL)
-- shard 0 on s0: SELECT `customer_id`, `state` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `customer_id`, `state` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `customer_id`, `state` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `customer_id`, `state` FROM `shop`.`orders_3`
-- then on s0: SELECT customer_id, GROUP_CONCAT(state) FROM `shop`.`umpire_gathered_0` AS `orders` GROUP BY customer_id
SELECT state, SUM(total) / COUNT(*) FROM orders GROUP BY state HAVING COUNT(*) > 1;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: HAVING looks at whole groups, whose rows are in several shards
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`state` varchar(10) character set utf8mb4 collate utf8mb4_general_ci NULL, `total` decimal(10,2) NULL)
-- shard 0 on s0: SELECT `state`, `total` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `state`, `total` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `state`, `total` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `state`, `total` FROM `shop`.`orders_3`
-- then on s0: SELECT state, SUM(total) / COUNT(*) FROM `shop`.`umpire_gathered_0` AS `orders` GROUP BY state HAVING COUNT(*) > 1
SELECT STDDEV(total) FROM orders;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: an aggregate, a key or an order whose exact value only a server knows (DISTINCT or GROUP_CONCAT, STDDEV, an expression over aggregates, a long text, FLOAT)
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`total` decimal(10,2) NULL)
-- shard 0 on s0: SELECT `total` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `total` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `total` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `total` FROM `shop`.`orders_3`
-- then on s0: SELECT STDDEV(total) FROM `shop`.`umpire_gathered_0` AS `orders`
SELECT MAX(kind), MIN(note) FROM orders;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: an aggregate, a key or an order whose exact value only a server knows (DISTINCT or GROUP_CONCAT, STDDEV, an expression over aggregates, a long text, FLOAT)
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`kind` enum('a','b') character set utf8mb4 collate utf8mb4_general_ci NULL, `note` text character set utf8mb4 collate utf8mb4_general_ci NULL)
-- shard 0 on s0: SELECT `kind`, `note` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `kind`, `note` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `kind`, `note` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `kind`, `note` FROM `shop`.`orders_3`
-- then on s0: SELECT MAX(kind), MIN(note) FROM `shop`.`umpire_gathered_0` AS `orders`
SELECT DISTINCT state, COUNT(*) FROM orders GROUP BY state;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: DISTINCT over groups
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`state` varchar(10) character set utf8mb4 collate utf8mb4_general_ci NULL)
-- shard 0 on s0: SELECT `state` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `state` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `state` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `state` FROM `shop`.`orders_3`
-- then on s0: SELECT DISTINCT state, COUNT(*) FROM `shop`.`umpire_gathered_0` AS `orders` GROUP BY state

# order by what only a server can compare
SELECT id FROM orders ORDER BY note;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: an aggregate, a key or an order whose exact value only a server knows (DISTINCT or GROUP_CONCAT, STDDEV, an expression over aggregates, a long text, FLOAT)
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `note` text character set utf8mb4 collate utf8mb4_general_ci NULL)
-- shard 0 on s0: SELECT `id`, `note` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id`, `note` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id`, `note` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id`, `note` FROM `shop`.`orders_3`
-- then on s0: SELECT id FROM `shop`.`umpire_gathered_0` AS `orders` ORDER BY note
SELECT id FROM orders ORDER BY CONCAT(state, id);
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: an aggregate, a key or an order whose exact value only a server knows (DISTINCT or GROUP_CONCAT, STDDEV, an expression over aggregates, a long text, FLOAT)
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `state` varchar(10) character set utf8mb4 collate utf8mb4_general_ci NULL)
-- shard 0 on s0: SELECT `id`, `state` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id`, `state` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id`, `state` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id`, `state` FROM `shop`.`orders_3`
-- then on s0: SELECT id FROM `shop`.`umpire_gathered_0` AS `orders` ORDER BY CONCAT(state, id)
SELECT page FROM visits ORDER BY page;
-- table: visits: date of day over 2 shards; no condition on day leaves any out
-- why gathered: an aggregate, a key or an order whose exact value only a server knows (DISTINCT or GROUP_CONCAT, STDDEV, an expression over aggregates, a long text, FLOAT)
-- plan: gather: rows are copied to s1, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`page` varchar(600) character set utf8mb4 collate utf8mb4_general_ci NULL)
-- shard 0 on s0: SELECT `page` FROM `shop`.`visits`
-- shard 1 on s1: SELECT `page` FROM `shop`.`visits`
-- then on s1: SELECT page FROM `shop`.`umpire_gathered_0` AS `visits` ORDER BY page

# windows, unions, derived tables, subqueries
SELECT id, SUM(total) OVER (ORDER BY id) FROM orders;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: an aggregate, a key or an order whose exact value only a server knows (DISTINCT or GROUP_CONCAT, STDDEV, an expression over aggregates, a long text, FLOAT)
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `total` decimal(10,2) NULL)
-- shard 0 on s0: SELECT `id`, `total` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id`, `total` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id`, `total` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id`, `total` FROM `shop`.`orders_3`
-- then on s0: SELECT id, SUM(total) OVER (ORDER BY id) FROM `shop`.`umpire_gathered_0` AS `orders`
SELECT id FROM orders UNION SELECT id FROM items ORDER BY 1;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: items: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: UNION and its kin put rows of several queries together
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL)
-- shard 0 on s0: SELECT `id` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id` FROM `shop`.`orders_3`
-- copied to `shop`.`umpire_gathered_1`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_1` (`id` bigint NULL)
-- shard 0 on s0: SELECT `id` FROM `shop`.`items_0`
-- shard 1 on s0: SELECT `id` FROM `shop`.`items_1`
-- shard 2 on s1: SELECT `id` FROM `shop`.`items_2`
-- shard 3 on s1: SELECT `id` FROM `shop`.`items_3`
-- then on s0: SELECT id FROM `shop`.`umpire_gathered_0` AS `orders` UNION SELECT id FROM `shop`.`umpire_gathered_1` AS `items` ORDER BY 1
SELECT * FROM (SELECT customer_id, SUM(total) s FROM orders GROUP BY customer_id) d WHERE s > 10;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: a derived table: its rows may come from every shard
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `customer_id` int NULL, `state` varchar(10) character set utf8mb4 collate utf8mb4_general_ci NULL, `total` decimal(10,2) NULL, `at` datetime NULL, `kind` enum('a','b') character set utf8mb4 collate utf8mb4_general_ci NULL, `note` text character set utf8mb4 collate utf8mb4_general_ci NULL, `price` float NULL)
-- shard 0 on s0: SELECT `id`, `customer_id`, `state`, `total`, `at`, `kind`, `note`, `price` + 0e0 FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id`, `customer_id`, `state`, `total`, `at`, `kind`, `note`, `price` + 0e0 FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id`, `customer_id`, `state`, `total`, `at`, `kind`, `note`, `price` + 0e0 FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id`, `customer_id`, `state`, `total`, `at`, `kind`, `note`, `price` + 0e0 FROM `shop`.`orders_3`
-- then on s0: SELECT * FROM (SELECT customer_id, SUM(total) s FROM `shop`.`umpire_gathered_0` AS `orders` GROUP BY customer_id) d WHERE s > 10
SELECT id FROM orders WHERE total > (SELECT AVG(total) FROM orders);
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: its sharded tables are not tied by equal keys, so that their rows may be in different shards
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `total` decimal(10,2) NULL)
-- shard 0 on s0: SELECT `id`, `total` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id`, `total` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id`, `total` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id`, `total` FROM `shop`.`orders_3`
-- copied to `shop`.`umpire_gathered_1`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_1` (`id` bigint NULL, `total` decimal(10,2) NULL)
-- shard 0 on s0: SELECT `id`, `total` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id`, `total` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id`, `total` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id`, `total` FROM `shop`.`orders_3`
-- then on s0: SELECT id FROM `shop`.`umpire_gathered_0` AS `orders` WHERE total > (SELECT AVG(total) FROM `shop`.`umpire_gathered_1` AS `orders`)
SELECT id FROM orders WHERE id NOT IN (SELECT order_id FROM items);
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: items: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: its sharded tables are not tied by equal keys, so that their rows may be in different shards
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL)
-- shard 0 on s0: SELECT `id` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id` FROM `shop`.`orders_3`
-- copied to `shop`.`umpire_gathered_1`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_1` (`id` bigint NULL, `order_id` bigint NULL)
-- shard 0 on s0: SELECT `id`, `order_id` FROM `shop`.`items_0`
-- shard 1 on s0: SELECT `id`, `order_id` FROM `shop`.`items_1`
-- shard 2 on s1: SELECT `id`, `order_id` FROM `shop`.`items_2`
-- shard 3 on s1: SELECT `id`, `order_id` FROM `shop`.`items_3`
-- then on s0: SELECT id FROM `shop`.`umpire_gathered_0` AS `orders` WHERE id NOT IN (SELECT order_id FROM `shop`.`umpire_gathered_1` AS `items`)
WITH o AS (SELECT * FROM orders) SELECT COUNT(*) FROM o;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: WITH: its rows may come from every shard
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `customer_id` int NULL, `state` varchar(10) character set utf8mb4 collate utf8mb4_general_ci NULL, `total` decimal(10,2) NULL, `at` datetime NULL, `kind` enum('a','b') character set utf8mb4 collate utf8mb4_general_ci NULL, `note` text character set utf8mb4 collate utf8mb4_general_ci NULL, `price` float NULL)
-- shard 0 on s0: SELECT `id`, `customer_id`, `state`, `total`, `at`, `kind`, `note`, `price` + 0e0 FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id`, `customer_id`, `state`, `total`, `at`, `kind`, `note`, `price` + 0e0 FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id`, `customer_id`, `state`, `total`, `at`, `kind`, `note`, `price` + 0e0 FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id`, `customer_id`, `state`, `total`, `at`, `kind`, `note`, `price` + 0e0 FROM `shop`.`orders_3`
-- then on s0: WITH o AS (SELECT * FROM `shop`.`umpire_gathered_0` AS `orders`) SELECT COUNT(*) FROM o

# broadcast rows without partner would come from every shard
SELECT c.name, o.id FROM countries c LEFT JOIN orders o ON o.id = c.id;
-- table: countries is broadcast: the same rows on 2 groups
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: its sharded tables are not tied by equal keys, so that their rows may be in different shards
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL)
-- shard 0 on s0: SELECT `id` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id` FROM `shop`.`orders_3`
-- then on s0: SELECT c.name, o.id FROM countries c LEFT JOIN `shop`.`umpire_gathered_0` o ON o.id = c.id

# an equality inside a subquery ties nothing outside of it
SELECT o.id FROM orders o, items i WHERE NOT EXISTS (SELECT 1 FROM items x WHERE x.customer_id = o.customer_id AND x.customer_id = i.customer_id);
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: i: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: x: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: its sharded tables are not tied by equal keys, so that their rows may be in different shards
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `customer_id` int NULL)
-- shard 0 on s0: SELECT `id`, `customer_id` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id`, `customer_id` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id`, `customer_id` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id`, `customer_id` FROM `shop`.`orders_3`
-- copied to `shop`.`umpire_gathered_1`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_1` (`id` bigint NULL, `customer_id` int NULL)
-- shard 0 on s0: SELECT `id`, `customer_id` FROM `shop`.`items_0`
-- shard 1 on s0: SELECT `id`, `customer_id` FROM `shop`.`items_1`
-- shard 2 on s1: SELECT `id`, `customer_id` FROM `shop`.`items_2`
-- shard 3 on s1: SELECT `id`, `customer_id` FROM `shop`.`items_3`
-- copied to `shop`.`umpire_gathered_2`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_2` (`id` bigint NULL, `customer_id` int NULL)
-- shard 0 on s0: SELECT `id`, `customer_id` FROM `shop`.`items_0`
-- shard 1 on s0: SELECT `id`, `customer_id` FROM `shop`.`items_1`
-- shard 2 on s1: SELECT `id`, `customer_id` FROM `shop`.`items_2`
-- shard 3 on s1: SELECT `id`, `customer_id` FROM `shop`.`items_3`
-- then on s0: SELECT o.id FROM `shop`.`umpire_gathered_0` o, `shop`.`umpire_gathered_1` i WHERE NOT EXISTS (SELECT 1 FROM `shop`.`umpire_gathered_2` x WHERE x.customer_id = o.customer_id AND x.customer_id = i.customer_id)

# whole tables stay where they are
SELECT l.text, o.id FROM log l JOIN orders o ON o.id = l.id;
-- table: log is whole, on s0
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- why gathered: it names a table that is not on every shard's group
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL)
-- shard 0 on s0: SELECT `id` FROM `shop`.`orders_0`
-- shard 1 on s0: SELECT `id` FROM `shop`.`orders_1`
-- shard 2 on s1: SELECT `id` FROM `shop`.`orders_2`
-- shard 3 on s1: SELECT `id` FROM `shop`.`orders_3`
-- then on s0: SELECT l.text, o.id FROM log l JOIN `shop`.`umpire_gathered_0` o ON o.id = l.id
SELECT u.name, o.id FROM users u JOIN orders o ON o.id = u.id WHERE o.customer_id = 3;
-- table: users is whole, on home
-- table: o: mod of customer_id over 4 shards; conditions on customer_id leave [3]
-- why gathered: it names a table that is not on every shard's group
-- plan: gather: rows are copied to home, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` bigint NULL, `customer_id` int NULL)
-- shard 3 on s1: SELECT `id`, `customer_id` FROM `shop`.`orders_3` WHERE `customer_id` = 3
-- then on home: SELECT u.name, o.id FROM users u JOIN `shop`.`umpire_gathered_0` o ON o.id = u.id WHERE o.customer_id = 3
