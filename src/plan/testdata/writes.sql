# INSERT goes where its key says
INSERT INTO orders (id, customer_id, total) VALUES (1, 5, 9.99);
-- table: orders: mod of customer_id over 4 shards; 1 rows, each to the shard of its key
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: INSERT INTO `orders_1` (id, customer_id, total) VALUES (1, 5, 9.99)
INSERT INTO orders VALUES (1, 6, 'new', 1, NOW(), 'a', 'x', 1.5);
-- table: orders: mod of customer_id over 4 shards; 1 rows, each to the shard of its key
-- plan: single: one shard's answer is the client's
-- shard 2 on s1: INSERT INTO `orders_2` VALUES (1, 6, 'new', 1, NOW(), 'a', 'x', 1.5)
INSERT orders SET id = 1, customer_id = '7';
-- table: orders: mod of customer_id over 4 shards; one row, to the shard of its key
-- plan: single: one shard's answer is the client's
-- shard 3 on s1: INSERT `orders_3` SET id = 1, customer_id = '7'
REPLACE INTO shop.orders (customer_id, id) VALUES (-1, 2);
-- table: orders: mod of customer_id over 4 shards; 1 rows, each to the shard of its key
-- plan: single: one shard's answer is the client's
-- shard 3 on s1: REPLACE INTO `shop`.`orders_3` (customer_id, id) VALUES (-1, 2)
INSERT IGNORE INTO orders (id, customer_id) VALUES (1, 1), (2, 2), (3, 1) ON DUPLICATE KEY UPDATE total = VALUES(total) + orders.total;
-- table: orders: mod of customer_id over 4 shards; 3 rows, each to the shard of its key
-- plan: fan-out, on primaries: 2 shards run at once
-- shard 1 on s0: INSERT IGNORE INTO `orders_1` (id, customer_id) VALUES (1, 1), (3, 1) ON DUPLICATE KEY UPDATE total = VALUES(total) + `orders_1`.total
-- shard 2 on s1: INSERT IGNORE INTO `orders_2` (id, customer_id) VALUES (2, 2) ON DUPLICATE KEY UPDATE total = VALUES(total) + `orders_2`.total
-- merge: affected rows are added up
INSERT LOW_PRIORITY INTO accounts (name, balance) VALUES ('bob', 1), ("O\'Brien", 2), (7, 3);
-- table: accounts: hash of name over 2 shards; 3 rows, each to the shard of its key
-- plan: fan-out, on primaries: 2 shards run at once
-- shard 0 on s0: INSERT LOW_PRIORITY INTO accounts (name, balance) VALUES ('bob', 1)
-- shard 1 on s1: INSERT LOW_PRIORITY INTO `vault`.`accounts` (name, balance) VALUES ("O\'Brien", 2), (7, 3)
-- merge: affected rows are added up
INSERT INTO visits (id, day) VALUES (1, '2024-07-01'), (2, '2023-01-01');
-- table: visits: date of day over 2 shards; 2 rows, each to the shard of its key
-- plan: fan-out, on primaries: 2 shards run at once
-- shard 0 on s0: INSERT INTO visits (id, day) VALUES (2, '2023-01-01')
-- shard 1 on s1: INSERT INTO visits (id, day) VALUES (1, '2024-07-01')
-- merge: affected rows are added up

