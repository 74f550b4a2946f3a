# rows as they come
SELECT id, total FROM orders;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: the whole statement
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id, total FROM `orders_0` AS `orders`
-- shard 1 on s0: SELECT id, total FROM `orders_1` AS `orders`
-- shard 2 on s1: SELECT id, total FROM `orders_2` AS `orders`
-- shard 3 on s1: SELECT id, total FROM `orders_3` AS `orders`
-- merge: rows as they come
SELECT * FROM orders WHERE total > 5 OR customer_id = 3;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT * FROM `orders_0` AS `orders` WHERE total > 5 OR customer_id = 3
-- shard 1 on s0: SELECT * FROM `orders_1` AS `orders` WHERE total > 5 OR customer_id = 3
-- shard 2 on s1: SELECT * FROM `orders_2` AS `orders` WHERE total > 5 OR customer_id = 3
-- shard 3 on s1: SELECT * FROM `orders_3` AS `orders` WHERE total > 5 OR customer_id = 3
-- merge: rows as they come

# two shards by OR, IN, BETWEEN
SELECT id FROM orders WHERE customer_id = 1 OR customer_id = 2;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1, 2]
-- pushed down: WHERE
-- plan: fan-out: 2 shards run at once
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE customer_id = 1 OR customer_id = 2
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE customer_id = 1 OR customer_id = 2
-- merge: rows as they come
SELECT id FROM orders WHERE (customer_id = 1 AND total > 5) OR (customer_id IN (2, 6) AND state = 'x');
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1, 2]
-- pushed down: WHERE
-- plan: fan-out: 2 shards run at once
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE (customer_id = 1 AND total > 5) OR (customer_id IN (2, 6) AND state = 'x')
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE (customer_id = 1 AND total > 5) OR (customer_id IN (2, 6) AND state = 'x')
-- merge: rows as they come
SELECT id FROM orders WHERE customer_id BETWEEN 1 AND 2;
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1, 2]
-- pushed down: WHERE
-- plan: fan-out: 2 shards run at once
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE customer_id BETWEEN 1 AND 2
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE customer_id BETWEEN 1 AND 2
-- merge: rows as they come
SELECT page FROM visits WHERE day >= '2024-06-15' AND day < '2024-08-01';
-- table: visits: date of day over 2 shards; conditions on day leave [0, 1]
-- pushed down: WHERE
-- plan: fan-out: 2 shards run at once
-- shard 0 on s0: SELECT page FROM visits WHERE day >= '2024-06-15' AND day < '2024-08-01'
-- shard 1 on s1: SELECT page FROM visits WHERE day >= '2024-06-15' AND day < '2024-08-01'
-- merge: rows as they come
SELECT v FROM numbers WHERE n < 1500;
-- table: numbers: range of n over 2 shards; conditions on n leave [0, 1]
-- pushed down: WHERE
-- plan: fan-out: 2 shards run at once
-- shard 0 on s0: SELECT v FROM numbers WHERE n < 1500
-- shard 1 on s1: SELECT v FROM numbers WHERE n < 1500
-- merge: rows as they come

