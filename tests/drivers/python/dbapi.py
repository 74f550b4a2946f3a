"""The scripted work through Python's DB-API drivers: dbapi.py pymysql|mysqlclient|connector-pure|connector-c"""
import os
import queue
import sys
import threading

from dbapi_common import error, out

WHICH = sys.argv[1]
HOST, PORT, NAME = os.environ["DB_HOST"], int(os.environ["DB_PORT"]), os.environ["DB_NAME"]
USER, PASSWORD = os.environ["DB_USER"], os.environ["DB_PASSWORD"]
BIG = (17 << 20) + 5


def sync():
    print("##sync", flush=True)
    sys.stdin.readline()


class PyMySQL:
    def __init__(self):
        import pymysql
        self.module = pymysql
        self.version = pymysql.__version__

    def connect(self, **more):
        from pymysql.constants import CLIENT
        flags = CLIENT.MULTI_STATEMENTS | (CLIENT.FOUND_ROWS if more.pop("found_rows", False) else 0)
        settings = dict(
            host=HOST, port=PORT, user=USER, password=PASSWORD, database=NAME, charset="utf8mb4", autocommit=True,
            init_command="SET time_zone='+03:00'", local_infile=True, client_flag=flags, max_allowed_packet=64 << 20,
        )
        return self.module.connect(**{**settings, **more})

    def streaming(self, connection):
        return connection.cursor(self.module.cursors.SSCursor)

    def id(self, connection):
        return connection.thread_id()

    def more(self, cursor):
        return cursor.nextset()

    def change_user(self, connection):
        return False

    def reset(self, connection):
        return False


class MySQLClient(PyMySQL):
    def __init__(self):
        import MySQLdb
        import MySQLdb.cursors
        self.module = MySQLdb
        self.version = f"{'.'.join(map(str, MySQLdb.version_info[:3]))} (libmariadb {MySQLdb.get_client_info()})"

    def connect(self, **more):
        from MySQLdb.constants import CLIENT
        flags = CLIENT.MULTI_STATEMENTS | (CLIENT.FOUND_ROWS if more.pop("found_rows", False) else 0)
        settings = dict(
            host=HOST, port=PORT, user=USER, password=PASSWORD, database=NAME, charset="utf8mb4", autocommit=True,
            init_command="SET time_zone='+03:00'", local_infile=1, client_flag=flags,
        )
        return self.module.connect(**{**settings, **more})

    def change_user(self, connection):
        connection.change_user(os.environ["DB_USER2"], os.environ["DB_PASSWORD2"], NAME)
        return True


class Connector:
    def __init__(self, pure):
        import mysql.connector
        self.module = mysql.connector
        self.pure = pure
        self.version = mysql.connector.__version__

    def connect(self, **more):
        from mysql.connector.constants import ClientFlag
        flags = [ClientFlag.FOUND_ROWS if more.pop("found_rows", False) else -ClientFlag.FOUND_ROWS]
        settings = dict(
            host=HOST, port=PORT, user=USER, password=PASSWORD, database=NAME, charset="utf8mb4", autocommit=True,
            collation="utf8mb4_general_ci", init_command="SET time_zone='+03:00'", use_pure=self.pure, client_flags=flags, time_zone="+03:00",
            allow_local_infile=True, ssl_disabled=True, get_warnings=False,
        )
        return self.module.connect(**{**settings, **more})

    def streaming(self, connection):
        return connection.cursor(buffered=False)

    def id(self, connection):
        return connection.connection_id

    def more(self, cursor):
        return cursor.nextset()

    def change_user(self, connection):
        connection.cmd_change_user(os.environ["DB_USER2"], os.environ["DB_PASSWORD2"], NAME)
        return True

    def reset(self, connection):
        connection.cmd_reset_connection()
        return True


ADAPTERS = {
    "pymysql": PyMySQL,
    "mysqlclient": MySQLClient,
    "connector-pure": lambda: Connector(True),
    "connector-c": lambda: Connector(False),
}
driver = ADAPTERS[WHICH]()
Error = driver.module.Error


