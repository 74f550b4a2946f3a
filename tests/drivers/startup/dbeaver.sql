/* mysql-connector-j-8.2.0 (Revision: 06a1f724497fd81c6a659131fda822c9e5085b6c) */SELECT @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, @@character_set_server AS character_set_server, @@collation_server AS collation_server, @@collation_connection AS collation_connection, @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, @@net_write_timeout AS net_write_timeout, @@performance_schema AS performance_schema, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@tx_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout
SET character_set_results = NULL
SET autocommit=1
SET sql_mode='STRICT_TRANS_TABLES'
SET NAMES utf8mb4
/* ApplicationName=DBeaver 23.3.0 - Main */ SET autocommit=1
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SELECT DATABASE()
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SELECT VERSION()
~/* ApplicationName=DBeaver 23.3.0 - Metadata */ SHOW ENGINES
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SHOW CHARSET LIKE 'utf8mb4'
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SHOW COLLATION LIKE 'utf8mb4_general_ci'
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SELECT @@GLOBAL.character_set_server,@@GLOBAL.collation_server
~/* ApplicationName=DBeaver 23.3.0 - Metadata */ SHOW PLUGINS
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SHOW VARIABLES LIKE 'lower_case_table_names'
~/* ApplicationName=DBeaver 23.3.0 - Metadata */ SHOW DATABASES
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SELECT * FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '$db'
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SHOW FULL TABLES FROM `$db`
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SELECT * FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '$db' ORDER BY ROUTINE_NAME
/* ApplicationName=DBeaver 23.3.0 - Metadata */ SELECT * FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '$db'
~/* ApplicationName=DBeaver 23.3.0 - Metadata */ SHOW PRIVILEGES
SELECT @@session.tx_isolation
SELECT @@session.tx_read_only
SHOW WARNINGS
SELECT 1
~SHOW FULL PROCESSLIST
