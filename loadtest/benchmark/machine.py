"""What the kernel says of processes: CPU, memory, descriptors. And small helpers."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")


class Usage:
    """CPU seconds of a process so far, all threads."""

    def __init__(self, pid):
        self.user = self.system = self.exact = 0.0
        if pid is None:
            return
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        self.user, self.system = int(fields[11]) / TICK, int(fields[12]) / TICK
        for task in Path(f"/proc/{pid}/task").iterdir():
            try:
                self.exact += int((task / "schedstat").read_text().split()[0]) / 1e9
            except OSError:
                pass

    def since(self, before):
        """(user, system) seconds. Their sum is exact to the nanosecond where the kernel tells it and no thread
        ended in between; how it divides is known in ticks only."""
        user, system = self.user - before.user, self.system - before.system
        exact = self.exact - before.exact
        if user + system > 0 and abs(exact - user - system) < 0.05 + 0.05 * exact:
            scale = exact / (user + system)
            return user * scale, system * scale
        return user, system


def thread_seconds(pid, prefix=""):
    """CPU seconds so far of the threads whose names begin so, exact to the nanosecond."""
    seconds = 0.0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            if (task / "comm").read_text().startswith(prefix):
                seconds += int((task / "schedstat").read_text().split()[0]) / 1e9
        except OSError:
            pass
    return seconds


def memory(pid):
    """Resident KiB, and its anonymous part."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    read = {name: int(re.search(rf"^{name}:\s+(\d+)", text, re.M).group(1)) for name in ("Rss", "Anonymous")}
    return read["Rss"], read["Anonymous"]


def sockets_of(pid):
    """(descriptors, local ports, remote ports) of a process."""
    inodes, count = set(), 0
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            link = os.readlink(fd)
        except OSError:
            continue
        count += 1
        if link.startswith("socket:["):
            inodes.add(link[8:-1])
    remote = []
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[9] in inodes:
            remote.append(int(fields[2].rsplit(":", 1)[1], 16))
    return count, remote


def descriptors(pid, server_ports):
    """Descriptors of a process but for its connections to the servers, which a pool may keep."""
    count, remote = sockets_of(pid)
    return count - sum(1 for port in remote if port in server_ports)


def pin(pid, cpus):
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            os.sched_setaffinity(int(task.name), cpus)
        except ProcessLookupError:
            pass


def threads(pid):
    """{thread id: name}"""
    return {int(task.name): (task / "comm").read_text().strip() for task in Path(f"/proc/{pid}/task").iterdir()}


def run(command, **more):
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600, **more
    )
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def first_line(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return ((done.stdout + done.stderr).strip().splitlines() or ["?"])[0]


def version(name, command):
    found = re.search(r"\d+\.\d+(\.\d+)?", first_line(command).split("Ver", 1)[-1])
    return f"{name} {found.group(0)}" if found else name


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


def wait_listening(port, name, alive=lambda: True):
    wait_until(lambda: listening(port), f"{name} does not listen on port {port}", alive)


def wait_until(so, otherwise, alive=lambda: True):
    deadline = time.monotonic() + 60
    while not so():
        if time.monotonic() > deadline or not alive():
            raise SystemExit(otherwise)
        time.sleep(0.05)


def progress(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def describe():
    """The machine, without its name."""
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.+)", text)
    total = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text()).group(1))
    virtual = ", virtual machine" if re.search(r"^flags.*\bhypervisor\b", text, re.M) else ""
    cpus = os.cpu_count()
    return (
        f"{model.group(1).strip() if model else os.uname().machine}{virtual}, {cpus} CPU{'s' if cpus > 1 else ''}, "
        f"{total / (1 << 20):.0f} GiB of memory, Linux {os.uname().release.split('-')[0]}"
    )
