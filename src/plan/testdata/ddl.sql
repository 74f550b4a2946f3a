# Changes of a table's definition: a statement for each shard.

CREATE TABLE orders (id BIGINT, customer_id INT NOT NULL, PRIMARY KEY (id, customer_id));
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: CREATE TABLE `shop`.`orders_0` (id BIGINT, customer_id INT NOT NULL, PRIMARY KEY (id, customer_id))
-- shard 1 on s0: CREATE TABLE `shop`.`orders_1` (id BIGINT, customer_id INT NOT NULL, PRIMARY KEY (id, customer_id))
-- shard 2 on s1: CREATE TABLE `shop`.`orders_2` (id BIGINT, customer_id INT NOT NULL, PRIMARY KEY (id, customer_id))
-- shard 3 on s1: CREATE TABLE `shop`.`orders_3` (id BIGINT, customer_id INT NOT NULL, PRIMARY KEY (id, customer_id))
create table if not exists shop.`orders` (`customer_id` int) /* why */ engine=InnoDB;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: create table if not exists `shop`.`orders_0` (`customer_id` int) /* why */ engine=InnoDB
-- shard 1 on s0: create table if not exists `shop`.`orders_1` (`customer_id` int) /* why */ engine=InnoDB
-- shard 2 on s1: create table if not exists `shop`.`orders_2` (`customer_id` int) /* why */ engine=InnoDB
-- shard 3 on s1: create table if not exists `shop`.`orders_3` (`customer_id` int) /* why */ engine=InnoDB
ALTER TABLE orders ADD COLUMN x INT, ADD INDEX (x), DROP COLUMN note, DROP INDEX state;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: ALTER TABLE `shop`.`orders_0` ADD COLUMN x INT, ADD INDEX (x), DROP COLUMN note, DROP INDEX state
-- shard 1 on s0: ALTER TABLE `shop`.`orders_1` ADD COLUMN x INT, ADD INDEX (x), DROP COLUMN note, DROP INDEX state
-- shard 2 on s1: ALTER TABLE `shop`.`orders_2` ADD COLUMN x INT, ADD INDEX (x), DROP COLUMN note, DROP INDEX state
-- shard 3 on s1: ALTER TABLE `shop`.`orders_3` ADD COLUMN x INT, ADD INDEX (x), DROP COLUMN note, DROP INDEX state
DROP TABLE IF EXISTS orders;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: DROP TABLE IF EXISTS `shop`.`orders_0`
-- shard 1 on s0: DROP TABLE IF EXISTS `shop`.`orders_1`
-- shard 2 on s1: DROP TABLE IF EXISTS `shop`.`orders_2`
-- shard 3 on s1: DROP TABLE IF EXISTS `shop`.`orders_3`
TRUNCATE orders;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: TRUNCATE `shop`.`orders_0`
-- shard 1 on s0: TRUNCATE `shop`.`orders_1`
-- shard 2 on s1: TRUNCATE `shop`.`orders_2`
-- shard 3 on s1: TRUNCATE `shop`.`orders_3`
TRUNCATE TABLE countries;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: TRUNCATE TABLE `shop`.`countries`
-- shard 1 on s1: TRUNCATE TABLE `shop`.`countries`
CREATE UNIQUE INDEX by_state ON orders (customer_id, state);
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: CREATE UNIQUE INDEX by_state ON `shop`.`orders_0` (customer_id, state)
-- shard 1 on s0: CREATE UNIQUE INDEX by_state ON `shop`.`orders_1` (customer_id, state)
-- shard 2 on s1: CREATE UNIQUE INDEX by_state ON `shop`.`orders_2` (customer_id, state)
-- shard 3 on s1: CREATE UNIQUE INDEX by_state ON `shop`.`orders_3` (customer_id, state)
DROP INDEX `on` ON orders;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: DROP INDEX `on` ON `shop`.`orders_0`
-- shard 1 on s0: DROP INDEX `on` ON `shop`.`orders_1`
-- shard 2 on s1: DROP INDEX `on` ON `shop`.`orders_2`
-- shard 3 on s1: DROP INDEX `on` ON `shop`.`orders_3`
CREATE TABLE items LIKE orders;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: CREATE TABLE `shop`.`items_0` LIKE `shop`.`orders_0`
-- shard 1 on s0: CREATE TABLE `shop`.`items_1` LIKE `shop`.`orders_1`
-- shard 2 on s1: CREATE TABLE `shop`.`items_2` LIKE `shop`.`orders_2`
-- shard 3 on s1: CREATE TABLE `shop`.`items_3` LIKE `shop`.`orders_3`
ALTER TABLE items ADD FOREIGN KEY (customer_id) REFERENCES orders (customer_id);
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: ALTER TABLE `shop`.`items_0` ADD FOREIGN KEY (customer_id) REFERENCES `shop`.`orders_0` (customer_id)
-- shard 1 on s0: ALTER TABLE `shop`.`items_1` ADD FOREIGN KEY (customer_id) REFERENCES `shop`.`orders_1` (customer_id)
-- shard 2 on s1: ALTER TABLE `shop`.`items_2` ADD FOREIGN KEY (customer_id) REFERENCES `shop`.`orders_2` (customer_id)
-- shard 3 on s1: ALTER TABLE `shop`.`items_3` ADD FOREIGN KEY (customer_id) REFERENCES `shop`.`orders_3` (customer_id)
ALTER TABLE orders CHANGE customer_id Customer_ID BIGINT NOT NULL;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: ALTER TABLE `shop`.`orders_0` CHANGE customer_id Customer_ID BIGINT NOT NULL
-- shard 1 on s0: ALTER TABLE `shop`.`orders_1` CHANGE customer_id Customer_ID BIGINT NOT NULL
-- shard 2 on s1: ALTER TABLE `shop`.`orders_2` CHANGE customer_id Customer_ID BIGINT NOT NULL
-- shard 3 on s1: ALTER TABLE `shop`.`orders_3` CHANGE customer_id Customer_ID BIGINT NOT NULL
ALTER TABLE orders ADD COLUMN exchange INT;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: ALTER TABLE `shop`.`orders_0` ADD COLUMN exchange INT
-- shard 1 on s0: ALTER TABLE `shop`.`orders_1` ADD COLUMN exchange INT
-- shard 2 on s1: ALTER TABLE `shop`.`orders_2` ADD COLUMN exchange INT
-- shard 3 on s1: ALTER TABLE `shop`.`orders_3` ADD COLUMN exchange INT
DROP TABLE IF EXISTS orders, users, countries;
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: DROP TABLE IF EXISTS `shop`.`orders_0`
-- shard 1 on s0: DROP TABLE IF EXISTS `shop`.`orders_1`
-- shard 2 on s1: DROP TABLE IF EXISTS `shop`.`orders_2`
-- shard 3 on s1: DROP TABLE IF EXISTS `shop`.`orders_3`
-- shard 0 on home: DROP TABLE IF EXISTS `shop`.`users`
-- shard 0 on s0: DROP TABLE IF EXISTS `shop`.`countries`
-- shard 1 on s1: DROP TABLE IF EXISTS `shop`.`countries`
ALTER TABLE orders ADD FOREIGN KEY (kind) REFERENCES countries (id);
-- plan: definition: one shard after the other, kept as a job that can be resumed
-- shard 0 on s0: ALTER TABLE `shop`.`orders_0` ADD FOREIGN KEY (kind) REFERENCES `shop`.`countries` (id)
-- shard 1 on s0: ALTER TABLE `shop`.`orders_1` ADD FOREIGN KEY (kind) REFERENCES `shop`.`countries` (id)
-- shard 2 on s1: ALTER TABLE `shop`.`orders_2` ADD FOREIGN KEY (kind) REFERENCES `shop`.`countries` (id)
-- shard 3 on s1: ALTER TABLE `shop`.`orders_3` ADD FOREIGN KEY (kind) REFERENCES `shop`.`countries` (id)

