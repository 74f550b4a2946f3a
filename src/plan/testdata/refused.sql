# keys
INSERT INTO orders (id) VALUES (1);
-- ERROR 1364 (HY000): shop.orders is sharded: every row needs a value for customer_id, which decides its shard; name the column and give the value
INSERT INTO orders (id, customer_id) VALUES (1, NULL);
-- ERROR 1235 (42000): shop.orders is sharded: NULL for customer_id, which decides the row's shard; give it as a plain literal or parameter that the column stores as it is (texts in printable ASCII)
INSERT INTO orders (id, customer_id) VALUES (1, 2 + 3);
-- ERROR 1235 (42000): shop.orders is sharded: an unreadable value for customer_id, which decides the row's shard; give it as a plain literal or parameter that the column stores as it is (texts in printable ASCII)
INSERT INTO orders (id, customer_id) VALUES (1, 99999999999);
-- ERROR 1235 (42000): shop.orders is sharded: an unreadable value for customer_id, which decides the row's shard; give it as a plain literal or parameter that the column stores as it is (texts in printable ASCII)
INSERT INTO orders (id, customer_id) VALUES (1, 'five');
-- ERROR 1235 (42000): shop.orders is sharded: an unreadable value for customer_id, which decides the row's shard; give it as a plain literal or parameter that the column stores as it is (texts in printable ASCII)
INSERT INTO accounts (name) VALUES ('Jürgen');
-- ERROR 1235 (42000): shop.accounts is sharded: an unreadable value for name, which decides the row's shard; give it as a plain literal or parameter that the column stores as it is (texts in printable ASCII)
INSERT INTO accounts (name) VALUES ('a name that is longer than its column');
-- ERROR 1235 (42000): shop.accounts is sharded: an unreadable value for name, which decides the row's shard; give it as a plain literal or parameter that the column stores as it is (texts in printable ASCII)
INSERT INTO stamps (id, what) VALUES (0, 'a');
-- ERROR 1235 (42000): shop.stamps is sharded: 0, in place of which the server makes another value, for id, which decides the row's shard; give it as a plain literal or parameter that the column stores as it is (texts in printable ASCII)
INSERT INTO stamps SELECT * FROM stamps;
-- ERROR 1235 (42000): shop.stamps is sharded; not supported: AUTO_INCREMENT in INSERT … SELECT, where a value decides the shard or is Umpire's to give; read the rows first, then insert them
INSERT INTO numbers (n) VALUES (5000);
-- ERROR 1526 (HY000): shop.numbers is sharded: no shard takes this value of n; add one to the rule
INSERT INTO visits (day) VALUES ('2024-02-30');
-- ERROR 1235 (42000): shop.visits is sharded: an unreadable value for day, which decides the row's shard; give it as a plain literal or parameter that the column stores as it is (texts in printable ASCII)
UPDATE orders SET customer_id = 3 WHERE customer_id = 2;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a change of customer_id, the sharding key: the row would have to move to another shard; insert the row anew and delete the old one, in a transaction
INSERT INTO orders (id, customer_id) VALUES (1, 2) ON DUPLICATE KEY UPDATE customer_id = 3;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a change of customer_id, the sharding key: the row would have to move to another shard; insert the row anew and delete the old one, in a transaction
INSERT INTO orders (customer_id, total) VALUES (1, (SELECT MAX(id) FROM countries));
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a subquery among the values; read its value first
INSERT INTO swedes (name) VALUES ('v');
-- ERROR 1235 (42000): shop.swedes cannot be sharded by name (varchar(20) character set utf8mb4 collate utf8mb4_swedish_ci): equal texts of the collation utf8mb4_swedish_ci may look different to Umpire; use a _bin, _general_ci, _unicode_ci or _0900_ collation of ascii, latin1 or utf8
SELECT * FROM Orders WHERE customer_id = 1;
-- ERROR 1235 (42000): the rule for shop.orders differs from shop.Orders in the letters' case, which is another table on some servers; write the name as in the configuration

