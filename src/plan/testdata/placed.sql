# whole tables pass through to their group
SELECT * FROM log;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s0
INSERT INTO shop.log VALUES (1, 'x');
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s0
SELECT * FROM billing.invoices i JOIN billing.lines USING (id);
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s1
SELECT * FROM users;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home
SELECT orders FROM users;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home
USE billing;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s1
SHOW TABLES FROM billing;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s1
CREATE TABLE billing.x (a INT);
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s1
ALTER TABLE log ADD COLUMN x INT;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s0
DELETE FROM log WHERE id IN (SELECT id FROM shop.log l2);
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s0

# put together where they are apart
SELECT * FROM log JOIN users ON users.id = log.id WHERE log.text = 'x';
-- plan: gather: rows are copied to s0, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`id` int NULL, `name` varchar(100) character set utf8mb4 collate utf8mb4_general_ci NULL)
-- shard 0 on home: SELECT `id`, `name` FROM `shop`.`users`
-- then on s0: SELECT * FROM log JOIN `shop`.`umpire_gathered_0` AS `users` ON users.id = log.id WHERE log.text = 'x'

# but not written
UPDATE log, users SET log.text = users.name WHERE log.id = users.id;
-- ERROR 1235 (42000): the statement names tables that are on several groups: only SELECT can put them together; split it into one statement a group
INSERT INTO log SELECT * FROM users;
-- ERROR 1235 (42000): the statement names tables that are on several groups: only SELECT can put them together; split it into one statement a group

# SHOW and DESCRIBE: a sharded table once, under its own name

DESCRIBE orders;
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: DESCRIBE `shop`.`orders_0`
DESC shop.orders 'c%';
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: DESC `shop`.`orders_0` 'c%'
SHOW FULL COLUMNS FROM orders FROM shop LIKE 'x';
-- plan: single: one shard's answer is the client's
-- shard 0 on s0: SHOW FULL COLUMNS FROM `shop`.`orders_0` LIKE 'x'
SHOW INDEX FROM `orders`;
-- plan: shown: one shard's answer, under the table's name
-- shard 0 on s0: SHOW INDEX FROM `shop`.`orders_0`
SHOW CREATE TABLE orders;
-- plan: shown: one shard's answer, under the table's name
-- shard 0 on s0: SHOW CREATE TABLE `shop`.`orders_0`
SHOW CREATE TABLE countries;
-- plan: shown: one shard's answer, under the table's name
-- shard 0 on s0: SHOW CREATE TABLE `shop`.`countries`
SHOW TABLES;
-- plan: single: one shard's answer is the client's
-- shard 0 on home: SELECT `Tables_in_shop` FROM (SELECT TABLE_NAME AS `Tables_in_shop` FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME NOT IN ('log', 'orders', 'items', 'countries', 'visits', 'accounts', 'people', 'swedes', 'numbers', 'tickets', 'stamps') UNION SELECT 'log' UNION SELECT 'orders' UNION SELECT 'items' UNION SELECT 'countries' UNION SELECT 'visits' UNION SELECT 'accounts' UNION SELECT 'people' UNION SELECT 'swedes' UNION SELECT 'numbers' UNION SELECT 'tickets' UNION SELECT 'stamps') AS umpire_tables ORDER BY 1
SHOW FULL TABLES FROM shop LIKE 'or%';
-- plan: single: one shard's answer is the client's
-- shard 0 on home: SELECT `Tables_in_shop (or%)`, Table_type FROM (SELECT TABLE_NAME AS `Tables_in_shop (or%)`, TABLE_TYPE AS Table_type FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME NOT IN ('log', 'orders', 'items', 'countries', 'visits', 'accounts', 'people', 'swedes', 'numbers', 'tickets', 'stamps') UNION SELECT 'log', 'BASE TABLE' UNION SELECT 'orders', 'BASE TABLE' UNION SELECT 'items', 'BASE TABLE' UNION SELECT 'countries', 'BASE TABLE' UNION SELECT 'visits', 'BASE TABLE' UNION SELECT 'accounts', 'BASE TABLE' UNION SELECT 'people', 'BASE TABLE' UNION SELECT 'swedes', 'BASE TABLE' UNION SELECT 'numbers', 'BASE TABLE' UNION SELECT 'tickets', 'BASE TABLE' UNION SELECT 'stamps', 'BASE TABLE') AS umpire_tables WHERE `Tables_in_shop (or%)` LIKE 'or%' ORDER BY 1
SHOW TABLES WHERE Tables_in_shop <> 'x';
-- plan: single: one shard's answer is the client's
-- shard 0 on home: SELECT `Tables_in_shop` FROM (SELECT TABLE_NAME AS `Tables_in_shop` FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME NOT IN ('log', 'orders', 'items', 'countries', 'visits', 'accounts', 'people', 'swedes', 'numbers', 'tickets', 'stamps') UNION SELECT 'log' UNION SELECT 'orders' UNION SELECT 'items' UNION SELECT 'countries' UNION SELECT 'visits' UNION SELECT 'accounts' UNION SELECT 'people' UNION SELECT 'swedes' UNION SELECT 'numbers' UNION SELECT 'tickets' UNION SELECT 'stamps') AS umpire_tables WHERE Tables_in_shop <> 'x' ORDER BY 1
SHOW TABLES FROM other;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home
EXPLAIN SELECT * FROM orders;
-- ERROR 1235 (42000): EXPLAIN and ANALYZE of a statement over several shards are not supported, each server would have its own answer: EXPLAIN ROUTE shows what every shard is asked; give the key's value, so that one shard explains it, or EXPLAIN a shard's statement on its server
