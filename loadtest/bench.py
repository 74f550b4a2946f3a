#!/usr/bin/env python3
"""Umpire beside other proxies, in the same run, on the same servers: cost, latency, memory.

    make bench                                   the whole table: 25 minutes, and 5 for each further proxy found
    make bench ARGS="--quick"                    everything once and briefly, to see that it works
    make bench ARGS="--parts point,latency"      parts of it
    make bench ARGS="--rounds 5 --seconds 5 --save"    tables and plots into docs/performance.md

Starts its own MariaDB primary and replica, HAProxy (TCP mode) and Umpire; ProxySQL, MaxScale and MySQL Router too
where they are installed. Each round runs every contender once, the next round in the opposite order, so that
what the machine does besides hits all alike. A contender's cost is the CPU time of its own process, all threads,
divided by the queries that the load counted; medians over the rounds are compared.

Parts: point (sysbench point selects, text and prepared), oltp (oltp_read_only, oltp_read_write), results (100 rows
to 64 MB), connect (connect–query–quit), latency (open loop at half of HAProxy's peak), idle (memory and CPU of idle
clients; 1 % active), slow (a slow reader of 1 GB), workers (two workers on two CPUs), calls (system calls),
user (user CPU by sampling, where perf is installed), audited (what policies, digests, slow log and audit cost),
sharded (a statement of one
shard against an unsharded one; rows merged), allocations (heap).

Placement: "one" puts servers, load and proxy on one CPU (each pair is treated alike); "two" gives the proxy a CPU
of its own, servers and load share the other. Parts for which it matters run in both.

Only Python's standard library is used. Everything listens on 127.0.0.1 and is stopped at the end.
"""

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmark import contenders, load, machine, parts, plots, report

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
QUICK = {"rounds": 1, "seconds": 1, "latency_seconds": 1, "idle_seconds": 1, "attempt_seconds": 0.2,
         "clients": "16", "idle": "1000"}  # fmt: skip
#: Options that say where things are here, not what is measured.
LOCAL = ("--umpire", "--loadgen", "--out", "--json", "--save")


def main():
    os.umask(0o077)  # the configuration holds passwords
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    options = arguments()
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        bench = Bench(options, stack)
        bench.start()
        measured = {}
        for name in options.parts.split(","):
            begun = time.monotonic()
            measured[name] = parts.ALL[name](bench)
            machine.progress(f"part {name} took {time.monotonic() - begun:.0f} s")
    text = report.markdown(bench, measured, command(), time.monotonic() - started)
    print(text)
    if options.out:
        Path(options.out).write_text(text)
    if options.json:
        Path(options.json).write_text(json.dumps(plain(measured), indent=1))
    if options.save:
        report.save(TOP / "docs/performance.md", text, plots.draw(bench, measured, TOP / "docs"))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--quick", action="store_true", help="everything once and briefly (for figures, leave it out)")
    add("--parts", default=",".join(parts.ALL), help="which parts, see above (all)")
    add("--rounds", type=int, help="rounds; medians are taken over them (3)")
    add("--seconds", type=int, help="seconds of each run (3)")
    add("--latency-seconds", type=float, help="seconds of each open-loop run (6)")
    add("--idle-seconds", type=float, help="seconds of looking at idle clients (10)")
    add("--attempt-seconds", type=float, help="seconds of new connections at a rate (3)")
    add("--clients", help="numbers of clients (1,16,64)")
    add("--idle", help="numbers of idle clients (1000,10000)")
    add("--rate", type=float, default=2000, help="queries per second beside idle clients and slow readers (2000)")
    add("--workloads", default="text,prepared", help="text, prepared (both)")
    add("--placements", default="one,two", help="see above (both)")
    add("--only", default="", help="contenders, by name, for a part of the table")
    add("--umpire", default=str(target() / "release/umpire"), help="the binary")
    add("--loadgen", default=str(target() / "release/examples/loadgen"), help="the load generator")
    add("--out", help="write the tables to this file too")
    add("--json", help="write every value to this file")
    add("--save", action="store_true", help="put tables and plots into docs/performance.*")
    options = parser.parse_args()
    full = {"rounds": 3, "seconds": 3, "latency_seconds": 6, "idle_seconds": 10, "attempt_seconds": 3,
            "clients": "1,16,64", "idle": "1000,10000"}  # fmt: skip
    for name, value in (QUICK if options.quick else full).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    for name in options.parts.split(","):
        if name not in parts.ALL:
            parser.error(f"no such part: {name}")
    for program in (options.umpire, options.loadgen):
        if not os.path.exists(program):
            parser.error(f"{program} is not there: run `make build bench-build`")
    return options