# UPDATE and DELETE with any WHERE
UPDATE orders SET total = total + 1 WHERE customer_id = 5 AND id = 3;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: UPDATE `orders_1` AS `orders` SET total = total + 1 WHERE customer_id = 5 AND id = 3
UPDATE orders SET total = 0 WHERE state = 'old';
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- plan: fan-out, on primaries: 4 shards run at once
-- shard 0 on s0: UPDATE `orders_0` AS `orders` SET total = 0 WHERE state = 'old'
-- shard 1 on s0: UPDATE `orders_1` AS `orders` SET total = 0 WHERE state = 'old'
-- shard 2 on s1: UPDATE `orders_2` AS `orders` SET total = 0 WHERE state = 'old'
-- shard 3 on s1: UPDATE `orders_3` AS `orders` SET total = 0 WHERE state = 'old'
-- merge: affected rows are added up
UPDATE orders o SET o.state = 'x' WHERE o.customer_id IN (1, 3);
-- table: o: mod of customer_id over 4 shards; conditions on customer_id leave [1, 3]
-- plan: fan-out, on primaries: 2 shards run at once
-- shard 1 on s0: UPDATE `orders_1` o SET o.state = 'x' WHERE o.customer_id IN (1, 3)
-- shard 3 on s1: UPDATE `orders_3` o SET o.state = 'x' WHERE o.customer_id IN (1, 3)
-- merge: affected rows are added up
UPDATE orders o JOIN items i ON i.customer_id = o.customer_id SET o.total = i.qty, i.qty = 0 WHERE i.sku = 'a';
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: i: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- plan: fan-out, on primaries: 4 shards run at once
-- shard 0 on s0: UPDATE `orders_0` o JOIN `items_0` i ON i.customer_id = o.customer_id SET o.total = i.qty, i.qty = 0 WHERE i.sku = 'a'
-- shard 1 on s0: UPDATE `orders_1` o JOIN `items_1` i ON i.customer_id = o.customer_id SET o.total = i.qty, i.qty = 0 WHERE i.sku = 'a'
-- shard 2 on s1: UPDATE `orders_2` o JOIN `items_2` i ON i.customer_id = o.customer_id SET o.total = i.qty, i.qty = 0 WHERE i.sku = 'a'
-- shard 3 on s1: UPDATE `orders_3` o JOIN `items_3` i ON i.customer_id = o.customer_id SET o.total = i.qty, i.qty = 0 WHERE i.sku = 'a'
-- merge: affected rows are added up
UPDATE orders SET state = 'x' WHERE customer_id = 5 ORDER BY id LIMIT 2;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: UPDATE `orders_1` AS `orders` SET state = 'x' WHERE customer_id = 5 ORDER BY id LIMIT 2
DELETE FROM orders WHERE customer_id = 5 AND orders.id = 3 LIMIT 1;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1]
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: DELETE FROM `orders_1` WHERE customer_id = 5 AND `orders_1`.id = 3 LIMIT 1
DELETE FROM shop.orders WHERE shop.orders.total < 3;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- plan: fan-out, on primaries: 4 shards run at once
-- shard 0 on s0: DELETE FROM `shop`.`orders_0` WHERE `shop`.`orders_0`.total < 3
-- shard 1 on s0: DELETE FROM `shop`.`orders_1` WHERE `shop`.`orders_1`.total < 3
-- shard 2 on s1: DELETE FROM `shop`.`orders_2` WHERE `shop`.`orders_2`.total < 3
-- shard 3 on s1: DELETE FROM `shop`.`orders_3` WHERE `shop`.`orders_3`.total < 3
-- merge: affected rows are added up
DELETE o, i FROM orders o JOIN items i ON i.customer_id = o.customer_id WHERE o.total = 0;
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: i: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- plan: fan-out, on primaries: 4 shards run at once
-- shard 0 on s0: DELETE `o`, `i` FROM `orders_0` o JOIN `items_0` i ON i.customer_id = o.customer_id WHERE o.total = 0
-- shard 1 on s0: DELETE `o`, `i` FROM `orders_1` o JOIN `items_1` i ON i.customer_id = o.customer_id WHERE o.total = 0
-- shard 2 on s1: DELETE `o`, `i` FROM `orders_2` o JOIN `items_2` i ON i.customer_id = o.customer_id WHERE o.total = 0
-- shard 3 on s1: DELETE `o`, `i` FROM `orders_3` o JOIN `items_3` i ON i.customer_id = o.customer_id WHERE o.total = 0
-- merge: affected rows are added up
DELETE orders FROM orders JOIN items USING (customer_id) WHERE items.qty = 0;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: items: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- plan: fan-out, on primaries: 4 shards run at once
-- shard 0 on s0: DELETE `orders` FROM `orders_0` AS `orders` JOIN `items_0` AS `items` USING (customer_id) WHERE items.qty = 0
-- shard 1 on s0: DELETE `orders` FROM `orders_1` AS `orders` JOIN `items_1` AS `items` USING (customer_id) WHERE items.qty = 0
-- shard 2 on s1: DELETE `orders` FROM `orders_2` AS `orders` JOIN `items_2` AS `items` USING (customer_id) WHERE items.qty = 0
-- shard 3 on s1: DELETE `orders` FROM `orders_3` AS `orders` JOIN `items_3` AS `items` USING (customer_id) WHERE items.qty = 0
-- merge: affected rows are added up
DELETE FROM orders WHERE EXISTS (SELECT 1 FROM items i WHERE i.customer_id = orders.customer_id);
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: i: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- plan: fan-out, on primaries: 4 shards run at once
-- shard 0 on s0: DELETE FROM `orders_0` WHERE EXISTS (SELECT 1 FROM `items_0` i WHERE i.customer_id = `orders_0`.customer_id)
-- shard 1 on s0: DELETE FROM `orders_1` WHERE EXISTS (SELECT 1 FROM `items_1` i WHERE i.customer_id = `orders_1`.customer_id)
-- shard 2 on s1: DELETE FROM `orders_2` WHERE EXISTS (SELECT 1 FROM `items_2` i WHERE i.customer_id = `orders_2`.customer_id)
-- shard 3 on s1: DELETE FROM `orders_3` WHERE EXISTS (SELECT 1 FROM `items_3` i WHERE i.customer_id = `orders_3`.customer_id)
-- merge: affected rows are added up