# refused

CREATE TABLE orders (id BIGINT);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a CREATE TABLE without customer_id, the sharding key; add the column
CREATE TABLE orders (customer_id INT) SELECT 1 AS customer_id;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: CREATE TABLE … SELECT; create the table, then insert the rows
CREATE TABLE orders LIKE users;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: CREATE TABLE … LIKE a table that is not sharded; write the columns
ALTER TABLE orders DROP COLUMN customer_id;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that takes customer_id, the sharding key, away; its name and place are the rule's
ALTER TABLE orders DROP customer_id;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that takes customer_id, the sharding key, away; its name and place are the rule's
ALTER TABLE orders CHANGE Customer_ID c INT;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that takes customer_id, the sharding key, away; its name and place are the rule's
ALTER TABLE orders RENAME COLUMN customer_id TO c;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that takes customer_id, the sharding key, away; its name and place are the rule's
ALTER TABLE orders RENAME TO orders_old;
-- ERROR 1235 (42000): RENAME of shop.orders; not supported: its rule is in the configuration, which Umpire does not write; give the rule another name there, with the shards' tables as they are, and reload
ALTER TABLE orders RENAME orders_old;
-- ERROR 1235 (42000): RENAME of shop.orders; not supported: its rule is in the configuration, which Umpire does not write; give the rule another name there, with the shards' tables as they are, and reload
ALTER TABLE orders ADD COLUMN x INT, RENAME TO orders_old;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a new name for the table together with other changes; rename it by a statement of its own
ALTER TABLE orders MODIFY customer_id SMALLINT;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that may change values of customer_id (int), the sharding key; a type of the same kind that holds all its values; rows would be on the wrong shards otherwise
ALTER TABLE orders CHANGE COLUMN customer_id customer_id VARCHAR(20) NOT NULL;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that may change values of customer_id (int), the sharding key; a type of the same kind that holds all its values; rows would be on the wrong shards otherwise
ALTER TABLE orders MODIFY customer_id BIGINT UNSIGNED;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that may change values of customer_id (int), the sharding key; a type of the same kind that holds all its values; rows would be on the wrong shards otherwise
CREATE TABLE orders (id INT, customer_id DECIMAL(5));
-- ERROR 1235 (42000): shop.orders is sharded; not supported: customer_id as the sharding key: this method needs an integer column; give it another type, or the table another method
CREATE TABLE orders (customer_id INT) AS TABLE users;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: CREATE TABLE … SELECT; create the table, then insert the rows
CREATE TABLE orders (customer_id INT) VALUES ROW(1);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: CREATE TABLE … SELECT; create the table, then insert the rows
CREATE TABLE orders LIKE countries;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: CREATE TABLE … LIKE a table that is not sharded; write the columns
RENAME TABLE users TO orders;
-- ERROR 1235 (42000): RENAME to shop.orders; not supported: there is a rule for shop.orders, which would then mean another table
RENAME TABLE users TO a, orders TO users;
-- ERROR 1235 (42000): RENAME of a sharded table; not supported: users comes twice, and between two steps statements would see half of either table; use names in between, in statements of their own
ALTER TABLE orders ADD CONSTRAINT fk FOREIGN KEY (kind) REFERENCES countries (id);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a constraint's name, which two shards in one database cannot both have; leave the name out
ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES users (id);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: users, which is not on every shard's group; make it a broadcast table, or leave it out
RENAME TABLE orders TO orders_old;
-- ERROR 1235 (42000): RENAME of shop.orders; not supported: its rule is in the configuration, which Umpire does not write; give the rule another name there, with the shards' tables as they are, and reload
CREATE TEMPORARY TABLE orders (customer_id INT);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: CREATE TABLE without a rule from a sharded table (LIKE, SELECT, a foreign key); give it a rule in a comment or the configuration, or write its columns
CREATE VIEW v AS SELECT * FROM orders;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: CREATE VIEW over sharded tables: a server would show its own shards alone; send the view's SELECT itself, or a WITH in front of the statement
DROP TABLE orders; DROP TABLE items;
-- ERROR 1235 (42000): DROP TABLE of a sharded table; not supported in this form: DROP TABLE [IF EXISTS] name [, name] is