# precedence: nothing is concluded from XOR, || and NOT
SELECT id FROM orders WHERE customer_id = 1 AND total XOR state;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` WHERE customer_id = 1 AND total XOR state
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE customer_id = 1 AND total XOR state
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE customer_id = 1 AND total XOR state
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` WHERE customer_id = 1 AND total XOR state
-- merge: rows as they come
SELECT id FROM orders WHERE customer_id = 1 AND total || state;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` WHERE customer_id = 1 AND total || state
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE customer_id = 1 AND total || state
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE customer_id = 1 AND total || state
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` WHERE customer_id = 1 AND total || state
-- merge: rows as they come
SELECT id FROM orders WHERE NOT customer_id = 1;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` WHERE NOT customer_id = 1
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE NOT customer_id = 1
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE NOT customer_id = 1
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` WHERE NOT customer_id = 1
-- merge: rows as they come
SELECT id FROM orders WHERE customer_id = 1 + 1;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` WHERE customer_id = 1 + 1
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE customer_id = 1 + 1
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE customer_id = 1 + 1
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` WHERE customer_id = 1 + 1
-- merge: rows as they come
SELECT id FROM orders WHERE customer_id = 5 = 0;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` WHERE customer_id = 5 = 0
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE customer_id = 5 = 0
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE customer_id = 5 = 0
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` WHERE customer_id = 5 = 0
-- merge: rows as they come
SELECT id FROM orders WHERE customer_id NOT IN (1, 2);
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` WHERE customer_id NOT IN (1, 2)
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE customer_id NOT IN (1, 2)
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE customer_id NOT IN (1, 2)
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` WHERE customer_id NOT IN (1, 2)
-- merge: rows as they come
SELECT balance FROM accounts WHERE name = 5;
-- table: accounts: hash of name over 2 shards; no condition on name leaves any out
-- pushed down: WHERE
-- plan: fan-out: 2 shards run at once
-- shard 0 on s0: SELECT balance FROM accounts WHERE name = 5
-- shard 1 on s1: SELECT balance FROM `vault`.`accounts` AS `accounts` WHERE name = 5
-- merge: rows as they come
SELECT balance FROM accounts WHERE name = 'Jürgen';
-- table: accounts: hash of name over 2 shards; no condition on name leaves any out
-- pushed down: WHERE
-- plan: fan-out: 2 shards run at once
-- shard 0 on s0: SELECT balance FROM accounts WHERE name = 'Jürgen'
-- shard 1 on s1: SELECT balance FROM `vault`.`accounts` AS `accounts` WHERE name = 'Jürgen'
-- merge: rows as they come

# ordered: numbers and times by value, text by its weight, enums by number
SELECT id, total FROM orders ORDER BY total DESC, id LIMIT 10;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: ORDER BY; LIMIT 10
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id, total FROM `orders_0` AS `orders` ORDER BY total DESC, id LIMIT 10
-- shard 1 on s0: SELECT id, total FROM `orders_1` AS `orders` ORDER BY total DESC, id LIMIT 10
-- shard 2 on s1: SELECT id, total FROM `orders_2` AS `orders` ORDER BY total DESC, id LIMIT 10
-- shard 3 on s1: SELECT id, total FROM `orders_3` AS `orders` ORDER BY total DESC, id LIMIT 10
-- merge: order: column 2 (number) desc, column 1 (number)
-- merge: limit: 10 rows from 0
SELECT id, state FROM orders ORDER BY state, kind DESC LIMIT 5, 10;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: ORDER BY; LIMIT 15
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id, state, WEIGHT_STRING(state AS CHAR(10)), kind + 0 FROM `orders_0` AS `orders` ORDER BY state, kind DESC LIMIT 15
-- shard 1 on s0: SELECT id, state, WEIGHT_STRING(state AS CHAR(10)), kind + 0 FROM `orders_1` AS `orders` ORDER BY state, kind DESC LIMIT 15
-- shard 2 on s1: SELECT id, state, WEIGHT_STRING(state AS CHAR(10)), kind + 0 FROM `orders_2` AS `orders` ORDER BY state, kind DESC LIMIT 15
-- shard 3 on s1: SELECT id, state, WEIGHT_STRING(state AS CHAR(10)), kind + 0 FROM `orders_3` AS `orders` ORDER BY state, kind DESC LIMIT 15
-- merge: order: hidden 1 (bytes), hidden 2 (number) desc
-- merge: limit: 10 rows from 5
-- merge: hidden: the last 2 columns are left out
SELECT * FROM orders o ORDER BY at LIMIT 10 OFFSET 2;
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: ORDER BY; LIMIT 12
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT *, at FROM `orders_0` o ORDER BY at LIMIT 12
-- shard 1 on s0: SELECT *, at FROM `orders_1` o ORDER BY at LIMIT 12
-- shard 2 on s1: SELECT *, at FROM `orders_2` o ORDER BY at LIMIT 12
-- shard 3 on s1: SELECT *, at FROM `orders_3` o ORDER BY at LIMIT 12
-- merge: order: hidden 1 (time)
-- merge: limit: 10 rows from 2
-- merge: hidden: the last 1 columns are left out
SELECT sku, name FROM items ORDER BY name, sku;
-- table: items: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT sku, name, WEIGHT_STRING(name), WEIGHT_STRING(sku AS CHAR(20)) FROM `items_0` AS `items` ORDER BY name, sku
-- shard 1 on s0: SELECT sku, name, WEIGHT_STRING(name), WEIGHT_STRING(sku AS CHAR(20)) FROM `items_1` AS `items` ORDER BY name, sku
-- shard 2 on s1: SELECT sku, name, WEIGHT_STRING(name), WEIGHT_STRING(sku AS CHAR(20)) FROM `items_2` AS `items` ORDER BY name, sku
-- shard 3 on s1: SELECT sku, name, WEIGHT_STRING(name), WEIGHT_STRING(sku AS CHAR(20)) FROM `items_3` AS `items` ORDER BY name, sku
-- merge: order: hidden 1 (bytes), hidden 2 (bytes)
-- merge: hidden: the last 2 columns are left out
SELECT id, total * 2 AS double_total FROM orders ORDER BY double_total, YEAR(at) DESC;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id, total * 2 AS double_total, YEAR(at) FROM `orders_0` AS `orders` ORDER BY double_total, YEAR(at) DESC
-- shard 1 on s0: SELECT id, total * 2 AS double_total, YEAR(at) FROM `orders_1` AS `orders` ORDER BY double_total, YEAR(at) DESC
-- shard 2 on s1: SELECT id, total * 2 AS double_total, YEAR(at) FROM `orders_2` AS `orders` ORDER BY double_total, YEAR(at) DESC
-- shard 3 on s1: SELECT id, total * 2 AS double_total, YEAR(at) FROM `orders_3` AS `orders` ORDER BY double_total, YEAR(at) DESC
-- merge: order: column 2 (number), hidden 1 (number) desc
-- merge: hidden: the last 1 columns are left out
SELECT id FROM orders ORDER BY 1 DESC;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` ORDER BY 1 DESC
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` ORDER BY 1 DESC
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` ORDER BY 1 DESC
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` ORDER BY 1 DESC
-- merge: order: column 1 (number) desc