# broadcast tables are written everywhere
INSERT INTO countries (id, name) VALUES (1, 'Norge');
-- table: countries is broadcast: the same rows on 2 groups
-- plan: fan-out, on primaries: 2 shards run at once
-- shard 0 on s0: INSERT INTO countries (id, name) VALUES (1, 'Norge')
-- shard 1 on s1: INSERT INTO countries (id, name) VALUES (1, 'Norge')
-- merge: affected rows of one: the others are copies
UPDATE countries SET name = 'Norway' WHERE id = 1;
-- table: countries is broadcast: the same rows on 2 groups
-- plan: fan-out, on primaries: 2 shards run at once
-- shard 0 on s0: UPDATE countries SET name = 'Norway' WHERE id = 1
-- shard 1 on s1: UPDATE countries SET name = 'Norway' WHERE id = 1
-- merge: affected rows of one: the others are copies
UPDATE countries SET name = 'x', countries.id = 4 WHERE countries.name = 'y';
-- table: countries is broadcast: the same rows on 2 groups
-- plan: fan-out, on primaries: 2 shards run at once
-- shard 0 on s0: UPDATE countries SET name = 'x', countries.id = 4 WHERE countries.name = 'y'
-- shard 1 on s1: UPDATE countries SET name = 'x', countries.id = 4 WHERE countries.name = 'y'
-- merge: affected rows of one: the others are copies
DELETE FROM countries;
-- table: countries is broadcast: the same rows on 2 groups
-- plan: fan-out, on primaries: 2 shards run at once
-- shard 0 on s0: DELETE FROM countries
-- shard 1 on s1: DELETE FROM countries
-- merge: affected rows of one: the others are copies

