# one key: one shard, the text unchanged but for the name
SELECT * FROM orders WHERE customer_id = 5;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: SELECT * FROM `orders_1` AS `orders` WHERE customer_id = 5

select /*+ MAX_EXECUTION_TIME(1000) */ o.`id`, _utf8mb4'x' collate utf8mb4_bin from `shop`.`orders` as o where o.customer_id='6' -- end
;
-- table: o: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: select /*+ MAX_EXECUTION_TIME(1000) */ o.`id`, _utf8mb4'x' collate utf8mb4_bin from `shop`.`orders_2` as o where o.customer_id='6' -- end
-- 

# names before columns
SELECT orders.id, shop.orders.total, shop.orders.* FROM shop.orders WHERE shop.orders.customer_id = 7 ORDER BY orders.id;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [3]
-- plan: single: one shard's answer is the client's
-- shard 3 on s1: SELECT orders.id, `orders`.total, `orders`.* FROM `shop`.`orders_3` AS `orders` WHERE `orders`.customer_id = 7 ORDER BY orders.id

# anything one shard can do alone
SELECT customer_id, COUNT(DISTINCT state), GROUP_CONCAT(note ORDER BY id SEPARATOR ';'), STDDEV(total) FROM orders
WHERE customer_id = 1 AND id > 10 GROUP BY customer_id HAVING COUNT(*) > 1 LIMIT 3;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: SELECT customer_id, COUNT(DISTINCT state), GROUP_CONCAT(note ORDER BY id SEPARATOR ';'), STDDEV(total) FROM `orders_1` AS `orders`
-- WHERE customer_id = 1 AND id > 10 GROUP BY customer_id HAVING COUNT(*) > 1 LIMIT 3
SELECT id, ROW_NUMBER() OVER (PARTITION BY state ORDER BY at) FROM orders WHERE customer_id = 2;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: SELECT id, ROW_NUMBER() OVER (PARTITION BY state ORDER BY at) FROM `orders_2` AS `orders` WHERE customer_id = 2
SELECT * FROM (SELECT id FROM orders WHERE customer_id = 2) d JOIN items i ON i.order_id = d.id WHERE i.customer_id = 2;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- table: i: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: SELECT * FROM (SELECT id FROM `orders_2` AS `orders` WHERE customer_id = 2) d JOIN `items_2` i ON i.order_id = d.id WHERE i.customer_id = 2
WITH o AS (SELECT * FROM orders WHERE customer_id = 3) SELECT * FROM o UNION SELECT * FROM orders WHERE customer_id = 3;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [3]
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [3]
-- plan: single: one shard's answer is the client's
-- shard 3 on s1: WITH o AS (SELECT * FROM `orders_3` AS `orders` WHERE customer_id = 3) SELECT * FROM o UNION SELECT * FROM `orders_3` AS `orders` WHERE customer_id = 3
SELECT * FROM orders WHERE customer_id = 2 FOR UPDATE;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: SELECT * FROM `orders_2` AS `orders` WHERE customer_id = 2 FOR UPDATE
SELECT SQL_CALC_FOUND_ROWS id INTO @x FROM orders WHERE customer_id = 2 LIMIT 1;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: SELECT SQL_CALC_FOUND_ROWS id INTO @x FROM `orders_2` AS `orders` WHERE customer_id = 2 LIMIT 1

