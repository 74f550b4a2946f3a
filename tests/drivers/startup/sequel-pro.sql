SET NAMES 'utf8mb4'
SELECT @@global.max_allowed_packet
SHOW VARIABLES LIKE 'version'
~SHOW VARIABLES
~SELECT CONNECTION_ID()
~SHOW DATABASES
SELECT USER()
USE `$db`
SELECT DATABASE()
SHOW /*!50002 FULL*/ TABLES
SELECT @@character_set_database
SHOW VARIABLES LIKE 'character_set_database'
SHOW VARIABLES LIKE 'collation_database'
SELECT * FROM information_schema.routines WHERE routine_schema = '$db' ORDER BY routine_name
SELECT * FROM information_schema.character_sets WHERE character_set_name = 'utf8mb4' ORDER BY character_set_name ASC
SELECT * FROM information_schema.collations WHERE collation_name = 'utf8mb4_general_ci'
SELECT engine, support FROM information_schema.engines WHERE support IN ('DEFAULT', 'YES') AND engine = 'InnoDB'
~SHOW TABLE STATUS
~SHOW PROCESSLIST
SHOW VARIABLES WHERE Variable_name IN ('sql_mode', 'time_zone')
