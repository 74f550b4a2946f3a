"""Every driver and tool that is run: what it needs, and how its program starts."""
from dataclasses import dataclass, field

from install import JAR


@dataclass
class Driver:
    name: str
    # see install.Installer.need
    needs: list
    # of the program, with {python}, {cache} and {here}
    command: list
    # installs in a minute, so that `make test` runs it
    quick: bool = False
    environment: dict = field(default_factory=dict)


def python(name, needs, script, *words, quick=True):
    return Driver(name, needs, ["{python}", "{here}/python/" + script, *words], quick)


def node(name, quick=True):
    environment = {"NODE_PATH": "{cache}/node/node_modules"}
    return Driver(name, ["program:node", f"npm:{name}"], ["node", "{here}/node/work.js", name], quick, environment)


DRIVERS = [
    python("PyMySQL", ["pip:PyMySQL cryptography"], "dbapi.py", "pymysql"),
    python("mysqlclient", ["deb:libmariadb-dev pkg-config gcc", "pip:mysqlclient"], "dbapi.py", "mysqlclient", quick=False),
    python("mysql-connector-python (pure)", ["pip:mysql-connector-python"], "dbapi.py", "connector-pure", quick=False),
    # the last whose C extension runs with Debian 12's OpenSSL
    Driver(
        "mysql-connector-python (C)", ["pip@venv-c:mysql-connector-python==9.1.0"],
        ["{cache}/venv-c/bin/python", "{here}/python/dbapi.py", "connector-c"],
    ),
    python("asyncmy", ["pip:asyncmy"], "aio.py", "asyncmy", quick=False),
    python("aiomysql", ["pip:aiomysql"], "aio.py", "aiomysql"),
    python("SQLAlchemy (aiomysql)", ["pip:aiomysql SQLAlchemy greenlet"], "sqlalchemy_work.py", quick=False),
    python("Django (PyMySQL)", ["pip:PyMySQL cryptography Django"], "django_work.py", "pymysql", quick=False),
    python("Django (mysqlclient)", ["deb:libmariadb-dev pkg-config gcc", "pip:mysqlclient Django"], "django_work.py", "mysqlclient", quick=False),
    node("mysql", quick=False),
    node("mysql2"),
    node("mariadb"),
    *[
        Driver(f"PHP {title}", ["deb:php-cli php-mysql"], ["php", "-d", "mysqli.allow_local_infile=1", "{here}/php/work.php", word])
        for title, word in (("mysqli", "mysqli"), ("PDO (native prepares)", "pdo"), ("PDO (emulated prepares)", "pdo-emulated"))
    ],
    Driver("Perl DBD::mysql", ["deb:libdbd-mysql-perl"], ["perl", "{here}/perl/work.pl", "mysql"]),
    Driver("Perl DBD::MariaDB", ["deb:libdbd-mariadb-perl"], ["perl", "{here}/perl/work.pl", "MariaDB"]),
    *[
        Driver(
            f"MariaDB Connector/J{title}", ["deb:default-jdk-headless libmariadb-java", "java:java"],
            ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", JAR + ":{cache}/java", "Work", *words],
        )
        for title, words in (("", []), (" (server-side prepares)", ["server"]))
    ],
    *[
        Driver(f"Rust {name}", ["cargo:rust"], ["{cache}/rust-target/debug/rust-work", name])
        for name in ("mysql_async", "sqlx")
    ],
    *[
        Driver(
            f"Go go-sql-driver{title}", ["deb:golang-go golang-github-go-sql-driver-mysql-dev", "go:go"],
            ["{cache}/go-work", *words], environment={"DRIVER_VERSION": "{deb:golang-github-go-sql-driver-mysql-dev}"},
        )
        for title, words in (("", []), (" (interpolated)", ["interpolate"]))
    ],
    *[
        Driver(f"{name} (command line)", [f"program:{name}"], ["bash", "{here}/tools/client.sh", name], quick=name == "mariadb")
        for name in ("mariadb", "mysql")
    ],
    *[
        Driver(f"{name} and restore", [f"program:{name}"], ["bash", "{here}/tools/dump.sh", name, client], quick=client == "mariadb")
        for name, client in (("mariadb-dump", "mariadb"), ("mysqldump", "mysql"))
    ],
    Driver("mydumper and myloader", ["deb:mydumper"], ["bash", "{here}/tools/mydumper.sh"]),
    Driver("mycli", ["pip@venv-mycli:mycli"], ["bash", "{here}/tools/mycli.sh", "{cache}/venv-mycli/bin"]),
    Driver("pt-query-digest", ["deb:percona-toolkit libdbd-mysql-perl"], ["bash", "{here}/tools/pt.sh"]),
    Driver(
        "phpMyAdmin (Chromium)", ["deb:phpmyadmin php-cli php-mysql chromium", "pip:playwright"],
        ["{python}", "{here}/tools/phpmyadmin.py", "{cache}"],
    ),
]
