"""The proxies that are compared: how each is configured and started."""

import os
import resource
import shutil
import subprocess

from . import machine

DESCRIPTORS = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
os.environ["PATH"] += ":/usr/sbin:/usr/local/sbin"


class Contender:
    """One way to the servers. `pid` None: no process of its own."""

    name = "direct"
    program = None
    #: descriptors a client costs
    per_client = 0
    #: what its log says when it serves clients, which may be after it listens
    started = None

    def __init__(self, bench, port):
        self.bench, self.port, self.starts = bench, port, 0
        self.process = None

    @property
    def pid(self):
        return self.process.pid if self.process else None

    def installed(self):
        return self.program is None or shutil.which(self.program) is not None

    def version(self):
        return None

    def start(self, workers=1, environment=None, cpus=None):
        if self.program is None:
            return self
        cpus = cpus or (self.bench.cpus[:workers] if workers > 1 else [self.bench.proxy_cpu])
        self.home = self.bench.dir / f"{self.name.replace(' ', '-')}-{self.port}"
        self.home.mkdir(exist_ok=True)
        self.starts += 1
        command = self.configure(cpus)
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["taskset", "-c", ",".join(map(str, cpus)), "setpriv", "--pdeathsig", "KILL", "--", *command],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | (environment or {}),
            )  # fmt: skip
        alive = lambda: self.process.poll() is None  # noqa: E731
        machine.wait_listening(self.port, f"{self.name} ({self.home}/log)", alive)
        if self.started:
            machine.wait_until(self.says_started, f"{self.name} does not start ({self.home}/log)", alive)
        return self

    def says_started(self):
        return (self.home / "log").read_text(errors="replace").count(self.started) >= self.starts

    def stop(self):
        if self.process:
            machine.stop(self.process)
            self.process = None

    def restart(self, **how):
        self.stop()
        return self.start(**how)

    def most_clients(self):
        return (DESCRIPTORS - 300) // max(1, self.per_client)

    def write(self, name, text):
        path = self.home / name
        path.write_text(text)
        return str(path)


class Haproxy(Contender):
    name = "haproxy"
    program = "haproxy"
    per_client = 2

    def version(self):
        return machine.version("HAProxy", ["haproxy", "-v"])

    def configure(self, cpus):
        config = self.write(
            "haproxy.cfg",
            f"global\n  maxconn {self.most_clients()}\n  nbthread {len(cpus)}\n"
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n"
            f"listen mysql\n  bind 127.0.0.1:{self.port} backlog 4096\n  server s 127.0.0.1:{self.bench.primary}\n",
        )
        return ["haproxy", "-db", "-f", config]


class Umpire(Contender):
    name = "umpire"
    split = False
    #: further sections of the configuration
    more = ""
    per_client = 1
    started = "ready for clients"

    @property
    def program(self):
        return self.bench.options.umpire

    def version(self):
        return machine.version("Umpire", [self.program, "--version"])

    def configure(self, cpus):
        config = self.write(
            "umpire.toml",
            f'[proxy]\nlisten = ["127.0.0.1:{self.port}"]\nworkers = {cpus}\nmax_connections = 20000\n\n'
            '[[group]]\nname = "main"\nservers = [\n'
            f'  {{ address = "127.0.0.1:{self.bench.primary}", role = "primary" }},\n'
            f'  {{ address = "127.0.0.1:{self.bench.replica}", role = "replica" }},\n]\n'
            f"read_write_split = {str(self.split).lower()}\n"
            'monitor = { user = "monitor", password = "monitorpw", interval_ms = 1000 }\n\n'
            '[[user]]\nname = "app"\npassword = "apppw"\ngroup = "main"\n' + self.more.format(home=self.home),
        )
        return [self.program, "--config", config]


class UmpireSplit(Umpire):
    name = "umpire split"
    split = True


class UmpireAudited(UmpireSplit):
    """With everything that looks at statements: three policies, digests, the slow log, every statement to a file."""

    name = "umpire split, audited"
    more = """
[[policy]]
name = "no drop"
action = "deny"
kinds = ["drop", "truncate"]

[[policy]]
name = "where"
action = "deny"
no_where = true

[[policy]]
name = "whole tables"
action = "log"
full_table_select = true

[statistics]
digests = 1000
slow_log = "{home}/slow.log"
slow_log_ms = 1000

[audit]
file = "{home}/audit.log"
when_full = "drop"
rotate_bytes = 67108864
rotate_keep = 1
"""


