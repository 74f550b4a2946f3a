"""The scripted work through Python's asyncio drivers: aio.py asyncmy|aiomysql"""
import asyncio
import os
import sys

from dbapi_common import error, out, shown

WHICH = sys.argv[1]
if WHICH == "asyncmy":
    import asyncmy as module
    from asyncmy.cursors import SSCursor
    from asyncmy.errors import MySQLError as Error
else:
    import aiomysql as module
    from aiomysql import SSCursor
    from pymysql.err import MySQLError as Error


async def sync():
    print("##sync", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


def settings(**more):
    database = "database" if WHICH == "asyncmy" else "db"
    return {
        "host": os.environ["DB_HOST"], "port": int(os.environ["DB_PORT"]), "user": os.environ["DB_USER"],
        "password": os.environ["DB_PASSWORD"], database: os.environ["DB_NAME"], "charset": "utf8mb4",
        "autocommit": True, "init_command": "SET time_zone='+03:00'", "local_infile": True, **more,
    }


async def execute(connection, sql, parameters=None, label=None):
    label = label or sql
    async with connection.cursor() as cursor:
        try:
            await cursor.execute(sql, parameters)
            while True:
                if cursor.description:
                    out(f"{label} columns", *[tuple(c[:2]) + tuple(c[3:7]) for c in cursor.description])
                    for row in await cursor.fetchall():
                        out(f"{label} row", tuple(row))
                out(f"{label} count", cursor.rowcount, cursor.lastrowid)
                if not await cursor.nextset():
                    break
        except Error as why:
            print(label, error(why), flush=True)


async def statements(connection):
    for line in open(os.environ["WORK"], encoding="utf-8"):
        line = line.rstrip("\n")
        if line == "##sync":
            await sync()
        elif line and not line.startswith("#"):
            await execute(connection, line)


async def batches(connection):
    for value in (1, -(2 ** 63), 2 ** 64 - 1, 1.5, "text 😀 \\ ' \" %", None, True):
        await execute(connection, "SELECT %s AS v", (value,), f"parameter {value!r}")
    async with connection.cursor() as cursor:
        rows = [(f"batch {n} 😀", n) for n in range(300)]
        await cursor.executemany("INSERT INTO items (name, n) VALUES (%s, %s)", rows)
        out("batch", cursor.rowcount, cursor.lastrowid)
    await execute(connection, "DELETE FROM items WHERE name LIKE %s", ("batch%",))
    # asyncmy loses its place in a row of several packets
    data = bytes(range(256)) * ((17 if WHICH == "aiomysql" else 15) << 12) + b"12345"
    # as hex: aiomysql has no way to send bytes with today's PyMySQL
    await execute(connection, "INSERT INTO big VALUES (1, UNHEX(%s))", (data.hex(),), "big insert")
    async with connection.cursor() as cursor:
        await cursor.execute("SELECT data, MD5(data) FROM big")
        row = await cursor.fetchone()
        out("big", row[0] == data, row[1])
    if WHICH == "asyncmy":
        # it cannot: a TypeError of its own, after which the connection is lost
        return
    await execute(connection, f"LOAD DATA LOCAL INFILE '{os.environ['LOAD']}' INTO TABLE loaded FIELDS TERMINATED BY ','", label="load")
    await execute(connection, "SELECT * FROM loaded")


async def streaming(connection):
    cursor = await connection.cursor(SSCursor) if WHICH == "aiomysql" else connection.cursor(SSCursor)
    await cursor.execute("SELECT n, square, REPEAT('x', 500) FROM numbers ORDER BY n")
    total = 0
    while row := await cursor.fetchone():
        total += row[0] + row[1] + len(row[2])
    out("streamed", total)
    await cursor.close()
    await execute(connection, "SELECT 'after streaming'")


async def transactions(connection):
    other = await module.connect(**settings())
    await connection.begin()
    await execute(connection, "UPDATE locked SET n = 10 WHERE id = 1")
    await execute(other, "SET innodb_lock_wait_timeout = 1")
    await execute(other, "UPDATE locked SET n = 11 WHERE id = 1", label="waits")
    await connection.rollback()
    await connection.begin()
    await execute(connection, "UPDATE locked SET n = 12 WHERE id = 1")
    await connection.commit()
    await execute(other, "SELECT n FROM locked WHERE id = 1", label="committed")
    await execute(other, "SET innodb_lock_wait_timeout = 50")
    await deadlock(connection, other)
    await kill(connection, other)
    other.close()


async def deadlock(one, two):
    barrier = [asyncio.Event(), asyncio.Event()]

    async def side(connection, order, mine, theirs):
        for attempt in range(3):
            async with connection.cursor() as cursor:
                try:
                    await cursor.execute("START TRANSACTION")
                    await cursor.execute("UPDATE locked SET n = n + 1 WHERE id = %s", (order[0],))
                    mine.set()
                    await theirs.wait()
                    await cursor.execute("UPDATE locked SET n = n + 1 WHERE id = %s", (order[1],))
                    await cursor.execute("COMMIT")
                    return
                except Error as why:
                    print("deadlock", error(why), flush=True)
                    await cursor.execute("ROLLBACK")

    await asyncio.gather(side(one, (2, 3), *barrier), side(two, (3, 2), *reversed(barrier)))
    await execute(one, "SELECT * FROM locked ORDER BY id", label="after the deadlock")


async def kill(connection, other):
    id_ = other.thread_id()
    sleeper = asyncio.create_task(execute(other, "SELECT SLEEP(25) FROM numbers", label="killed query"))
    while not sleeper.done():
        async with connection.cursor() as cursor:
            await cursor.execute(f"KILL QUERY {id_}")
        await asyncio.wait([sleeper], timeout=0.2)
    await execute(other, "SELECT 'alive'")


async def pooled():
    pool = await module.create_pool(minsize=1, maxsize=4, **settings())
    async def use(number):
        async with pool.acquire() as connection:
            await connection.ping()
            async with connection.cursor() as cursor:
                await cursor.execute("SELECT %s + n FROM numbers WHERE n = %s", (number, number))
                return await cursor.fetchall()
    results = await asyncio.gather(*[use(n) for n in range(20)])
    print("pool", [shown(r) for r in results], flush=True)
    pool.close()
    await pool.wait_closed()


async def main():
    print(f"##version {getattr(module, '__version__', '?')}")
    connection = await module.connect(**settings())
    await statements(connection)
    await batches(connection)
    await streaming(connection)
    await execute(connection, "CALL two_results()")
    await execute(connection, "CALL fails()")
    await execute(connection, "SELECT 'goes on'")
    await transactions(connection)
    await pooled()
    for change in (dict(password="wrong"), dict(user="nobody_here")):
        try:
            await module.connect(**settings(**change))
            out("login", change, "accepted")
        except Error as why:
            print("login", change, error(why), flush=True)
    await sync()
    await streaming(connection)
    await execute(connection, "SELECT * FROM types WHERE id = %s", (1,))
    connection.close()
    print("##end", flush=True)


asyncio.run(main())
