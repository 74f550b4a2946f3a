# What every driver runs statement by statement, printing columns, values with their types, counts and errors.
# One statement a line. A line "##sync" waits until the replicas have everything and may be read.
SELECT 1
SELECT NULL, -1, 1.5, 1e10, 'text', x'00ff', TRUE, '😀'
SELECT * FROM types WHERE id = 1
SELECT * FROM types WHERE id = 2
SELECT id, ti, tu, bi, bu, de, f, d, b1, dt6, t0, t6, y, c, vc, bin, bl, e, s, j, bo FROM types WHERE id = 3
SELECT ts0, ts6, @@time_zone FROM types WHERE id = 1
INSERT INTO items (name, n) VALUES ('one', 1)
SELECT LAST_INSERT_ID()
INSERT INTO items (name, n) VALUES ('two', 2), ('three', 3), ('four', 4)
SELECT LAST_INSERT_ID(), ROW_COUNT()
INSERT INTO items (id, name, n) VALUES (100, 'hundred', 100)
SELECT @@last_insert_id, @@insert_id
INSERT INTO items (name, n) VALUES ('one', 1)
INSERT IGNORE INTO items (name, n) VALUES ('one', 1), ('five', 5)
SHOW WARNINGS
UPDATE items SET n = n + 1
UPDATE items SET n = 2 WHERE n = 2
UPDATE items SET n = n
SELECT ROW_COUNT()
REPLACE INTO items (id, name, n) VALUES (100, 'new hundred', 1)
INSERT INTO items (name, n) VALUES ('two', 9) ON DUPLICATE KEY UPDATE n = 9, id = LAST_INSERT_ID(id)
SELECT LAST_INSERT_ID()
DELETE FROM items WHERE n > 4
SELECT id, name, n FROM items ORDER BY id
SELECT
SELECT * FROM no_such_table
SELECT no_such_column FROM items
INSERT INTO items (name) VALUES (REPEAT('x', 51))
SELECT CAST('12abc' AS SIGNED), 1/0
SHOW WARNINGS
SELECT 1/0
SHOW COUNT(*) WARNINGS
SELECT @@warning_count
DROP TABLE IF EXISTS nowhere
SHOW WARNINGS
SHOW ERRORS
SET @a = 5, @b = 'text'
SELECT @a, @b, @none
SET @a = (SELECT MAX(n) FROM items)
SELECT @a + 1, @a := 7
SELECT @a
SET SESSION sql_mode = 'ANSI_QUOTES'
SELECT "id" FROM "items" ORDER BY "id" LIMIT 1
SET SESSION sql_mode = DEFAULT
SET timestamp = 1700000000
SELECT NOW(), NOW(6), UNIX_TIMESTAMP()
SET timestamp = DEFAULT
SET time_zone = '-05:30'
SELECT ts0, ts6, FROM_UNIXTIME(0) FROM types WHERE id = 1
SET time_zone = '+03:00'
SET group_concat_max_len = 10
SELECT GROUP_CONCAT(n ORDER BY n) FROM numbers
SHOW WARNINGS
SET group_concat_max_len = DEFAULT
CREATE TEMPORARY TABLE mine (id INT PRIMARY KEY, t VARCHAR(10))
INSERT INTO mine VALUES (1, 'a'), (2, 'b')
SELECT * FROM mine ORDER BY id
SELECT COUNT(*) FROM mine JOIN items ON items.id = mine.id
DROP TEMPORARY TABLE mine
SELECT * FROM mine
START TRANSACTION
INSERT INTO items (name, n) VALUES ('in transaction', 50)
SELECT COUNT(*) FROM items
SAVEPOINT one
UPDATE items SET n = 51 WHERE n = 50
ROLLBACK TO SAVEPOINT one
SELECT n FROM items WHERE name = 'in transaction'
RELEASE SAVEPOINT one
ROLLBACK TO SAVEPOINT one
ROLLBACK
SELECT COUNT(*) FROM items
SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
START TRANSACTION READ ONLY
INSERT INTO items (name, n) VALUES ('read only', 1)
COMMIT
SET autocommit = 0
INSERT INTO items (name, n) VALUES ('not committed', 1)
SELECT COUNT(*), @@autocommit FROM items
ROLLBACK
SELECT COUNT(*) FROM items
SET autocommit = 1
LOCK TABLES items WRITE, numbers READ
INSERT INTO items (name, n) VALUES ('locked', 60)
SELECT COUNT(*) FROM types
UNLOCK TABLES
DELETE FROM items WHERE n = 60
SELECT GET_LOCK('driver lock', 5)
SELECT IS_USED_LOCK('driver lock') IS NOT NULL
SELECT RELEASE_LOCK('driver lock'), RELEASE_LOCK('driver lock')
PREPARE s FROM 'SELECT ? + 1 AS sum, ? AS text'
SET @x = 41, @y = 'y'
EXECUTE s USING @x, @y
DEALLOCATE PREPARE s
EXECUTE s USING @x, @y
SELECT SQL_CALC_FOUND_ROWS n FROM numbers WHERE n < 100 ORDER BY n LIMIT 2
SELECT FOUND_ROWS()
SET NAMES latin1
SELECT @@character_set_client, @@collation_connection, HEX(CONVERT('abc' USING ucs2))
SET NAMES utf8mb4
SELECT vc, HEX(vc) FROM types WHERE id = 1
SELECT twice(21), DATABASE(), USER() = CURRENT_USER()
USE information_schema
SELECT DATABASE()
USE no_such_database
USE drv
SHOW TABLES
SHOW CREATE TABLE items
DESCRIBE types
SHOW VARIABLES LIKE 'character\_set\_c%'
EXPLAIN SELECT * FROM items WHERE id = 1
CHECK TABLE items
ANALYZE TABLE items
TRUNCATE TABLE loaded
ALTER TABLE items ADD COLUMN extra VARCHAR(10) DEFAULT 'x'
SELECT * FROM items ORDER BY id LIMIT 1
ALTER TABLE items DROP COLUMN extra
DO SLEEP(0)
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'drv'
##sync
SELECT * FROM types ORDER BY id DESC LIMIT 2
SELECT SUM(square), AVG(n), STDDEV(n), MAX(square) FROM numbers
SELECT n, square FROM numbers WHERE n BETWEEN 7 AND 9 ORDER BY n DESC
SELECT e.n, i.name FROM evens e LEFT JOIN items i ON i.id = e.n WHERE e.n < 8 ORDER BY e.n
SELECT COUNT(*) FROM numbers UNION ALL SELECT COUNT(*) FROM items
WITH RECURSIVE c AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM c WHERE n < 5) SELECT n, n * 1.5 FROM c
SELECT n FROM numbers WHERE n > 99999
SELECT MIN(n) FROM numbers WHERE n > 99999
SELECT CAST('x' AS UNSIGNED) FROM numbers WHERE n < 2
SHOW WARNINGS
SELECT twice(n) FROM numbers WHERE n = 5
SELECT @a, @x, @@time_zone, @@sql_mode = @@global.sql_mode
SELECT 1 FROM no_such_table
SELECT SQL_NO_CACHE name FROM items ORDER BY name
