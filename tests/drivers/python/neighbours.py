"""Clients on the drivers' account that change all the state that a server connection has, and leave in every way."""
import os
import random
import sys
import threading
import time

import pymysql

COUNT, QUIET = int(sys.argv[1]), sys.argv[2]

SETTINGS = [
    "SET NAMES latin1", "SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET CHARACTER SET cp1251",
    "SET time_zone = '+05:45'", "SET sql_mode = ''", "SET sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
    "SET autocommit = 0", "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED", "SET group_concat_max_len = 4",
    "SET sql_select_limit = 1", "SET foreign_key_checks = 0", "SET @a = 'noise', @x = 99", "SET timestamp = 1",
    "SET lc_time_names = 'de_DE'", "SET innodb_lock_wait_timeout = 3", "SET max_error_count = 1", "USE other", "USE noise",
    "SET SESSION TRANSACTION READ ONLY", "SET insert_id = 777", "SET last_insert_id = 4711", "SET sql_warnings = 1",
]
READS = [
    "SELECT 1", "SELECT * FROM noise.n LIMIT 3", "SELECT CAST('x' AS SIGNED)", "SELECT no_such", "SELECT SLEEP(0.01)",
    "SELECT SQL_CALC_FOUND_ROWS id FROM noise.n LIMIT 1", "SELECT @a := 1", "SHOW WARNINGS", "SELECT LAST_INSERT_ID()", "SELECT ROW_COUNT()", "SELECT FOUND_ROWS()",
    "SELECT GET_LOCK('noise', 0)", "PREPARE p FROM 'SELECT 1'", "SELECT DATABASE()",
]
WRITES = [
    "INSERT INTO noise.n (v) VALUES (1)", "UPDATE noise.n SET v = LAST_INSERT_ID(v + 1) LIMIT 1",
    "CREATE TEMPORARY TABLE mine (id INT)", "BEGIN", "START TRANSACTION READ ONLY", "SAVEPOINT x", "ROLLBACK",
    "INSERT INTO noise.n (v) VALUES (1), (2), (3)", "LOCK TABLES noise.n READ", "UNLOCK TABLES", "XA START 'x'",
    "DELETE FROM noise.n ORDER BY id LIMIT 2",
]


def visit(chance):
    settings = dict(
        host=os.environ["DB_HOST"], port=int(os.environ["DB_PORT"]), user=os.environ["DB_USER"],
        password=os.environ["DB_PASSWORD"], connect_timeout=30, read_timeout=60,
        client_flag=chance.choice([0, pymysql.constants.CLIENT.FOUND_ROWS]), autocommit=True,
    )
    connection = pymysql.connect(**settings)
    with connection.cursor() as cursor:
        for _ in range(chance.randrange(1, 15)):
            quiet = os.path.exists(QUIET)
            family = chance.choice([SETTINGS, READS] if quiet else [SETTINGS, READS, WRITES])
            try:
                cursor.execute(chance.choice(family))
                cursor.fetchall()
            except (pymysql.MySQLError, UnicodeError):
                pass
            # without a pause they would take the machine, not only the connections
            time.sleep(chance.uniform(0, 0.3))
    if chance.random() < 0.5:
        connection.close()
    else:
        connection._force_close()


def neighbour(number):
    chance = random.Random(number)
    while True:
        try:
            visit(chance)
        except (pymysql.MySQLError, OSError):
            time.sleep(0.5)


for number in range(COUNT):
    threading.Thread(target=neighbour, args=(number,), daemon=True).start()
threading.Event().wait()
