#!/usr/bin/env python3
"""CPU per query of Umpire beside other proxies, in the same run, on the same servers.

    make bench ARGS="--rounds 5 --seconds 8 --save"

Starts its own MariaDB, HAProxy (TCP mode) and Umpire; ProxySQL, MaxScale and MySQL Router too where they are
installed. Each round runs every contender once, one after the other, so that what the machine does besides
hits all alike. A contender's cost is the CPU time of its own process (user and system, all threads, from
/proc/PID/stat) divided by the queries that sysbench counted; medians over the rounds are compared.

Placement: "one" puts server, load and proxy on one CPU (each pair is treated alike); "two" gives the proxy a
CPU of its own.

Only Python's standard library is used. Everything listens on 127.0.0.1 and is stopped at the end.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
TICK = os.sysconf("SC_CLK_TCK")
WORKLOADS = {"text": "disable", "prepared": "auto"}
os.environ["PATH"] += ":/usr/sbin:/usr/local/sbin"


def main():
    os.umask(0o077)  # the configuration holds passwords
    options = arguments()
    with contextlib.ExitStack() as stack:
        bench = Bench(options, stack)
        bench.start()
        results = bench.rounds()
        idle = bench.idle_memory() if options.idle else {}
        calls = bench.system_calls() if options.strace else {}
    report = markdown(options, bench, results, idle, calls)
    print(report)
    if options.out:
        Path(options.out).write_text(report)
    if options.svg or options.save:
        target = Path(options.svg or TOP / "docs/performance.svg")
        target.write_text(svg(bench, results))
    if options.save:
        save(TOP / "docs/performance.md", report)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds; medians are taken over them (5)")
    parser.add_argument("--seconds", type=int, default=6, help="seconds of each run (6)")
    parser.add_argument("--clients", default="1,16,64", help="numbers of clients (1,16,64)")
    parser.add_argument("--workloads", default="text,prepared", help="text, prepared (both)")
    parser.add_argument("--only", default="", help="contenders, by name, for a part of the table")
    parser.add_argument("--placement", choices=("one", "two"), default="one", help="CPUs, see above (one)")
    parser.add_argument("--umpire", default=str(target() / "release/umpire"), help="the binary")
    parser.add_argument("--idle", type=int, default=0, help="also memory with so many idle clients")
    parser.add_argument("--strace", action="store_true", help="also system calls per query (strace -c)")
    parser.add_argument("--out", help="write the table to this file")
    parser.add_argument("--svg", help="write the plot to this file")
    parser.add_argument("--save", action="store_true", help="put table and plot into docs/performance.*")
    return parser.parse_args()


def target():
    return Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target"))


class Bench:
    """The servers and contenders of one run."""

    def __init__(self, options, stack):
        self.options, self.stack = options, stack
        self.clients = [int(n) for n in options.clients.split(",")]
        self.workloads = options.workloads.split(",")
        cpus = sorted(os.sched_getaffinity(0))
        self.proxy_cpu = cpus[0]
        self.other_cpu = cpus[0] if options.placement == "one" or len(cpus) < 2 else cpus[1]
        self.dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="umpire-bench-")))
        self.ports = free_ports(12)
        self.contenders = {}
        self.versions = {}

    def start(self):
        servers = self.dir / "servers"
        base = self.ports[0]
        progress(f"MariaDB primary and replica on 127.0.0.1:{base}, {base + 1}")
        script = [str(TOP / "tests/servers/cluster.sh")]
        self.stack.callback(lambda: subprocess.run(script + ["stop", str(servers)], check=False))
        run(["taskset", "-c", str(self.other_cpu)] + script + ["mariadb", str(servers), str(base), "2"])
        self.versions["MariaDB"] = first_line(["mariadbd", "--version"])
        run(self.sysbench(base, 4, "text", "oltp_point_select", 0) + ["prepare"])
        run(script + ["sync", str(servers)])
        wanted = [name for name in self.options.only.split(",") if name]
        for name, start in (
            ("direct", self.start_direct),
            ("haproxy", self.start_haproxy),
            ("umpire", lambda: self.start_umpire(False)),
            ("umpire split", lambda: self.start_umpire(True)),
            ("proxysql", self.start_proxysql),
            ("maxscale", self.start_maxscale),
            ("mysqlrouter", self.start_router),
        ):
            if wanted and name not in wanted:
                continue
            started = start()
            if started:
                self.contenders[name] = started
                wait_listening(started[0], name)
        progress("contenders: " + ", ".join(self.contenders))

    # Each start_* gives (port, pid); pid None: no process of its own to account for.

    def start_direct(self):
        return (self.ports[0], None)

    def start_haproxy(self):
        if not shutil.which("haproxy"):
            progress("haproxy is not installed: no ratio")
            return None
        self.versions["HAProxy"] = first_line(["haproxy", "-v"])
        port = self.ports[2]
        config = self.dir / "haproxy.cfg"
        config.write_text(
            "global\n  maxconn 4000\n  nbthread 1\n"
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n"
            f"listen mysql\n  bind 127.0.0.1:{port}\n  server s 127.0.0.1:{self.ports[0]}\n"
        )
        return port, self.spawn("haproxy", ["haproxy", "-db", "-f", str(config)])

    def start_umpire(self, split):
        binary = self.options.umpire
        if not os.path.exists(binary):
            progress(f"{binary} is not there: run `make build`")
            return None
        self.versions["Umpire"] = first_line([binary, "--version"])
        port = self.ports[4 if split else 3]
        config = self.dir / f"umpire-{port}.toml"
        base = self.ports[0]
        config.write_text(
            f'[proxy]\nlisten = ["127.0.0.1:{port}"]\nworkers = [{self.proxy_cpu}]\n\n'
            '[[group]]\nname = "main"\nservers = [\n'
            f'  {{ address = "127.0.0.1:{base}", role = "primary" }},\n'
            f'  {{ address = "127.0.0.1:{base + 1}", role = "replica" }},\n]\n'
            f"read_write_split = {str(split).lower()}\n"
            'monitor = { user = "monitor", password = "monitorpw", interval_ms = 1000 }\n\n'
            '[[user]]\nname = "app"\npassword = "apppw"\ngroup = "main"\n'
        )
        return port, self.spawn(f"umpire-{port}", [binary, "--config", str(config)])

    def start_proxysql(self):
        if not shutil.which("proxysql"):
            return None
        self.versions["ProxySQL"] = first_line(["proxysql", "--version"])
        port, admin = self.ports[5], self.ports[6]
        config = self.dir / "proxysql.cnf"
        config.write_text(
            f'datadir="{self.dir}/proxysql"\n'
            f'admin_variables={{ mysql_ifaces="127.0.0.1:{admin}" }}\n'
            f'mysql_variables={{ threads=1 interfaces="127.0.0.1:{port}" monitor_enabled=false }}\n'
            f'mysql_servers=({{ address="127.0.0.1" port={self.ports[0]} hostgroup=0 max_connections=500 }})\n'
            'mysql_users=({ username="app" password="apppw" default_hostgroup=0 max_connections=2000 })\n'
        )
        (self.dir / "proxysql").mkdir()
        return port, self.spawn("proxysql", ["proxysql", "-f", "--idle-threads", "-c", str(config)])

    def start_maxscale(self):
        if not shutil.which("maxscale"):
            return None
        self.versions["MaxScale"] = first_line(["maxscale", "--version"])
        port = self.ports[7]
        home = self.dir / "maxscale"
        for part in ("data", "cache", "log", "run"):
            (home / part).mkdir(parents=True)
        config = home / "maxscale.cnf"
        config.write_text(
            f"[maxscale]\nthreads=1\nadmin_enabled=false\nlogdir={home}/log\ndatadir={home}/data\n"
            f"cachedir={home}/cache\npiddir={home}/run\n"
            f"[s]\ntype=server\naddress=127.0.0.1\nport={self.ports[0]}\n"
            "[m]\ntype=monitor\nmodule=mariadbmon\nservers=s\nuser=monitor\npassword=monitorpw\n"
            "[r]\ntype=service\nrouter=readconnroute\nrouter_options=running\nservers=s\nuser=app\npassword=apppw\n"
            f"[l]\ntype=listener\nservice=r\naddress=127.0.0.1\nport={port}\n"
        )
        user = ["-U", "root"] if os.getuid() == 0 else []
        return port, self.spawn("maxscale", ["maxscale", "-d", *user, "-f", str(config)])

    def start_router(self):
        if not shutil.which("mysqlrouter"):
            return None
        self.versions["MySQL Router"] = first_line(["mysqlrouter", "--version"])
        port = self.ports[8]
        config = self.dir / "router.conf"
        config.write_text(
            f"[DEFAULT]\nlogging_folder=\n[io]\nthreads=1\n[routing:r]\nbind_address=127.0.0.1\nbind_port={port}\n"
            f"destinations=127.0.0.1:{self.ports[0]}\nrouting_strategy=first-available\nprotocol=classic\n"
        )
        return port, self.spawn("mysqlrouter", ["mysqlrouter", "-c", str(config)])

    def spawn(self, name, command):
        log = open(self.dir / f"{name}.log", "wb")
        command = ["taskset", "-c", str(self.proxy_cpu), "setpriv", "--pdeathsig", "KILL", "--"] + command
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.stack.callback(stop, process)
        return process.pid

    def sysbench(self, port, clients, workload, script, seconds):
        return [
            "taskset", "-c", str(self.other_cpu), "sysbench", script, "--mysql-host=127.0.0.1",
            f"--mysql-port={port}", "--mysql-user=app", "--mysql-password=apppw", "--mysql-db=sbtest",
            "--tables=1", "--table-size=10000", "--skip-trx=on", f"--threads={clients}",
            f"--time={seconds}", f"--db-ps-mode={WORKLOADS[workload]}",
        ]  # fmt: skip

    def measure(self, name, clients, workload, seconds):
        """(queries, seconds, user s, system s) of one run."""
        port, pid = self.contenders[name]
        before = cpu(pid)
        started = time.monotonic()
        said = run(self.sysbench(port, clients, workload, "oltp_point_select", seconds) + ["run"])
        took = time.monotonic() - started
        after = cpu(pid)
        queries = int(re.search(r"^\s*total:\s+(\d+)", said, re.M).group(1))
        if "FATAL" in said or queries == 0:
            raise SystemExit(f"{name}: {said}")
        return queries, took, after[0] - before[0], after[1] - before[1]

    def rounds(self):
        """{(workload, clients, contender): [(q/s, user µs, system µs), …]}"""
        results = {}
        for name in self.contenders:  # caches, pools, prepared statements
            self.measure(name, 8, "text", 1)
        for number in range(self.options.rounds):
            for workload in self.workloads:
                for clients in self.clients:
                    # A B C, then C B A: a slow drift hits each of them alike.
                    names = list(self.contenders)
                    for name in names if number % 2 == 0 else reversed(names):
                        queries, took, user, system = self.measure(name, clients, workload, self.options.seconds)
                        row = (queries / took, 1e6 * user / queries, 1e6 * system / queries)
                        results.setdefault((workload, clients, name), []).append(row)
                        progress(
                            f"round {number + 1}/{self.options.rounds} {workload} {clients:3} clients "
                            f"{name:13} {row[0]:8.0f} queries/s {row[1] + row[2]:6.1f} µs"
                        )
        return results

    def idle_memory(self):
        """{contender: KiB per idle client}: clients that stopped after the greeting's login."""
        grown = {}
        for name, (port, pid) in self.contenders.items():
            if pid is None:
                continue
            before = resident(pid)
            count = self.options.idle
            holder = subprocess.Popen(
                self.sysbench(port, count, "text", "oltp_point_select", 20) + ["--rate=1", "run"],
                stdout=subprocess.DEVNULL,
            )
            deadline = time.monotonic() + 15
            while connections(port) < count and time.monotonic() < deadline:
                time.sleep(0.2)
            seen = connections(port)
            grown[name] = (resident(pid) - before) / max(seen, 1)
            progress(f"{name}: {grown[name]:.1f} KiB for each of {seen} idle clients")
            holder.terminate()
            holder.wait()
        return grown

    def system_calls(self):
        """{(contender, clients): system calls per query}"""
        if not shutil.which("strace"):
            progress("strace is not installed: no system calls")
            return {}
        counted = {}
        for name, (_, pid) in self.contenders.items():
            for clients in self.clients if pid else []:
                out = self.dir / "strace"
                tracer = subprocess.Popen(
                    ["strace", "-c", "-f", "-q", "-o", str(out), "-p", str(pid)], stderr=subprocess.DEVNULL
                )
                time.sleep(0.5)
                queries, *_ = self.measure(name, clients, "text", 4)
                tracer.send_signal(signal.SIGINT)
                tracer.wait()
                total = re.search(r"(\d+)\s+(?:\d+\s+)?total", out.read_text())
                counted[name, clients] = int(total.group(1)) / queries if total else float("nan")
                progress(f"{name} {clients} clients: {counted[name, clients]:.2f} system calls per query")
        return counted