def show_results(cursor, label):
    number = 0
    while True:
        if cursor.description:
            columns = [tuple(c[:2]) + tuple(c[3:7]) for c in cursor.description]
            out(f"{label} columns", *columns)
            for row in cursor.fetchall():
                out(f"{label} row", tuple(row))
        out(f"{label} count", cursor.rowcount, cursor.lastrowid, getattr(cursor, "warning_count", None))
        number += 1
        if number > 20 or not driver.more(cursor):
            return


def execute(connection, sql, parameters=None, label=None, cursor=None):
    label = label or sql
    cursor = cursor or connection.cursor()
    try:
        cursor.execute(sql, parameters) if parameters is not None else cursor.execute(sql)
        show_results(cursor, label)
    except Exception as why:
        # also what the driver itself cannot decode
        print(label, error(why), flush=True)
    finally:
        try:
            cursor.close()
        except Error as why:
            print(label, "close", error(why), flush=True)


def statements(connection):
    for line in open(os.environ["WORK"], encoding="utf-8"):
        line = line.rstrip("\n")
        if line == "##sync":
            sync()
        elif line and not line.startswith("#"):
            execute(connection, line)


def parameters(connection):
    import datetime
    import decimal
    values = [
        1, -(2 ** 63), 2 ** 64 - 1, 1.5, "text 😀 \\ ' \" %", b"\x00\xff'\\", None, True, decimal.Decimal("1234.5678"),
        datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1, 2, 3, 4567), datetime.timedelta(hours=-30, microseconds=5),
    ]
    for value in values:
        execute(connection, "SELECT %s AS v", (value,), f"parameter {value!r}")
    cursor = connection.cursor()
    rows = [(f"batch {n} 😀", n) for n in range(300)]
    cursor.executemany("INSERT INTO items (name, n) VALUES (%s, %s)", rows)
    out("batch", cursor.rowcount, cursor.lastrowid)
    try:
        cursor.executemany("INSERT INTO items (name, n) VALUES (%s, %s)", [("new", 1), ("batch 5 😀", 1)])
    except Error as why:
        print("batch", error(why))
    execute(connection, "SELECT COUNT(*), SUM(n) FROM items")
    execute(connection, "DELETE FROM items WHERE name LIKE %s", ("batch%",))


def prepared(connection):
    if not WHICH.startswith("connector"):
        return
    cursor = connection.cursor(prepared=True)
    # the C extension cannot bind what no signed number holds
    for value in (5, "five", None, 5.5, b"\x00\x01", 2 ** 63 - (WHICH == "connector-c")):
        cursor.execute("SELECT ? AS v, id FROM types WHERE id < 3 ORDER BY id", (value,))
        out(f"prepared {value!r}", cursor.description, *cursor.fetchall())
    cursor.execute("INSERT INTO items (name, n) VALUES (?, ?)", ("prepared", 1))
    out("prepared insert", cursor.rowcount, cursor.lastrowid)
    try:
        cursor.execute("INSERT INTO items (name, n) VALUES (?, ?)", ("prepared", 1))
    except Error as why:
        print("prepared", error(why))
    cursor.executemany("INSERT INTO items (name, n) VALUES (?, ?)", [(f"many {n}", n) for n in range(20)])
    out("prepared many", cursor.rowcount)
    cursor.execute("DELETE FROM items WHERE name = ? OR name LIKE ?", ("prepared", "many%"))
    out("prepared delete", cursor.rowcount)
    cursor.close()


def prepared_types():
    """Column by column: what the driver cannot decode ends its connection."""
    if not WHICH.startswith("connector"):
        return
    connection = driver.connect()
    columns = "ti tu si mi i iu bi bu de f d b1 b17 da t0 t6 dt0 dt6 ts0 ts6 y c vc txt bin vb bl e s j bo"
    for column in columns.split():
        for row in (1, 2, 3):
            try:
                cursor = connection.cursor(prepared=True)
                cursor.execute(f"SELECT {column} FROM types WHERE id = ?", (row,))
                out(f"prepared {column} {row}", *cursor.fetchall())
                cursor.close()
            except Exception as why:
                out(f"prepared {column} {row}", type(why).__name__)
                connection = driver.connect()
    connection.close()