# distinct
SELECT DISTINCT customer_id, state FROM orders;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: DISTINCT; ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT DISTINCT customer_id, state, WEIGHT_STRING(state AS CHAR(10)) FROM `orders_0` AS `orders` ORDER BY customer_id, state
-- shard 1 on s0: SELECT DISTINCT customer_id, state, WEIGHT_STRING(state AS CHAR(10)) FROM `orders_1` AS `orders` ORDER BY customer_id, state
-- shard 2 on s1: SELECT DISTINCT customer_id, state, WEIGHT_STRING(state AS CHAR(10)) FROM `orders_2` AS `orders` ORDER BY customer_id, state
-- shard 3 on s1: SELECT DISTINCT customer_id, state, WEIGHT_STRING(state AS CHAR(10)) FROM `orders_3` AS `orders` ORDER BY customer_id, state
-- merge: distinct: rows equal in all keys are one
-- merge: order: column 1 (number), hidden 1 (bytes)
-- merge: hidden: the last 1 columns are left out
SELECT DISTINCT state, id FROM orders ORDER BY id DESC LIMIT 3;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: DISTINCT; ORDER BY; LIMIT 3
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT DISTINCT state, id, WEIGHT_STRING(state AS CHAR(10)) FROM `orders_0` AS `orders` ORDER BY id DESC, state  LIMIT 3
-- shard 1 on s0: SELECT DISTINCT state, id, WEIGHT_STRING(state AS CHAR(10)) FROM `orders_1` AS `orders` ORDER BY id DESC, state  LIMIT 3
-- shard 2 on s1: SELECT DISTINCT state, id, WEIGHT_STRING(state AS CHAR(10)) FROM `orders_2` AS `orders` ORDER BY id DESC, state  LIMIT 3
-- shard 3 on s1: SELECT DISTINCT state, id, WEIGHT_STRING(state AS CHAR(10)) FROM `orders_3` AS `orders` ORDER BY id DESC, state  LIMIT 3
-- merge: distinct: rows equal in all keys are one
-- merge: order: column 2 (number) desc, hidden 1 (bytes)
-- merge: limit: 3 rows from 0
-- merge: hidden: the last 1 columns are left out

