# information_schema: conditions on names leave out what need not be brought

SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'users';
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home
SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'mysql';
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home
SELECT * FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'billing';
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s1
SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'orders';
-- plan: gather: rows are copied to home, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`TABLE_SCHEMA` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_NAME` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `COLUMN_NAME` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL)
-- shard 0 on s0: SELECT `TABLE_SCHEMA`, CASE WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_0' THEN 'orders' ELSE `TABLE_NAME` END AS `TABLE_NAME`, `COLUMN_NAME` FROM information_schema.COLUMNS WHERE (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_0')
-- then on home: SELECT COLUMN_NAME FROM (SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `COLUMN_NAME` FROM information_schema.COLUMNS WHERE NOT ((TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders')) UNION ALL SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `COLUMN_NAME` FROM `shop`.`umpire_gathered_0`) AS `COLUMNS` WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'orders'
SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME IN ('people', 'log');
-- plan: gather: rows are copied to home, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`TABLE_SCHEMA` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_NAME` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `COLUMN_NAME` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL)
-- shard 0 on s0: SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `COLUMN_NAME` FROM information_schema.COLUMNS WHERE (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'log') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'people')
-- then on home: SELECT COLUMN_NAME FROM (SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `COLUMN_NAME` FROM information_schema.COLUMNS WHERE NOT ((TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'log') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'people')) UNION ALL SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `COLUMN_NAME` FROM `shop`.`umpire_gathered_0`) AS `COLUMNS` WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME IN ('people', 'log')
SELECT SUM(TABLE_ROWS) FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets';
-- plan: gather: rows are copied to home, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`TABLE_SCHEMA` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_NAME` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `ENGINE` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_ROWS` bigint NULL, `AVG_ROW_LENGTH` bigint NULL, `DATA_LENGTH` bigint NULL, `CHECK_TIME` datetime NULL)
-- shard 0 on s0: SELECT `TABLE_SCHEMA`, CASE WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_0' THEN 'tickets' ELSE `TABLE_NAME` END AS `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_0')
-- shard 0 on s1: SELECT `TABLE_SCHEMA`, CASE WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_1' THEN 'tickets' ELSE `TABLE_NAME` END AS `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_1')
-- then on home: SELECT SUM(TABLE_ROWS) FROM (SELECT MAX(`TABLE_SCHEMA`) AS `TABLE_SCHEMA`, MAX(`TABLE_NAME`) AS `TABLE_NAME`, MAX(`ENGINE`) AS `ENGINE`, CAST(SUM(`TABLE_ROWS`) AS UNSIGNED) AS `TABLE_ROWS`, CASE WHEN COUNT(*) > 1 AND SUM(TABLE_ROWS) > 0 THEN CAST(SUM(DATA_LENGTH) DIV SUM(TABLE_ROWS) AS UNSIGNED) ELSE MAX(`AVG_ROW_LENGTH`) END AS `AVG_ROW_LENGTH`, CAST(SUM(`DATA_LENGTH`) AS UNSIGNED) AS `DATA_LENGTH`, MIN(`CHECK_TIME`) AS `CHECK_TIME` FROM (SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE NOT ((TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets')) UNION ALL SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM `shop`.`umpire_gathered_0`) AS umpire_rows GROUP BY CAST(TABLE_SCHEMA AS BINARY), CAST(TABLE_NAME AS BINARY)) AS `TABLES` WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets'
SELECT TABLES.TABLE_NAME, orders FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets';
-- plan: gather: rows are copied to home, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`TABLE_SCHEMA` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_NAME` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `ENGINE` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_ROWS` bigint NULL, `AVG_ROW_LENGTH` bigint NULL, `DATA_LENGTH` bigint NULL, `CHECK_TIME` datetime NULL)
-- shard 0 on s0: SELECT `TABLE_SCHEMA`, CASE WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_0' THEN 'tickets' ELSE `TABLE_NAME` END AS `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_0')
-- then on home: SELECT `TABLES`.TABLE_NAME, orders FROM (SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE NOT ((TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets')) UNION ALL SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM `shop`.`umpire_gathered_0`) AS `TABLES` WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets'
SELECT (SELECT COUNT(*) FROM information_schema.TABLES t WHERE TABLE_NAME = 'tickets') + 1;
-- plan: gather: rows are copied to home, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`TABLE_SCHEMA` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_NAME` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `ENGINE` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_ROWS` bigint NULL, `AVG_ROW_LENGTH` bigint NULL, `DATA_LENGTH` bigint NULL, `CHECK_TIME` datetime NULL)
-- shard 0 on s0: SELECT `TABLE_SCHEMA`, CASE WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_0' THEN 'orders' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_0' THEN 'items' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_0' THEN 'tickets' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'stamps_0' THEN 'stamps' ELSE `TABLE_NAME` END AS `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'log') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_0') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_0') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'countries') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'visits') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'accounts') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'people') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'swedes') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'numbers') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_0') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'stamps_0')
-- shard 0 on s1: SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE (TABLE_SCHEMA IN ('billing') AND NOT ((TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_2') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_3') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_2') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_3') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'countries') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'visits') OR (TABLE_SCHEMA = 'vault' AND TABLE_NAME = 'accounts') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'people') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'swedes') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'numbers') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_1') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'stamps_1')))
-- then on home: SELECT (SELECT COUNT(*) FROM (SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE NOT ((TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'log') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'countries') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'visits') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'accounts') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'people') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'swedes') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'numbers') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'stamps') OR TABLE_SCHEMA IN ('billing')) UNION ALL SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM `shop`.`umpire_gathered_0`) t WHERE TABLE_NAME = 'tickets') + 1 AS `(SELECT COUNT(*) FROM information_schema.TABLES t WHERE TABLE_NAME = 'tickets') + 1`

