"""What is done to the contenders: sysbench, and the load generator of loadtest/loadgen/."""

import json
import os
import re
import select
import subprocess
import time

from . import machine

WORKLOADS = {"text": "disable", "prepared": "auto"}
TABLES, ROWS = 4, 10_000


def sysbench(bench, port, clients, workload, script, seconds, *more):
    return [
        "taskset", "-c", bench.load_cpus(), "sysbench", script, "--mysql-host=127.0.0.1",
        f"--mysql-port={port}", "--mysql-user=app", "--mysql-password=apppw", "--mysql-db=sbtest",
        f"--table-size={ROWS}", f"--threads={clients}", f"--time={seconds}",
        f"--db-ps-mode={WORKLOADS[workload]}", *more,
    ]  # fmt: skip


def point_select(bench, contender, clients, workload, seconds):
    return counted(bench, contender, clients, workload, "oltp_point_select", seconds, "--tables=1", "--skip-trx=on")


def oltp(bench, contender, clients, script, seconds):
    return counted(bench, contender, clients, "text", script, seconds, f"--tables={TABLES}")


def counted(bench, contender, clients, workload, script, seconds, *more):
    """(queries/s, user µs, system µs) of one run of sysbench."""
    before, started = machine.Usage(contender.pid), time.monotonic()
    said = machine.run(sysbench(bench, contender.port, clients, workload, script, seconds, *more) + ["run"])
    took = time.monotonic() - started
    user, system = machine.Usage(contender.pid).since(before)
    queries = int(re.search(r"^\s*total:\s+(\d+)", said, re.M).group(1))
    if "FATAL" in said or queries == 0:
        raise SystemExit(f"{contender.name}: {said}")
    return queries / took, 1e6 * user / queries, 1e6 * system / queries


class Load:
    """A load generator with its connections open, run phase by phase."""

    def __init__(self, bench, mode, port, clients=0, idle=0, cpus=None, **more):
        command = ["taskset", "-c", cpus or bench.load_cpus(), bench.options.loadgen, mode, "--gate",
                   f"--port={port}", f"--clients={clients}", f"--idle={idle}", f"--range={ROWS}"]  # fmt: skip
        for key, value in more.items():
            command.append(f"--{key}" if value is True else f"--{key}={value}")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.received = b""
        self.ready = self.line(60 + (clients + idle) / 100)
        if self.ready["errors"]:
            machine.progress(f"  set-up of {clients + idle} clients on port {port}: {self.ready['errors']}")

    def go(self, seconds, rate=None):
        self.process.stdin.write(f"{seconds} {rate if rate is not None else ''}\n".encode())
        self.process.stdin.flush()

    def phase(self, seconds, rate=None):
        self.go(seconds, rate)
        return self.line(seconds + 75)

    def measured(self, contender, seconds, rate=None):
        """A phase with the contender's CPU seconds: (result, user, system)."""
        before = machine.Usage(contender.pid)
        result = self.phase(seconds, rate)
        return result, *machine.Usage(contender.pid).since(before)

    def line(self, patience):
        deadline = time.monotonic() + patience
        while b"\n" not in self.received:
            left = deadline - time.monotonic()
            if left < 0 or not select.select([self.process.stdout], [], [], left)[0]:
                self.close()
                raise SystemExit("the load generator does not answer")
            got = os.read(self.process.stdout.fileno(), 1 << 16)
            if not got:
                raise SystemExit(f"the load generator ended with code {self.process.wait()}")
            self.received += got
        line, self.received = self.received.split(b"\n", 1)
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class SlowReader:
    """One client that asks for a large result and reads it at a rate (bytes per second; 0: not at all)."""

    def __init__(self, bench, port, rate, seconds, query):
        self.process = subprocess.Popen(
            ["taskset", "-c", bench.load_cpus(), bench.options.loadgen, "slow", f"--port={port}", f"--rate={rate}",
             f"--seconds={seconds}", f"--query={query}"], stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            said, _ = self.process.communicate(timeout=30)
            self.result = json.loads(said) if said else {"ended": "nothing", "bytes": 0}
        except subprocess.TimeoutExpired:
            machine.stop(self.process)