def target():
    return Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target"))


def command():
    """How to run this again, without what is particular to this machine."""
    kept, skip = [], False
    for word in sys.argv[1:]:
        local = word.split("=")[0] in LOCAL
        if not local and not skip:
            kept.append(word)
        skip = local and "=" not in word and word != "--save"
    return f'make bench ARGS="{" ".join(kept)}"' if kept else "make bench"


class Bench:
    """The servers and contenders of one run."""

    admin_offset = 20

    def __init__(self, options, stack):
        self.options, self.stack, self.here = options, stack, HERE
        self.clients = [int(n) for n in options.clients.split(",")]
        self.idle_levels = [int(n) for n in options.idle.split(",")]
        self.workloads = options.workloads.split(",")
        self.cpus = sorted(os.sched_getaffinity(0))[:2]
        self.proxy_cpu = self.cpus[0]
        self.other_cpu = self.proxy_cpu
        self.placements = [p for p in options.placements.split(",") if p == "one" or len(self.cpus) > 1]
        self.dir = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="umpire-bench-")))
        ports = machine.free_ports(2 * self.admin_offset)
        self.primary, self.replica = self.servers = ports[:2]
        self.first_port = ports[2]
        self.contenders = {}
        self.versions = []

    def start(self):
        cluster = self.dir / "servers"
        machine.progress(f"MariaDB primary and replica on 127.0.0.1:{self.primary}, {self.replica}")
        script = [str(TOP / "tests/servers/cluster.sh")]
        self.stack.callback(lambda: subprocess.run(script + ["stop", str(cluster)], check=False))
        environment = os.environ | {"SERVER_OPTIONS": "--max-connections=12000 --back-log=4096"}
        machine.run(script + ["mariadb", str(cluster), str(self.primary), "2"], env=environment)
        self.server_pids = [int((cluster / str(i) / "pid").read_text()) for i in (0, 1)]
        self.place(self.placements[0])
        self.versions.append(machine.version("MariaDB", ["mariadbd", "--version"]))
        prepare = load.sysbench(self, self.primary, 4, "text", "oltp_read_write", 0, f"--tables={load.TABLES}")
        machine.run(prepare + ["prepare"])
        machine.run(script + ["sync", str(cluster)])
        wanted = [name for name in self.options.only.split(",") if name]
        for i, kind in enumerate(contenders.ALL):
            port = self.primary if kind is contenders.Contender else self.first_port + i
            contender = kind(self, port)
            if (wanted and contender.name not in wanted) or not contender.installed():
                continue
            self.stack.callback(contender.stop)
            self.contenders[contender.name] = contender.start()
            if contender.version() not in (None, *self.versions):
                self.versions.append(contender.version())
        machine.progress("contenders: " + ", ".join(self.contenders))

    def proxies(self):
        return [contender for contender in self.contenders.values() if contender.program]

    def kinds(self):
        """The proxies without Umpire's plain form where the split one is there: for what both do alike."""
        both = "umpire split" in self.contenders
        return [contender for contender in self.proxies() if not (both and contender.name == "umpire")]

    def place(self, placement):
        self.other_cpu = self.cpus[-1] if placement == "two" else self.proxy_cpu
        self.pin_servers({self.other_cpu})

    def pin_servers(self, cpus):
        for pid in self.server_pids:
            machine.pin(pid, cpus)

    def load_cpus(self):
        return str(self.other_cpu)


def plain(value):
    """For JSON: keys of tuples become text."""
    if isinstance(value, dict):
        return {" / ".join(map(str, k)) if isinstance(k, tuple) else str(k): plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


if __name__ == "__main__":
    main()