# keys of joined tables follow each other; tables of one group need not meet in a shard
SELECT * FROM orders o JOIN items i ON i.customer_id = o.customer_id AND i.order_id = o.id WHERE o.customer_id = 4;
-- table: o: mod of customer_id over 4 shards; conditions on customer_id leave [0]
-- table: i: mod of customer_id over 4 shards; conditions on customer_id leave [0]
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SELECT * FROM `orders_0` o JOIN `items_0` i ON i.customer_id = o.customer_id AND i.order_id = o.id WHERE o.customer_id = 4
SELECT * FROM orders o LEFT JOIN items i USING (customer_id) WHERE o.customer_id = 4;
-- table: o: mod of customer_id over 4 shards; conditions on customer_id leave [0]
-- table: i: mod of customer_id over 4 shards; conditions on customer_id leave [0]
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SELECT * FROM `orders_0` o LEFT JOIN `items_0` i USING (customer_id) WHERE o.customer_id = 4
SELECT * FROM orders o, items i WHERE o.customer_id = 4 AND i.customer_id = 5;
-- table: o: mod of customer_id over 4 shards; conditions on customer_id leave [0]
-- table: i: mod of customer_id over 4 shards; conditions on customer_id leave [1]
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SELECT * FROM `orders_0` o, `items_1` i WHERE o.customer_id = 4 AND i.customer_id = 5
SELECT * FROM orders o WHERE o.customer_id = 4 AND EXISTS (SELECT 1 FROM items i WHERE i.customer_id = o.customer_id);
-- table: o: mod of customer_id over 4 shards; conditions on customer_id leave [0]
-- table: i: mod of customer_id over 4 shards; conditions on customer_id leave [0]
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SELECT * FROM `orders_0` o WHERE o.customer_id = 4 AND EXISTS (SELECT 1 FROM `items_0` i WHERE i.customer_id = o.customer_id)
SELECT * FROM orders o JOIN countries c ON c.id = o.id WHERE o.customer_id = 6;
-- table: o: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- table: countries is broadcast: the same rows on 2 groups
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: SELECT * FROM `orders_2` o JOIN countries c ON c.id = o.id WHERE o.customer_id = 6

# where no shard can have rows one is asked for none
SELECT * FROM orders WHERE customer_id = NULL;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave []
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SELECT * FROM `orders_0` AS `orders` WHERE customer_id = NULL
SELECT * FROM orders WHERE customer_id IN (4, 8) AND customer_id = 5;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave []
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SELECT * FROM `orders_0` AS `orders` WHERE customer_id IN (4, 8) AND customer_id = 5
SELECT COUNT(*) FROM numbers WHERE n = 2500;
-- table: numbers: range of n over 2 shards; conditions on n leave []
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SELECT COUNT(*) FROM numbers WHERE n = 2500

# other methods
SELECT * FROM accounts WHERE name = 'Bob ';
-- table: accounts: hash of name over 2 shards; conditions on name leave [0]
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SELECT * FROM accounts WHERE name = 'Bob '
SELECT * FROM visits WHERE day = '2024-08-01';
-- table: visits: date of day over 2 shards; conditions on day leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s1: SELECT * FROM visits WHERE day = '2024-08-01'
SELECT * FROM people WHERE region IN ('EU', 'eu  ');
-- table: people: list of region over 2 shards; conditions on region leave [0]
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SELECT * FROM people WHERE region IN ('EU', 'eu  ')
SELECT * FROM numbers WHERE n BETWEEN 1200 AND 1300;
-- table: numbers: range of n over 2 shards; conditions on n leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s1: SELECT * FROM numbers WHERE n BETWEEN 1200 AND 1300
SELECT * FROM numbers WHERE 1100 <= n;
-- table: numbers: range of n over 2 shards; conditions on n leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s1: SELECT * FROM numbers WHERE 1100 <= n
SELECT * FROM orders PARTITION (p0) WHERE customer_id = 1;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: SELECT * FROM `orders_1` PARTITION (p0) AS `orders` WHERE customer_id = 1
SELECT * FROM orders USE INDEX (PRIMARY) WHERE customer_id = 1;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: SELECT * FROM `orders_1` AS `orders` USE INDEX (PRIMARY) WHERE customer_id = 1

# broadcast tables are read anywhere
SELECT c.name, COUNT(*) FROM countries c GROUP BY c.name;
-- table: countries is broadcast: the same rows on 2 groups
-- plan: single: one shard's answer is the client's
-- shard 0 on s1: SELECT c.name, COUNT(*) FROM countries c GROUP BY c.name
EXPLAIN FORMAT=JSON SELECT * FROM orders WHERE customer_id = 2;
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: EXPLAIN FORMAT=JSON SELECT * FROM `orders_2` AS `orders` WHERE customer_id = 2
ANALYZE UPDATE orders SET total = 1 WHERE customer_id = 2;
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: ANALYZE UPDATE `orders_2` AS `orders` SET total = 1 WHERE customer_id = 2
SELECT * FROM orders o JOIN items i USING (customer_id) WHERE customer_id = 2 FOR UPDATE OF o NOWAIT;
-- table: o: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- table: i: mod of customer_id over 4 shards; conditions on customer_id leave [2]
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: SELECT * FROM `orders_2` o JOIN `items_2` i USING (customer_id) WHERE customer_id = 2 FOR UPDATE OF o NOWAIT