def big(connection):
    data = bytes(range(256)) * (BIG // 256) + b"12345"
    execute(connection, "INSERT INTO big VALUES (1, %s)", (data,), "big insert")
    cursor = connection.cursor()
    cursor.execute("SELECT data, LENGTH(data), MD5(data) FROM big WHERE id = 1")
    row = cursor.fetchone()
    out("big", bytes(row[0]) == data, *row[1:])
    cursor.close()


def streaming(connection):
    cursor = driver.streaming(connection)
    cursor.execute("SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n")
    total = 0
    while row := cursor.fetchone():
        total += row[0] + row[1] + len(row[2])
    out("streamed", total)
    cursor.close()
    cursor = driver.streaming(connection)
    cursor.execute("SELECT n FROM numbers ORDER BY n")
    out("streamed first", cursor.fetchone())
    # the rest is thrown away by the driver
    if WHICH.startswith("connector"):
        connection.consume_results = True
        cursor.fetchall()
    cursor.close()
    execute(connection, "SELECT 'after streaming'")


def calls(connection):
    execute(connection, "CALL two_results()")
    execute(connection, "CALL fails()")
    execute(connection, "SET @b = 3")
    execute(connection, "CALL in_out(4, @b, @c)")
    execute(connection, "SELECT @b, @c")
    cursor = connection.cursor()
    try:
        result = cursor.callproc("in_out", (4, 3, None))
        out("callproc", tuple(result))
        if WHICH.startswith("connector"):
            for stored in cursor.stored_results():
                out("callproc rows", *stored.fetchall())
        else:
            show_results(cursor, "callproc")
    except Error as why:
        print("callproc", error(why))
    cursor.close()
    if WHICH != "connector-c":
        # it loses its connection over them
        execute(connection, "SELECT 1; SELECT 2, 'b'; DO 1; SELECT 3")
        execute(connection, "SELECT 1; SELECT nowhere; SELECT 3")
    execute(connection, "SELECT 'goes on'")


def load(connection):
    words = "CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'"
    execute(connection, f"LOAD DATA LOCAL INFILE '{os.environ['LOAD']}' INTO TABLE loaded {words}", label="load")
    execute(connection, "SHOW WARNINGS")
    missing(connection, "/nowhere/at/all.csv")
    execute(connection, "SELECT * FROM loaded ORDER BY a")


def missing(connection, path):
    cursor = connection.cursor()
    try:
        cursor.execute(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE loaded")
        out("load missing", "no error")
    except Exception as why:
        out("load missing", type(why).__name__)
    try:
        cursor.close()
    except Exception as why:
        out("load missing close", type(why).__name__)
    try:
        connection.ping()
    except Exception as why:
        out("load missing ping", type(why).__name__)
        connection.reconnect()


def transactions(connection):
    other = driver.connect()
    connection.autocommit(False) if callable(connection.autocommit) else setattr(connection, "autocommit", False)
    execute(connection, "UPDATE locked SET n = 10 WHERE id = 1")
    execute(other, "SELECT n FROM locked WHERE id = 1", label="other sees")
    execute(other, "SET innodb_lock_wait_timeout = 1")
    execute(other, "UPDATE locked SET n = 11 WHERE id = 1", label="waits")
    connection.rollback()
    execute(connection, "SELECT n FROM locked WHERE id = 1", label="rolled back")
    execute(connection, "UPDATE locked SET n = 12 WHERE id = 1")
    connection.commit()
    execute(other, "SELECT n FROM locked WHERE id = 1", label="committed")
    connection.autocommit(True) if callable(connection.autocommit) else setattr(connection, "autocommit", True)
    deadlock(connection, other)
    other.close()


def deadlock(one, two):
    """Both ways round: exactly one is the victim, and its retry succeeds."""
    outcome = queue.Queue()
    barrier = threading.Barrier(2)

    def side(connection, order):
        for attempt in range(3):
            cursor = connection.cursor()
            try:
                cursor.execute("START TRANSACTION")
                cursor.execute("UPDATE locked SET n = n + 1 WHERE id = %s", (order[0],))
                if attempt == 0:
                    barrier.wait(60)
                cursor.execute("UPDATE locked SET n = n + 1 WHERE id = %s", (order[1],))
                cursor.execute("COMMIT")
                return
            except Error as why:
                outcome.put(error(why))
                cursor.execute("ROLLBACK")
            finally:
                cursor.close()
        outcome.put("gave up")

    execute(two, "SET innodb_lock_wait_timeout = 50")
    threads = [threading.Thread(target=side, args=a) for a in ((one, (2, 3)), (two, (3, 2)))]
    [t.start() for t in threads]
    [t.join() for t in threads]
    while not outcome.empty():
        print("deadlock", outcome.get(), flush=True)
    execute(one, "SELECT * FROM locked ORDER BY id", label="after the deadlock")


def found_rows():
    connection = driver.connect(found_rows=True)
    execute(connection, "UPDATE locked SET n = 12 WHERE id < 3", label="found rows")
    execute(connection, "UPDATE locked SET n = 12 WHERE id < 3", label="found rows again")
    connection.close()


def kill(connection):
    other = driver.connect()
    victim = driver.id(other)
    cursor = connection.cursor()
    cursor.execute("SELECT CONNECTION_ID()")
    out("own id", cursor.fetchone()[0] == driver.id(connection))
    cursor.close()
    done = threading.Event()

    def sleeps():
        execute(other, "SELECT SLEEP(25) FROM numbers", label="killed query")
        done.set()

    thread = threading.Thread(target=sleeps)
    thread.start()
    killer = connection.cursor()
    while not done.wait(0.2):
        killer.execute(f"KILL QUERY {victim}")
    thread.join()
    execute(other, "SELECT 'alive'")
    killer.execute(f"KILL {victim}")
    killer.close()
    try:
        cursor = other.cursor()
        for _ in range(100):
            cursor.execute("SELECT SLEEP(0.1)")
            cursor.fetchall()
        out("killed", "alive")
    except Error:
        out("killed", "gone")
    execute(connection, "KILL 4000000000", label="kill nobody")


def session(connection):
    connection.ping()
    execute(connection, "SET @mine = 1, time_zone = '+01:00'")
    if driver.reset(connection):
        execute(connection, "SELECT @mine, @@time_zone, DATABASE()", label="after the reset")
    if driver.change_user(connection):
        execute(connection, "SELECT CURRENT_USER(), @mine, DATABASE()", label="after the change")
    connection.select_db(NAME) if hasattr(connection, "select_db") else setattr(connection, "database", NAME)
    execute(connection, "SELECT DATABASE()")


def pool():
    if not WHICH.startswith("connector"):
        return
    from mysql.connector.pooling import MySQLConnectionPool
    settings = dict(host=HOST, port=PORT, user=USER, password=PASSWORD, database=NAME, use_pure=driver.pure, ssl_disabled=True, charset="utf8mb4", collation="utf8mb4_general_ci")
    connections = MySQLConnectionPool(pool_name="p", pool_size=3, pool_reset_session=True, **settings)
    for round_ in range(3):
        held = [connections.get_connection() for _ in range(3)]
        for number, connection in enumerate(held):
            execute(connection, "SELECT @pooled, DATABASE()", label=f"pool {round_} {number}")
            execute(connection, "SET @pooled = 1")
        [c.close() for c in held]


def wrong_logins():
    for change in (dict(password="wrong"), dict(user="nobody_here"), dict(database="no_such_database")):
        try:
            driver.connect(**change).close()
            out("login", change, "accepted")
        except Error as why:
            print("login", change, error(why), flush=True)


def main():
    print(f"##version {driver.version}")
    connection = driver.connect()
    out("server", connection.get_server_info().split("-")[0])
    statements(connection)
    parameters(connection)
    prepared(connection)
    prepared_types()
    big(connection)
    streaming(connection)
    calls(connection)
    load(connection)
    connection.close()
    connection = driver.connect()
    transactions(connection)
    found_rows()
    kill(connection)
    session(connection)
    pool()
    wrong_logins()
    connection.close()
    sync()
    connection = driver.connect()
    prepared_reads = ["SELECT n, square FROM numbers WHERE n = %s", "SELECT * FROM types WHERE id = %s"]
    for n in (1, 2, 3):
        for sql in prepared_reads:
            execute(connection, sql, (n,), f"{sql} {n}")
    prepared_types()
    streaming(connection)
    connection.close()
    print("##end", flush=True)


main()