# INSERT … SELECT: rows that stay in their shard
INSERT INTO orders SELECT * FROM orders;
-- table: orders: mod of customer_id over 4 shards; rows of a query
-- table: orders: mod of customer_id over 4 shards; rows of a query
-- plan: fan-out, on primaries: 4 shards run at once
-- shard 0 on s0: INSERT INTO `orders_0` SELECT * FROM `orders_0` AS `orders`
-- shard 1 on s0: INSERT INTO `orders_1` SELECT * FROM `orders_1` AS `orders`
-- shard 2 on s1: INSERT INTO `orders_2` SELECT * FROM `orders_2` AS `orders`
-- shard 3 on s1: INSERT INTO `orders_3` SELECT * FROM `orders_3` AS `orders`
-- merge: affected rows are added up
INSERT INTO items (customer_id, order_id, sku) SELECT customer_id, id, 'gift' FROM orders WHERE total > 100 AND customer_id IN (1, 2);
-- table: items: mod of customer_id over 4 shards; rows of a query
-- table: orders: mod of customer_id over 4 shards; rows of a query
-- plan: fan-out, on primaries: 2 shards run at once
-- shard 1 on s0: INSERT INTO `items_1` (customer_id, order_id, sku) SELECT customer_id, id, 'gift' FROM `orders_1` AS `orders` WHERE total > 100 AND customer_id IN (1, 2)
-- shard 2 on s1: INSERT INTO `items_2` (customer_id, order_id, sku) SELECT customer_id, id, 'gift' FROM `orders_2` AS `orders` WHERE total > 100 AND customer_id IN (1, 2)
-- merge: affected rows are added up
INSERT INTO items (order_id, customer_id) SELECT MAX(id), customer_id FROM orders GROUP BY customer_id, state;
-- table: items: mod of customer_id over 4 shards; rows of a query
-- table: orders: mod of customer_id over 4 shards; rows of a query
-- plan: fan-out, on primaries: 4 shards run at once
-- shard 0 on s0: INSERT INTO `items_0` (order_id, customer_id) SELECT MAX(id), customer_id FROM `orders_0` AS `orders` GROUP BY customer_id, state
-- shard 1 on s0: INSERT INTO `items_1` (order_id, customer_id) SELECT MAX(id), customer_id FROM `orders_1` AS `orders` GROUP BY customer_id, state
-- shard 2 on s1: INSERT INTO `items_2` (order_id, customer_id) SELECT MAX(id), customer_id FROM `orders_2` AS `orders` GROUP BY customer_id, state
-- shard 3 on s1: INSERT INTO `items_3` (order_id, customer_id) SELECT MAX(id), customer_id FROM `orders_3` AS `orders` GROUP BY customer_id, state
-- merge: affected rows are added up
INSERT INTO items (customer_id, order_id) SELECT o.customer_id, c.id FROM orders o JOIN countries c ON c.id = o.id WHERE o.customer_id = 5 LIMIT 3;
-- table: items: mod of customer_id over 4 shards; rows of a query
-- table: o: mod of customer_id over 4 shards; rows of a query
-- table: countries is broadcast: the same rows on 2 groups
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: INSERT INTO `items_1` (customer_id, order_id) SELECT o.customer_id, c.id FROM `orders_1` o JOIN countries c ON c.id = o.id WHERE o.customer_id = 5 LIMIT 3
INSERT INTO orders (id, customer_id) SELECT 7, 5 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM orders WHERE customer_id = 5);
-- table: orders: mod of customer_id over 4 shards; rows of a query
-- table: orders: mod of customer_id over 4 shards; rows of a query
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: INSERT INTO `orders_1` (id, customer_id) SELECT 7, 5 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM `orders_1` AS `orders` WHERE customer_id = 5)
INSERT INTO log SELECT id, note FROM orders WHERE customer_id = 1;
-- table: log is whole, on s0
-- table: orders: mod of customer_id over 4 shards; rows of a query
-- plan: single: one shard's answer is the client's
-- shard 1 on s0: INSERT INTO log SELECT id, note FROM `orders_1` AS `orders` WHERE customer_id = 1
REPLACE INTO orders SELECT * FROM orders WHERE customer_id = 3;
-- table: orders: mod of customer_id over 4 shards; rows of a query
-- table: orders: mod of customer_id over 4 shards; rows of a query
-- plan: single: one shard's answer is the client's
-- shard 3 on s1: REPLACE INTO `orders_3` SELECT * FROM `orders_3` AS `orders` WHERE customer_id = 3