# several shards
UPDATE orders SET total = 0 LIMIT 5;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: LIMIT in a write over several shards (which rows it leaves would depend on the shards); give the key's value, or leave LIMIT out
DELETE FROM orders ORDER BY id LIMIT 5;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: LIMIT in a write over several shards (which rows it leaves would depend on the shards); give the key's value, or leave LIMIT out
DELETE FROM orders WHERE id IN (SELECT order_id FROM items);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a write that joins or reads tables which do not meet in each shard; join by the sharding key, or read the rows first and then write them
INSERT INTO orders (id, customer_id) SELECT customer_id, id FROM orders;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: INSERT … SELECT whose rows may belong to other shards than they are read from (the value for customer_id must be the key of a table with the same rule, or a literal); read the rows first, then insert them
INSERT INTO orders (id, customer_id) SELECT id, 5 FROM orders;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: INSERT … SELECT of what only all rows together tell (LIMIT, a group or an aggregate over several shards, a window); give the key's value, or read the rows first and then insert them
INSERT INTO items (customer_id, order_id) SELECT customer_id, id FROM orders ORDER BY id LIMIT 5;
-- ERROR 1235 (42000): shop.items is sharded; not supported: INSERT … SELECT of what only all rows together tell (LIMIT, a group or an aggregate over several shards, a window); give the key's value, or read the rows first and then insert them
INSERT INTO items (customer_id, order_id) SELECT customer_id, MAX(id) FROM orders;
-- ERROR 1235 (42000): shop.items is sharded; not supported: INSERT … SELECT of what only all rows together tell (LIMIT, a group or an aggregate over several shards, a window); give the key's value, or read the rows first and then insert them
INSERT INTO items (customer_id, order_id) SELECT customer_id, id FROM orders UNION SELECT customer_id, id FROM orders;
-- ERROR 1235 (42000): shop.items is sharded; not supported: INSERT … SELECT whose rows may belong to other shards than they are read from (the value for customer_id must be the key of a table with the same rule, or a literal); read the rows first, then insert them
INSERT INTO items (customer_id, order_id) SELECT i.customer_id, o.id FROM orders o LEFT JOIN items i ON i.customer_id = o.customer_id;
-- ERROR 1235 (42000): shop.items is sharded; not supported: INSERT … SELECT whose rows may belong to other shards than they are read from (the value for customer_id must be the key of a table with the same rule, or a literal); read the rows first, then insert them
INSERT INTO items (customer_id, order_id) SELECT customer_id, (SELECT MAX(id) FROM orders) FROM orders;
-- ERROR 1235 (42000): shop.items is sharded; not supported: a write that joins or reads tables which do not meet in each shard; join by the sharding key, or read the rows first and then write them
INSERT INTO orders (id, customer_id) SELECT id, customer_id FROM orders WHERE customer_id = 5 ON DUPLICATE KEY UPDATE total = (SELECT MAX(qty) FROM items);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a subquery among the values; read its value first
INSERT INTO orders (id, customer_id) SELECT id, id FROM countries;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: INSERT … SELECT whose rows may belong to other shards than they are read from (the value for customer_id must be the key of a table with the same rule, or a literal); read the rows first, then insert them
INSERT INTO tickets SELECT * FROM tickets;
-- ERROR 1235 (42000): shop.tickets is sharded; not supported: AUTO_INCREMENT in INSERT … SELECT, where a value decides the shard or is Umpire's to give; read the rows first, then insert them
INSERT INTO log SELECT id, state FROM orders;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a whole table cannot be written from rows that are on other servers; read the rows first, then insert them
SELECT SQL_CALC_FOUND_ROWS id FROM orders LIMIT 3;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: SQL_CALC_FOUND_ROWS in a statement over several servers; give the key's value, so that one shard is asked, or write it without
SELECT @n := @n + 1, id FROM orders;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: user variables in a statement over several servers; give the key's value, so that one shard is asked, or write it without
SELECT id, LAST_INSERT_ID() FROM orders;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a function that belongs to one connection, in a statement over several servers; give the key's value, so that one shard is asked, or write it without
SELECT id INTO OUTFILE '/tmp/x' FROM orders;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: SELECT … INTO over several servers; give the key's value, so that one shard is asked, or write it without
SELECT o.id FROM orders o JOIN items i ON i.order_id = o.id FOR UPDATE;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a locking read over several shards whose rows only one server can put together; give the key's value
DELETE FROM orders WHERE total = 0 RETURNING id;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: RETURNING over several shards; give the key's value, so that one shard is asked

# broadcast
INSERT INTO countries (id, name) VALUES (1, UUID());
-- ERROR 1235 (42000): shop.countries is a broadcast table; not supported: a function that gives another value at each server, in a write to a broadcast table; give the value itself
INSERT INTO countries SELECT id, state FROM orders;
-- ERROR 1235 (42000): shop.countries is a broadcast table; not supported: a broadcast table written from other tables; read the rows first, then write them
DELETE FROM countries LIMIT 1;
-- ERROR 1235 (42000): shop.countries is a broadcast table; not supported: LIMIT in a write to a broadcast table (each copy may choose other rows); leave LIMIT out
UPDATE countries c JOIN orders o ON o.id = c.id SET c.name = o.state;
-- ERROR 1235 (42000): shop.countries is a broadcast table; not supported: a broadcast table changed by the rows of a sharded one; change it in a statement of its own

# other statements, and what is not understood
ALTER TABLE orders ADD COLUMN x INT;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: ALTER TABLE `shop`.`orders_0` ADD COLUMN x INT
-- shard 1 on s0: ALTER TABLE `shop`.`orders_1` ADD COLUMN x INT
-- shard 2 on s1: ALTER TABLE `shop`.`orders_2` ADD COLUMN x INT
-- shard 3 on s1: ALTER TABLE `shop`.`orders_3` ADD COLUMN x INT
TRUNCATE TABLE shop.orders;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: TRUNCATE TABLE `shop`.`orders_0`
-- shard 1 on s0: TRUNCATE TABLE `shop`.`orders_1`
-- shard 2 on s1: TRUNCATE TABLE `shop`.`orders_2`
-- shard 3 on s1: TRUNCATE TABLE `shop`.`orders_3`
LOCK TABLES orders WRITE;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: LOCK TABLES of a sharded table; use a transaction, and SELECT … FOR UPDATE for the rows that matter
PREPARE s FROM 'SELECT * FROM orders';
-- ERROR 1235 (42000): PREPARE of a text that may name a sharded table: use the protocol's prepared statements instead (your connector's prepare call)
SELECT * FROM orders WHERE customer_id = 1 PROCEDURE ANALYSE();
-- ERROR 1235 (42000): shop.orders is sharded; this statement is not understood: expected the end of the statement near 'PROCEDURE ANALYSE()'; write it in another way
SELECT id FROM orders WHERE;
-- ERROR 1235 (42000): shop.orders is sharded; this statement is not understood: expected an expression near ''; write it in another way