# views that name no tables are every server's own

SELECT * FROM information_schema.SCHEMATA;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home
SELECT COUNT(*) FROM information_schema.ENGINES, users;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home

# with whole tables of the same group

INSERT INTO users (name) SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'sys';
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home

# refused

SELECT COUNT(*) FROM orders JOIN information_schema.TABLES t ON t.TABLE_NAME = orders.note;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: information_schema together with sharded tables, or with tables of several groups; ask it on its own
INSERT INTO users (name) SELECT TABLE_NAME FROM information_schema.TABLES;
-- ERROR 1235 (42000): these tables are on several groups; not supported: information_schema of several groups in a statement that is more than a plain SELECT; SELECT from it alone, and use what it says
SET @n = (SELECT COUNT(*) FROM information_schema.TABLES);
-- ERROR 1235 (42000): information_schema.TABLES in such a SET is not supported, it would show shards for tables: SELECT from it alone, and use what it says
CREATE TABLE copied AS SELECT TABLE_NAME FROM information_schema.TABLES;
-- ERROR 1235 (42000): information_schema.TABLES in such a CREATE is not supported, it would show shards for tables: SELECT from it alone, and use what it says

# SHOW

SHOW TABLE STATUS LIKE 'tick%';
-- plan: gather: rows are copied to home, which runs the statement over them
-- copied to `shop`.`umpire_gathered_0`: CREATE TEMPORARY TABLE `shop`.`umpire_gathered_0` (`TABLE_SCHEMA` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_NAME` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `ENGINE` varchar(64) character set utf8mb3 collate utf8mb3_general_ci NULL, `TABLE_ROWS` bigint NULL, `AVG_ROW_LENGTH` bigint NULL, `DATA_LENGTH` bigint NULL, `CHECK_TIME` datetime NULL)
-- shard 0 on s0: SELECT `TABLE_SCHEMA`, CASE WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_0' THEN 'orders' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_1' THEN 'orders' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_0' THEN 'items' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_1' THEN 'items' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_0' THEN 'tickets' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'stamps_0' THEN 'stamps' ELSE `TABLE_NAME` END AS `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'log') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_0') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_1') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_0') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_1') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'countries') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'visits') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'accounts') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'people') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'swedes') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'numbers') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_0') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'stamps_0')
-- shard 0 on s1: SELECT CASE WHEN TABLE_SCHEMA = 'vault' AND TABLE_NAME = 'accounts' THEN 'shop' ELSE `TABLE_SCHEMA` END AS `TABLE_SCHEMA`, CASE WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_2' THEN 'orders' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_3' THEN 'orders' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_2' THEN 'items' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_3' THEN 'items' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_1' THEN 'tickets' WHEN TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'stamps_1' THEN 'stamps' ELSE `TABLE_NAME` END AS `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_2') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_3') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_2') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items_3') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'visits') OR (TABLE_SCHEMA = 'vault' AND TABLE_NAME = 'accounts') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'people') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'swedes') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'numbers') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets_1') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'stamps_1')
-- then on home: SELECT * FROM (SELECT TABLE_NAME AS `Name`, ENGINE AS `Engine`, TABLE_ROWS AS `Rows`, AVG_ROW_LENGTH AS `Avg_row_length`, DATA_LENGTH AS `Data_length`, CHECK_TIME AS `Check_time` FROM (SELECT MAX(`TABLE_SCHEMA`) AS `TABLE_SCHEMA`, MAX(`TABLE_NAME`) AS `TABLE_NAME`, MAX(`ENGINE`) AS `ENGINE`, CAST(SUM(`TABLE_ROWS`) AS UNSIGNED) AS `TABLE_ROWS`, CASE WHEN COUNT(*) > 1 AND SUM(TABLE_ROWS) > 0 THEN CAST(SUM(DATA_LENGTH) DIV SUM(TABLE_ROWS) AS UNSIGNED) ELSE MAX(`AVG_ROW_LENGTH`) END AS `AVG_ROW_LENGTH`, CAST(SUM(`DATA_LENGTH`) AS UNSIGNED) AS `DATA_LENGTH`, MIN(`CHECK_TIME`) AS `CHECK_TIME` FROM (SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM information_schema.TABLES WHERE NOT ((TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'log') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'items') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'countries') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'visits') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'accounts') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'people') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'swedes') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'numbers') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'tickets') OR (TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'stamps')) UNION ALL SELECT `TABLE_SCHEMA`, `TABLE_NAME`, `ENGINE`, `TABLE_ROWS`, `AVG_ROW_LENGTH`, `DATA_LENGTH`, `CHECK_TIME` FROM `shop`.`umpire_gathered_0`) AS umpire_rows GROUP BY CAST(TABLE_SCHEMA AS BINARY), CAST(TABLE_NAME AS BINARY)) AS `TABLES` WHERE TABLE_SCHEMA = 'shop') AS umpire_list WHERE `Name` LIKE 'tick%' ORDER BY `Name`
SHOW TABLE STATUS FROM billing;
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: s1
SHOW STATUS LIKE 'x';
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home
SHOW CREATE TABLE tickets;
-- plan: shown: one shard's answer, under the table's name
-- shard 0 on s0: SHOW CREATE TABLE `shop`.`tickets_0`

# asked for by a shard's own name, there is no table

SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'shop' AND TABLE_NAME = 'orders_0';
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home
SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'vault';
-- plan: whole: no sharded table is named, the statement passes through unparsed
-- group: home