class UmpireSharded(UmpireSplit):
    """With two sharded tables: one in four shards of the first group, one over two groups."""

    name = "umpire split, sharded"
    #: port of the second group's server
    second = None

    @property
    def more(self):
        return (
            '\n[[group]]\nname = "second"\n'
            f'servers = [{{{{ address = "127.0.0.1:{self.second}", role = "primary" }}}}]\n'
            'monitor = {{ user = "monitor", password = "monitorpw", interval_ms = 1000 }}\n'
            + self.table("point", ["main"] * 4) + self.table("merged", ["main", "main", "second", "second"])
        )

    @staticmethod
    def table(name, groups):
        shards = ", ".join(f'{{{{ group = "{group}", table = "{name}_{at}" }}}}' for at, group in enumerate(groups))
        return f'\n[[table]]\nname = "sbtest.{name}"\nkey = "id"\nmethod = "mod"\nshards = [{shards}]\n'


class Proxysql(Contender):
    name = "proxysql"
    program = "proxysql"
    rules = ""
    per_client = 1

    def version(self):
        return machine.version("ProxySQL", ["proxysql", "--version"])

    def configure(self, cpus):
        config = self.write(
            "proxysql.cnf",
            f'datadir="{self.home}"\n'
            f'admin_variables={{ mysql_ifaces="127.0.0.1:{self.port + self.bench.admin_offset}" }}\n'
            f'mysql_variables={{ threads={len(cpus)} interfaces="127.0.0.1:{self.port}" monitor_enabled=false '
            "max_connections=20000 }\n"
            f'mysql_servers=({{ address="127.0.0.1" port={self.bench.primary} hostgroup=0 max_connections=500 }}, '
            f'{{ address="127.0.0.1" port={self.bench.replica} hostgroup=1 max_connections=500 }})\n'
            'mysql_users=({ username="app" password="apppw" default_hostgroup=0 max_connections=20000 })\n'
            f"{self.rules}",
        )
        return ["proxysql", "-f", "--idle-threads", "--initial", "-c", config]


class ProxysqlSplit(Proxysql):
    name = "proxysql split"
    rules = (
        'mysql_query_rules=({ rule_id=1 active=1 match_digest="^SELECT.*FOR UPDATE" destination_hostgroup=0 apply=1 }, '
        '{ rule_id=2 active=1 match_digest="^SELECT" destination_hostgroup=1 apply=1 })\n'
    )


class MaxscaleSplit(Contender):
    name = "maxscale split"
    program = "maxscale"
    per_client = 3

    def version(self):
        return machine.version("MaxScale", ["maxscale", "--version"])

    def configure(self, cpus):
        for part in ("data", "cache", "log", "run"):
            (self.home / part).mkdir(exist_ok=True)
        config = self.write(
            "maxscale.cnf",
            f"[maxscale]\nthreads={len(cpus)}\nadmin_enabled=false\nlogdir={self.home}/log\ndatadir={self.home}/data\n"
            f"cachedir={self.home}/cache\npiddir={self.home}/run\n"
            f"[p]\ntype=server\naddress=127.0.0.1\nport={self.bench.primary}\n"
            f"[r]\ntype=server\naddress=127.0.0.1\nport={self.bench.replica}\n"
            "[m]\ntype=monitor\nmodule=mariadbmon\nservers=p,r\nuser=monitor\npassword=monitorpw\n"
            "[s]\ntype=service\nrouter=readwritesplit\nservers=p,r\nuser=app\npassword=apppw\n"
            f"[l]\ntype=listener\nservice=s\naddress=127.0.0.1\nport={self.port}\n",
        )
        user = ["-U", "root"] if os.getuid() == 0 else []
        return ["maxscale", "-d", *user, "-f", config]

    def write(self, name, text):
        path = self.home / name
        path.write_text(text)
        path.chmod(0o600)
        return str(path)


class Router(Contender):
    name = "mysqlrouter"
    program = "mysqlrouter"
    per_client = 2

    def version(self):
        return machine.version("MySQL Router", ["mysqlrouter", "--version"])

    def configure(self, cpus):
        config = self.write(
            "router.conf",
            f"[DEFAULT]\nlogging_folder=\n[io]\nthreads={len(cpus)}\n[routing:r]\nbind_address=127.0.0.1\n"
            f"bind_port={self.port}\ndestinations=127.0.0.1:{self.bench.primary}\n"
            f"routing_strategy=first-available\nprotocol=classic\nmax_connections={self.most_clients()}\n",
        )
        return ["mysqlrouter", "-c", config]


ALL = (Contender, Haproxy, Umpire, UmpireSplit, Proxysql, ProxysqlSplit, MaxscaleSplit, Router)