# aggregates over everything
SELECT COUNT(*), SUM(total), AVG(total), MIN(at), MAX(state), BIT_OR(id) FROM orders;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: aggregates, of a shard's own rows; ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT COUNT(*), SUM(total), AVG(total), MIN(at), MAX(state), BIT_OR(id), SUM(total), COUNT(total), WEIGHT_STRING(MAX(state) AS CHAR(10)) FROM `orders_0` AS `orders`
-- shard 1 on s0: SELECT COUNT(*), SUM(total), AVG(total), MIN(at), MAX(state), BIT_OR(id), SUM(total), COUNT(total), WEIGHT_STRING(MAX(state) AS CHAR(10)) FROM `orders_1` AS `orders`
-- shard 2 on s1: SELECT COUNT(*), SUM(total), AVG(total), MIN(at), MAX(state), BIT_OR(id), SUM(total), COUNT(total), WEIGHT_STRING(MAX(state) AS CHAR(10)) FROM `orders_2` AS `orders`
-- shard 3 on s1: SELECT COUNT(*), SUM(total), AVG(total), MIN(at), MAX(state), BIT_OR(id), SUM(total), COUNT(total), WEIGHT_STRING(MAX(state) AS CHAR(10)) FROM `orders_3` AS `orders`
-- merge: group: all rows
-- merge: aggregate: column 1 summed up
-- merge: aggregate: column 2 summed up
-- merge: aggregate: hidden 1 summed up
-- merge: aggregate: hidden 2 summed up
-- merge: aggregate: column 3 hidden 1 / hidden 2
-- merge: aggregate: column 4 least by column 4 (time)
-- merge: aggregate: column 5 greatest by hidden 3 (bytes)
-- merge: aggregate: column 6 OR of the bits
-- merge: hidden: the last 3 columns are left out
SELECT COUNT(*) FROM orders WHERE state = 'new';
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE; aggregates, of a shard's own rows; ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT COUNT(*) FROM `orders_0` AS `orders` WHERE state = 'new'
-- shard 1 on s0: SELECT COUNT(*) FROM `orders_1` AS `orders` WHERE state = 'new'
-- shard 2 on s1: SELECT COUNT(*) FROM `orders_2` AS `orders` WHERE state = 'new'
-- shard 3 on s1: SELECT COUNT(*) FROM `orders_3` AS `orders` WHERE state = 'new'
-- merge: group: all rows
-- merge: aggregate: column 1 summed up

