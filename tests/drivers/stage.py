"""The servers, Umpire in front of them, and the neighbours that make noise on the same account."""
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CLUSTER = ROOT / "tests/servers/cluster.sh"
HERE = Path(__file__).resolve().parent
# after a write, the user's reads go to the primary for so long
WINDOW_MS = 1500
NEIGHBOURS = 16
# of the whole proxy to each server: fewer than clients
CONNECTIONS = 12
PATIENCE = 120


class CannotBeHad(Exception):
    """A server of that kind cannot be had on this machine."""


class Stage:
    def __init__(self, options, installer):
        self.options = options
        self.installer = installer
        self.folder = options.cache.resolve() / "results"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.children = []

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="umpdrv")
        self.servers = Path(self.temporary.name) / "servers"
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.send_signal(signal.SIGTERM)
        for child in self.children:
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        if self.servers.exists():
            self._cluster("stop", check=False)
        self.temporary.cleanup()

    def _start(self):
        self.direct_port = free_ports(2)
        self.proxy_port, self.admin_port = free_ports(1), free_ports(1)
        self.kind = self.options.server
        self._cluster(self.kind, str(self.direct_port), "2")
        self.query("CREATE DATABASE noise", "CREATE TABLE noise.n (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
        self.query("SET GLOBAL local_infile = 1", "SET GLOBAL innodb_lock_wait_timeout = 20")
        self.query("SET GLOBAL log_bin_trust_function_creators = 1")
        self._start_umpire()
        self.quiet = Path(self.temporary.name) / "quiet"
        self.neighbours = None
        if not self.installer.need("pip:PyMySQL cryptography"):
            self.neighbours = self._spawn(
                [self.installer.python(), str(HERE / "python/neighbours.py"), str(NEIGHBOURS), str(self.quiet)],
                "neighbours.log", self.environment(self.proxy_port),
            )
        else:
            print("SKIPPED: neighbours: PyMySQL cannot be installed; the drivers run alone")

    def _start_umpire(self):
        config = Path(self.temporary.name) / "umpire.toml"
        config.write_text(f"""[proxy]
listen = ["127.0.0.1:{self.proxy_port}"]
admin = "127.0.0.1:{self.admin_port}"
lease_timeout_ms = 60000
[[group]]
name = "main"
servers = [
  {{ address = "127.0.0.1:{self.direct_port}", role = "primary", max_connections = {CONNECTIONS} }},
  {{ address = "127.0.0.1:{self.direct_port + 1}", role = "replica", max_connections = {CONNECTIONS} }},
]
read_your_writes_window_ms = {WINDOW_MS}
monitor = {{ user = "monitor", password = "monitorpw", interval_ms = 200 }}
[[user]]
name = "app"
password = "apppw"
group = "main"
[[user]]
name = "app2"
password = "app2pw"
group = "main"
""")
        config.chmod(0o600)
        self._spawn([str(self.options.umpire), "--config", str(config)], "umpire.log", {})
        wait("Umpire answers", lambda: "yes" in self.admin("SHOW WORKERS"))
        wait("Umpire sees both servers", lambda: self.admin("SHOW SERVERS").count("\tyes\t") >= 2)
        # the first ROW_COUNT() of a user may be refused (docs/compatibility.md): no driver's is the first
        first = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.proxy_port}", "-uapp", "-papppw", "-e"]
        subprocess.run([*first, "SELECT ROW_COUNT()"], stdin=subprocess.DEVNULL, capture_output=True, check=True)

    def _spawn(self, command, log, environment):
        with open(self.folder / log, "wb") as output:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env={**os.environ, **environment}
            )
        self.children.append(child)
        return child

    def _cluster(self, what, *words, check=True):
        command = ["bash", str(CLUSTER), what, str(self.servers), *words]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode == 3:
            raise CannotBeHad(f"a {what} server cannot be had here")
        if check and done.returncode:
            raise RuntimeError(f"cluster.sh {what}: {done.stdout}{done.stderr}")
        return done.stdout

    def query(self, *statements):
        """As root on the primary, past the proxy."""
        return self._cluster("query", "0", ";".join(statements))

    def admin(self, sql):
        command = ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.admin_port}", "-uadmin", "-NBe", sql]
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout

    def turns_to_replica(self):
        for line in self.admin("SHOW STATUS LIKE 'turns_to_replica'").splitlines():
            return int(line.split("\t")[1])
        raise RuntimeError("no turns_to_replica in SHOW STATUS")

    def fresh_database(self):
        """The driver's database as at the start, on all servers. What a program that was ended left running there is
        ended first: it would hold its tables."""
        left = self.query("SELECT id FROM information_schema.processlist WHERE db = 'drv' AND command <> 'Sleep'")
        for id_ in left.split():
            self.query(f"KILL {id_}")
        statements = [line for line in (HERE / "schema.sql").read_text().splitlines() if not line.startswith("--")]
        file = Path(self.temporary.name) / "schema.sql"
        # the client's delimiter, since procedures contain semicolons
        head = "DROP DATABASE IF EXISTS drv//\nCREATE DATABASE drv CHARACTER SET utf8mb4//\nUSE drv//\nSET NAMES utf8mb4//\n"
        file.write_text("DELIMITER //\n" + head + "//\n".join(statements) + "//\n")
        self.query(f"source {file}")
        self._cluster("sync")

    def noise(self, writes):
        """Whether the neighbours write: while they do, all reads go to the primary."""
        if writes:
            self.quiet.unlink(missing_ok=True)
        else:
            self.quiet.touch()

    def settle(self):
        """Returns when replicas have all that was written, and reads may go there."""
        self.noise(False)
        self._cluster("sync")
        # time itself is what is waited for: the window after the last write
        time.sleep(WINDOW_MS / 1000 + 0.7)
        self._cluster("sync")

    def environment(self, port):
        return {
            "DB_HOST": "127.0.0.1", "DB_PORT": str(port), "DB_NAME": "drv", "DB_USER": "app", "DB_PASSWORD": "apppw",
            "DB_USER2": "app2", "DB_PASSWORD2": "app2pw", "DB_KIND": self.kind,
            "WORK": str(HERE / "work.sql"), "LOAD": str(HERE / "load.csv"),
            "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC",
        }


def free_ports(count):
    """The first of `count` free ports in a row."""
    for _ in range(200):
        first = random.randrange(21000, 31000)
        try:
            for port in range(first, first + count):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")


def wait(what, condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {PATIENCE} s: {what}")
        time.sleep(0.1)