def cpu(pid):
    """User and system seconds of a process, all threads and what they waited for."""
    if pid is None:
        return 0.0, 0.0
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) / TICK, int(fields[12]) / TICK


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text()).group(1))


def connections(port):
    """Established client connections of a listener."""
    wanted = f":{port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(1 for line in lines if line.split()[1].endswith(wanted) and line.split()[3] == "01")


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def first_line(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[0]


def stop(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_ports(count):
    """A row of ports that nobody listens on, below the range of outgoing connections."""
    for base in range(25400, 32000, count):
        if not any(listening(port) for port in range(base, base + count)):
            return list(range(base, base + count))
    raise SystemExit("no free ports between 25400 and 32000")


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_listening(port, name):
    deadline = time.monotonic() + 20
    while not listening(port):
        if time.monotonic() > deadline:
            raise SystemExit(f"{name} does not listen on port {port}")
        time.sleep(0.05)


def progress(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def median(rows, column):
    return statistics.median(row[column] for row in rows)


def cost(rows):
    return statistics.median(row[1] + row[2] for row in rows)


def markdown(options, bench, results, idle, calls):
    lines = [
        f"Median of {options.rounds} rounds of {options.seconds} s, sysbench oltp_point_select; "
        f"{placement(bench)}; {time.strftime('%Y-%m-%d')}, Linux {os.uname().release}, {os.cpu_count()} CPUs.",
        "",
        "; ".join(bench.versions.values()) + ".",
        "",
    ]
    for workload in bench.workloads:
        lines += [
            f"**{workload.capitalize()} protocol**: CPU µs of the proxy per query (user + system), ratio to HAProxy, queries/s",
            "",
            "| proxy | " + " | ".join(f"{n} client{'s' if n > 1 else ''}" for n in bench.clients) + " |",
            "|---|" + "---|" * len(bench.clients),
        ]
        for name in bench.contenders:
            cells = [cell(results, workload, n, name) for n in bench.clients]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    if calls:
        lines += ["System calls per query (strace): " + "; ".join(
            f"{name} " + " / ".join(f"{calls[name, n]:.2f}" for n in bench.clients)
            for name in bench.contenders if (name, bench.clients[0]) in calls) + ".", ""]  # fmt: skip
    if idle:
        each = ", ".join(f"{name} {kib:.1f} KiB" for name, kib in idle.items())
        lines += [f"Memory for each of {options.idle} idle clients: {each}.", ""]
    return "\n".join(lines)


def placement(bench):
    if bench.proxy_cpu == bench.other_cpu:
        return "server, load and proxy on one CPU"
    return "the proxy on one CPU, server and load on another"


def cell(results, workload, clients, name):
    rows = results[workload, clients, name]
    if name == "direct":
        return f"– ({median(rows, 0):.0f}/s)"
    text = f"{cost(rows):.1f} ({median(rows, 1):.1f} + {median(rows, 2):.1f})"
    peer = results.get((workload, clients, "haproxy"))
    if peer and name != "haproxy" and cost(peer) > 0:
        text += f", {cost(rows) / cost(peer):.2f}×"
    return f"{text}, {median(rows, 0):.0f}/s"


def svg(bench, results):
    """Bars of CPU µs per query: user dark, system light."""
    names = [name for name in bench.contenders if name != "direct"]
    groups = [(w, n) for w in bench.workloads for n in bench.clients]
    highest = max((cost(results[w, n, name]) for w, n in groups for name in names), default=1) or 1
    bar, gap, height, left, top = 22, 26, 220, 50, 40
    width = left + len(groups) * (len(names) * bar + gap) + 20
    colours = ["#888888", "#b5402a", "#d9822b", "#2a6fb5", "#3d8c40", "#7a4fa0"]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + top + 60}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{left}" y="18" font-size="13">CPU µs of the proxy per query (dark: user, light: system)</text>',
    ]
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 1e9) if highest / s <= 8)
    value = 0
    while value <= highest:
        y = top + height - height * value / highest
        out.append(f'<line x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
        value += step
    x = left + gap / 2
    for workload, clients in groups:
        label = f"{workload}, {clients}"
        out.append(f'<text x="{x + len(names) * bar / 2:.0f}" y="{top + height + 16}" text-anchor="middle">{label}</text>')
        for name in names:
            rows = results[workload, clients, name]
            colour = colours[names.index(name) % len(colours)]
            y = top + height
            for column, opacity in ((1, 1.0), (2, 0.55)):
                size = height * median(rows, column) / highest
                y -= size
                out.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{bar - 3}" height="{size:.1f}" '
                    f'fill="{colour}" fill-opacity="{opacity}"/>'
                )
            x += bar
        x += gap
    for i, name in enumerate(names):
        at = left + i * 110
        out.append(f'<rect x="{at}" y="{top + height + 30}" width="10" height="10" fill="{colours[i % len(colours)]}"/>')
        out.append(f'<text x="{at + 14}" y="{top + height + 39}">{name}</text>')
    return "\n".join(out + ["</svg>", ""])


def save(path, report):
    """Replaces what stands between the two marks of the page, or starts the page."""
    begin, end = "<!-- bench: begin -->", "<!-- bench: end -->"
    block = f"{begin}\n{report}\n![CPU per query](performance.svg)\n{end}"
    page = path.read_text() if path.exists() else f"# Performance\n\n{begin}\n{end}\n"
    if begin not in page:
        page += f"\n{begin}\n{end}\n"
    head, rest = page.split(begin, 1)
    path.write_text(head + block + rest.split(end, 1)[1])
    progress(f"saved in {path}")


if __name__ == "__main__":
    main()