# groups
SELECT state, COUNT(*) FROM orders GROUP BY state;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: GROUP BY, to one row a group and shard; aggregates, of a shard's own rows; ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT state, COUNT(*), WEIGHT_STRING(state AS CHAR(10)) FROM `orders_0` AS `orders` GROUP BY state ORDER BY state
-- shard 1 on s0: SELECT state, COUNT(*), WEIGHT_STRING(state AS CHAR(10)) FROM `orders_1` AS `orders` GROUP BY state ORDER BY state
-- shard 2 on s1: SELECT state, COUNT(*), WEIGHT_STRING(state AS CHAR(10)) FROM `orders_2` AS `orders` GROUP BY state ORDER BY state
-- shard 3 on s1: SELECT state, COUNT(*), WEIGHT_STRING(state AS CHAR(10)) FROM `orders_3` AS `orders` GROUP BY state ORDER BY state
-- merge: group: hidden 1 (bytes)
-- merge: aggregate: column 2 summed up
-- merge: hidden: the last 1 columns are left out
SELECT state, COUNT(*) c, AVG(total) FROM orders GROUP BY state ORDER BY state DESC LIMIT 2;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: GROUP BY, to one row a group and shard; aggregates, of a shard's own rows; ORDER BY; LIMIT 2
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT state, COUNT(*) c, AVG(total), WEIGHT_STRING(state AS CHAR(10)), SUM(total), COUNT(total) FROM `orders_0` AS `orders` GROUP BY state ORDER BY state DESC  LIMIT 2
-- shard 1 on s0: SELECT state, COUNT(*) c, AVG(total), WEIGHT_STRING(state AS CHAR(10)), SUM(total), COUNT(total) FROM `orders_1` AS `orders` GROUP BY state ORDER BY state DESC  LIMIT 2
-- shard 2 on s1: SELECT state, COUNT(*) c, AVG(total), WEIGHT_STRING(state AS CHAR(10)), SUM(total), COUNT(total) FROM `orders_2` AS `orders` GROUP BY state ORDER BY state DESC  LIMIT 2
-- shard 3 on s1: SELECT state, COUNT(*) c, AVG(total), WEIGHT_STRING(state AS CHAR(10)), SUM(total), COUNT(total) FROM `orders_3` AS `orders` GROUP BY state ORDER BY state DESC  LIMIT 2
-- merge: group: hidden 1 (bytes) desc
-- merge: aggregate: column 2 summed up
-- merge: aggregate: hidden 2 summed up
-- merge: aggregate: hidden 3 summed up
-- merge: aggregate: column 3 hidden 2 / hidden 3
-- merge: order: hidden 1 (bytes) desc
-- merge: limit: 2 rows from 0
-- merge: hidden: the last 3 columns are left out
SELECT YEAR(at), customer_id, SUM(total) FROM orders GROUP BY YEAR(at), customer_id ORDER BY customer_id, 1 DESC;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: GROUP BY, to one row a group and shard; aggregates, of a shard's own rows; ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT YEAR(at), customer_id, SUM(total) FROM `orders_0` AS `orders` GROUP BY YEAR(at), customer_id ORDER BY customer_id, YEAR(at) DESC 
-- shard 1 on s0: SELECT YEAR(at), customer_id, SUM(total) FROM `orders_1` AS `orders` GROUP BY YEAR(at), customer_id ORDER BY customer_id, YEAR(at) DESC 
-- shard 2 on s1: SELECT YEAR(at), customer_id, SUM(total) FROM `orders_2` AS `orders` GROUP BY YEAR(at), customer_id ORDER BY customer_id, YEAR(at) DESC 
-- shard 3 on s1: SELECT YEAR(at), customer_id, SUM(total) FROM `orders_3` AS `orders` GROUP BY YEAR(at), customer_id ORDER BY customer_id, YEAR(at) DESC 
-- merge: group: column 2 (number), column 1 (number) desc
-- merge: aggregate: column 3 summed up
-- merge: order: column 2 (number), column 1 (number) desc
SELECT state, COUNT(*) FROM orders GROUP BY state ORDER BY COUNT(*) DESC, state LIMIT 10;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: GROUP BY, to one row a group and shard; aggregates, of a shard's own rows; ORDER BY
-- not pushed down: LIMIT stays with the merge: which groups come first is known only when all shards' are together
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT state, COUNT(*), WEIGHT_STRING(state AS CHAR(10)), WEIGHT_STRING(state AS CHAR(10)) FROM `orders_0` AS `orders` GROUP BY state ORDER BY state  
-- shard 1 on s0: SELECT state, COUNT(*), WEIGHT_STRING(state AS CHAR(10)), WEIGHT_STRING(state AS CHAR(10)) FROM `orders_1` AS `orders` GROUP BY state ORDER BY state  
-- shard 2 on s1: SELECT state, COUNT(*), WEIGHT_STRING(state AS CHAR(10)), WEIGHT_STRING(state AS CHAR(10)) FROM `orders_2` AS `orders` GROUP BY state ORDER BY state  
-- shard 3 on s1: SELECT state, COUNT(*), WEIGHT_STRING(state AS CHAR(10)), WEIGHT_STRING(state AS CHAR(10)) FROM `orders_3` AS `orders` GROUP BY state ORDER BY state  
-- merge: group: hidden 1 (bytes)
-- merge: aggregate: column 2 summed up
-- merge: order: column 2 (number) desc, hidden 2 (bytes)
-- merge: limit: 10 rows from 0
-- merge: hidden: the last 2 columns are left out
SELECT YEAR(at) y, MAX(total) m FROM orders GROUP BY y ORDER BY m LIMIT 1;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: GROUP BY, to one row a group and shard; aggregates, of a shard's own rows; ORDER BY
-- not pushed down: LIMIT stays with the merge: which groups come first is known only when all shards' are together
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT YEAR(at) y, MAX(total) m FROM `orders_0` AS `orders` GROUP BY y ORDER BY YEAR(at)  
-- shard 1 on s0: SELECT YEAR(at) y, MAX(total) m FROM `orders_1` AS `orders` GROUP BY y ORDER BY YEAR(at)  
-- shard 2 on s1: SELECT YEAR(at) y, MAX(total) m FROM `orders_2` AS `orders` GROUP BY y ORDER BY YEAR(at)  
-- shard 3 on s1: SELECT YEAR(at) y, MAX(total) m FROM `orders_3` AS `orders` GROUP BY y ORDER BY YEAR(at)  
-- merge: group: column 1 (number)
-- merge: aggregate: column 2 greatest by column 2 (number)
-- merge: order: column 2 (number)
-- merge: limit: 1 rows from 0

