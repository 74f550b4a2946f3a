"""The scripted work through SQLAlchemy's asyncio engine over aiomysql."""
import asyncio
import datetime
import decimal
import os
import sys

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship, selectinload

from dbapi_common import out


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "sa_customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), unique=True)
    since: Mapped[datetime.datetime] = mapped_column(mysql.DATETIME(fsp=6))
    settings: Mapped[dict] = mapped_column(sa.JSON)
    orders: Mapped[list["Order"]] = relationship(cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "sa_order"
    id: Mapped[int] = mapped_column(mysql.BIGINT(unsigned=True), primary_key=True)
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("sa_customer.id"))
    total: Mapped[decimal.Decimal] = mapped_column(sa.Numeric(20, 4))
    paid: Mapped[bool] = mapped_column(default=False)


def engine(**more):
    e = os.environ
    url = sa.URL.create("mysql+aiomysql", e["DB_USER"], e["DB_PASSWORD"], e["DB_HOST"], int(e["DB_PORT"]), e["DB_NAME"], {"charset": "utf8mb4"})
    return create_async_engine(url, pool_size=3, max_overflow=2, pool_pre_ping=True, **more)


async def orm(e):
    when = datetime.datetime(2024, 2, 29, 1, 2, 3, 4567)
    async with AsyncSession(e) as session:
        for n in range(5):
            orders = [Order(total=decimal.Decimal(f"{n}.{o:04}")) for o in range(3)]
            session.add(Customer(name=f"customer {n} 😀", since=when, settings={"n": [n, None]}, orders=orders))
        await session.commit()
    async with AsyncSession(e) as session:
        found = await session.scalars(sa.select(Customer).options(selectinload(Customer.orders)).order_by(Customer.id))
        for c in found:
            out("customer", c.id, c.name, c.since, c.settings, [(o.id, o.total, o.paid) for o in c.orders])
        async with session.begin_nested() as nested:
            await session.execute(sa.update(Order).values(paid=True))
            await nested.rollback()
        out("paid", await session.scalar(sa.select(sa.func.count()).where(Order.paid)))
        result = await session.execute(sa.update(Order).where(Order.total > 2).values(paid=True))
        out("updated", result.rowcount)
        await session.commit()
    async with AsyncSession(e) as session:
        session.add(Customer(name="customer 1 😀", since=when, settings={}))
        try:
            await session.commit()
        except IntegrityError as why:
            out("duplicate", why.orig.args)
            await session.rollback()
        total = sa.select(Customer.name, sa.func.sum(Order.total)).join(Order).group_by(Customer.name).order_by(Customer.name)
        out("totals", [tuple(r) for r in await session.execute(total)])


async def core(e):
    async with e.connect() as c:
        c = await c.execution_options(isolation_level="SERIALIZABLE")
        out("isolation", await c.get_isolation_level())
        out("rows", [tuple(r) for r in await c.execute(sa.text("SELECT * FROM types ORDER BY id"))])
        result = await c.stream(sa.text("SELECT n, square FROM numbers ORDER BY n"))
        out("streamed", sum([row[1] async for row in result]))
        await c.rollback()
    async with e.connect() as c:
        out("isolation after", await c.get_isolation_level())
        for sql in ("SELECT nowhere", "INSERT INTO types (id) VALUES (1)", "SIGNAL SQLSTATE '45000'"):
            try:
                await c.execute(sa.text(sql))
            except DBAPIError as why:
                out("error", type(why).__name__, why.orig.args)
                await c.rollback()


async def many(e):
    async def one(n):
        async with AsyncSession(e) as session:
            return await session.scalar(sa.text("SELECT square FROM numbers WHERE n = :n"), {"n": n})
    out("many", await asyncio.gather(*[one(n) for n in range(30)]))


async def main():
    print(f"##version {sa.__version__}")
    e = engine()
    async with e.begin() as c:
        await c.run_sync(Base.metadata.create_all)
        out("tables", await c.run_sync(lambda s: sorted(sa.inspect(s).get_table_names())))
        out("columns", await c.run_sync(lambda s: [str(x) for x in sa.inspect(s).get_columns("types")]))
        out("indexes", await c.run_sync(lambda s: str(sa.inspect(s).get_indexes("sa_customer"))))
    await orm(e)
    await core(e)
    await many(e)
    print("##sync", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await core(e)
    await many(e)
    async with e.begin() as c:
        await c.run_sync(Base.metadata.drop_all)
    await e.dispose()
    print("##end", flush=True)


asyncio.run(main())
