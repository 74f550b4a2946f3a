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