# joins that stay in each shard
SELECT o.id, i.sku FROM orders o JOIN items i ON i.customer_id = o.customer_id AND i.order_id = o.id ORDER BY o.id;
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: i: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: joins (equal keys are in one shard); ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT o.id, i.sku FROM `orders_0` o JOIN `items_0` i ON i.customer_id = o.customer_id AND i.order_id = o.id ORDER BY o.id
-- shard 1 on s0: SELECT o.id, i.sku FROM `orders_1` o JOIN `items_1` i ON i.customer_id = o.customer_id AND i.order_id = o.id ORDER BY o.id
-- shard 2 on s1: SELECT o.id, i.sku FROM `orders_2` o JOIN `items_2` i ON i.customer_id = o.customer_id AND i.order_id = o.id ORDER BY o.id
-- shard 3 on s1: SELECT o.id, i.sku FROM `orders_3` o JOIN `items_3` i ON i.customer_id = o.customer_id AND i.order_id = o.id ORDER BY o.id
-- merge: order: column 1 (number)
SELECT o.id, i.sku FROM orders o LEFT JOIN items i ON i.customer_id = o.customer_id WHERE o.total > 3;
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: i: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE; joins (equal keys are in one shard)
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT o.id, i.sku FROM `orders_0` o LEFT JOIN `items_0` i ON i.customer_id = o.customer_id WHERE o.total > 3
-- shard 1 on s0: SELECT o.id, i.sku FROM `orders_1` o LEFT JOIN `items_1` i ON i.customer_id = o.customer_id WHERE o.total > 3
-- shard 2 on s1: SELECT o.id, i.sku FROM `orders_2` o LEFT JOIN `items_2` i ON i.customer_id = o.customer_id WHERE o.total > 3
-- shard 3 on s1: SELECT o.id, i.sku FROM `orders_3` o LEFT JOIN `items_3` i ON i.customer_id = o.customer_id WHERE o.total > 3
-- merge: rows as they come
SELECT o.id, c.name FROM orders o LEFT JOIN countries c ON c.id = o.id;
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: countries is broadcast: the same rows on 2 groups
-- pushed down: joins (equal keys are in one shard)
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT o.id, c.name FROM `orders_0` o LEFT JOIN countries c ON c.id = o.id
-- shard 1 on s0: SELECT o.id, c.name FROM `orders_1` o LEFT JOIN countries c ON c.id = o.id
-- shard 2 on s1: SELECT o.id, c.name FROM `orders_2` o LEFT JOIN countries c ON c.id = o.id
-- shard 3 on s1: SELECT o.id, c.name FROM `orders_3` o LEFT JOIN countries c ON c.id = o.id
-- merge: rows as they come
SELECT customer_id, COUNT(*) FROM orders JOIN items USING (customer_id) GROUP BY customer_id;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: items: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: joins (equal keys are in one shard); GROUP BY, to one row a group and shard; aggregates, of a shard's own rows; ORDER BY
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT customer_id, COUNT(*) FROM `orders_0` AS `orders` JOIN `items_0` AS `items` USING (customer_id) GROUP BY customer_id ORDER BY customer_id
-- shard 1 on s0: SELECT customer_id, COUNT(*) FROM `orders_1` AS `orders` JOIN `items_1` AS `items` USING (customer_id) GROUP BY customer_id ORDER BY customer_id
-- shard 2 on s1: SELECT customer_id, COUNT(*) FROM `orders_2` AS `orders` JOIN `items_2` AS `items` USING (customer_id) GROUP BY customer_id ORDER BY customer_id
-- shard 3 on s1: SELECT customer_id, COUNT(*) FROM `orders_3` AS `orders` JOIN `items_3` AS `items` USING (customer_id) GROUP BY customer_id ORDER BY customer_id
-- merge: group: column 1 (number)
-- merge: aggregate: column 2 summed up

