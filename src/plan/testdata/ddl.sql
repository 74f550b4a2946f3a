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
-- ERROR 1235 (42000): shop.orders is sharded; not supported: users, which is not on every shard's group; make it a broadcast table, or leave it out
ALTER TABLE orders DROP COLUMN customer_id;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that takes customer_id, the sharding key, away; its name and place are the rule's
ALTER TABLE orders DROP customer_id;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that takes customer_id, the sharding key, away; its name and place are the rule's
ALTER TABLE orders CHANGE Customer_ID c INT;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that takes customer_id, the sharding key, away; its name and place are the rule's
ALTER TABLE orders RENAME COLUMN customer_id TO c;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: an ALTER TABLE that takes customer_id, the sharding key, away; its name and place are the rule's
ALTER TABLE orders RENAME TO orders_old;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a new name for the table, which its rule names; give the rule another name in the configuration, and rename the shards' tables on each server
ALTER TABLE orders RENAME orders_old;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a new name for the table, which its rule names; give the rule another name in the configuration, and rename the shards' tables on each server
ALTER TABLE orders ADD CONSTRAINT fk FOREIGN KEY (kind) REFERENCES countries (id);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: a constraint's name, which two shards in one database cannot both have; leave the name out
ALTER TABLE orders ADD FOREIGN KEY (id) REFERENCES users (id);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: users, which is not on every shard's group; make it a broadcast table, or leave it out
DROP TABLE orders, items;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: several tables in one DROP TABLE; drop them one by one
RENAME TABLE orders TO orders_old;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: RENAME on sharded and broadcast tables; run it on each group's servers
CREATE TEMPORARY TABLE orders (customer_id INT);
-- ERROR 1235 (42000): shop.orders is sharded; not supported: CREATE on sharded and broadcast tables; run it on each group's servers
CREATE VIEW v AS SELECT * FROM orders;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: CREATE on sharded and broadcast tables; run it on each group's servers
DROP TABLE orders; DROP TABLE items;
-- ERROR 1235 (42000): shop.orders is sharded; not supported: several statements in one; send them one by one