# subqueries that stay in each shard
SELECT id FROM orders o WHERE EXISTS (SELECT * FROM items i WHERE i.customer_id = o.customer_id AND i.qty > 2);
-- table: o: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: i: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE; joins (equal keys are in one shard)
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` o WHERE EXISTS (SELECT * FROM `items_0` i WHERE i.customer_id = o.customer_id AND i.qty > 2)
-- shard 1 on s0: SELECT id FROM `orders_1` o WHERE EXISTS (SELECT * FROM `items_1` i WHERE i.customer_id = o.customer_id AND i.qty > 2)
-- shard 2 on s1: SELECT id FROM `orders_2` o WHERE EXISTS (SELECT * FROM `items_2` i WHERE i.customer_id = o.customer_id AND i.qty > 2)
-- shard 3 on s1: SELECT id FROM `orders_3` o WHERE EXISTS (SELECT * FROM `items_3` i WHERE i.customer_id = o.customer_id AND i.qty > 2)
-- merge: rows as they come
SELECT id, (SELECT MAX(qty) FROM items i WHERE i.customer_id = orders.customer_id) FROM orders WHERE customer_id IN (1, 2);
-- table: i: mod of customer_id over 4 shards; conditions on customer_id leave [1, 2]
-- table: orders: mod of customer_id over 4 shards; conditions on customer_id leave [1, 2]
-- pushed down: WHERE; joins (equal keys are in one shard)
-- plan: fan-out: 2 shards run at once
-- shard 1 on s0: SELECT id, (SELECT MAX(qty) FROM `items_1` i WHERE i.customer_id = orders.customer_id) AS `(SELECT MAX(qty) FROM items i WHERE i.customer_id = orders.customer_id)` FROM `orders_1` AS `orders` WHERE customer_id IN (1)
-- shard 2 on s1: SELECT id, (SELECT MAX(qty) FROM `items_2` i WHERE i.customer_id = orders.customer_id) AS `(SELECT MAX(qty) FROM items i WHERE i.customer_id = orders.customer_id)` FROM `orders_2` AS `orders` WHERE customer_id IN (2)
-- merge: rows as they come
SELECT id FROM orders WHERE customer_id IN (SELECT customer_id FROM items WHERE qty > 3);
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: items: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE; joins (equal keys are in one shard)
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` WHERE customer_id IN (SELECT customer_id FROM `items_0` AS `items` WHERE qty > 3)
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE customer_id IN (SELECT customer_id FROM `items_1` AS `items` WHERE qty > 3)
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE customer_id IN (SELECT customer_id FROM `items_2` AS `items` WHERE qty > 3)
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` WHERE customer_id IN (SELECT customer_id FROM `items_3` AS `items` WHERE qty > 3)
-- merge: rows as they come
SELECT id FROM orders WHERE id IN (SELECT id FROM countries);
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- table: countries is broadcast: the same rows on 2 groups
-- pushed down: WHERE; joins (equal keys are in one shard)
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` WHERE id IN (SELECT id FROM countries)
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE id IN (SELECT id FROM countries)
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE id IN (SELECT id FROM countries)
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` WHERE id IN (SELECT id FROM countries)
-- merge: rows as they come

# locking reads run on primaries
SELECT id FROM orders WHERE state = 'x' FOR UPDATE;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: WHERE
-- plan: fan-out, on primaries: 4 shards run at once
-- shard 0 on s0: SELECT id FROM `orders_0` AS `orders` WHERE state = 'x' FOR UPDATE
-- shard 1 on s0: SELECT id FROM `orders_1` AS `orders` WHERE state = 'x' FOR UPDATE
-- shard 2 on s1: SELECT id FROM `orders_2` AS `orders` WHERE state = 'x' FOR UPDATE
-- shard 3 on s1: SELECT id FROM `orders_3` AS `orders` WHERE state = 'x' FOR UPDATE
-- merge: rows as they come

# MySQL under IGNORE_SPACE takes the space behind a word for a part of the column's name
SELECT id, -total + id  FROM orders ORDER BY -id LIMIT 2;
-- table: orders: mod of customer_id over 4 shards; no condition on customer_id leaves any out
-- pushed down: ORDER BY; LIMIT 2
-- plan: fan-out: 4 shards run at once
-- shard 0 on s0: SELECT id, -total + id  , -id FROM `orders_0` AS `orders` ORDER BY -id LIMIT 2
-- shard 1 on s0: SELECT id, -total + id  , -id FROM `orders_1` AS `orders` ORDER BY -id LIMIT 2
-- shard 2 on s1: SELECT id, -total + id  , -id FROM `orders_2` AS `orders` ORDER BY -id LIMIT 2
-- shard 3 on s1: SELECT id, -total + id  , -id FROM `orders_3` AS `orders` ORDER BY -id LIMIT 2
-- merge: order: hidden 1 (number)
-- merge: limit: 2 rows from 0
-- merge: hidden: the last 1 columns are left out
