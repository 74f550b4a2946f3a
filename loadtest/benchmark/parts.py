"""The parts of a run. Each takes the bench and returns what it measured, as plain values."""

import contextlib
import re
import shutil
import signal
import statistics
import struct
import subprocess
import threading
import time

from . import contenders, load, machine

#: name: (query, clients)
RESULTS = {
    "100 rows": ("SELECT id, k, c, pad FROM sbtest1 LIMIT 100", 16),
    "10,000 rows": ("SELECT id, k, c, pad FROM sbtest1", 8),
    "1 MB": ("SELECT REPEAT('x', 1000000)", 4),
    "64 MB": ("SELECT REPEAT('x', 1000000) FROM sbtest1 LIMIT 64", 2),
}
GIGABYTE = "SELECT REPEAT('x', 1000000) FROM sbtest1 LIMIT 1000"
AT_ONCE = 16
ATTEMPTED = 10_000
#: Below this, how CPU time divides is chance.
FEWEST_SAMPLES = 200


def interleaved(bench, names=None):
    """(round, contender) in the order A B C, C B A, …: a slow drift hits each of them alike. A direct connection
    costs no proxy anything: once is enough."""
    chosen = [c for c in bench.contenders.values() if names is None or c.name in names]
    for number in range(bench.options.rounds):
        for contender in chosen if number % 2 == 0 else reversed(chosen):
            if contender.program or number == 0:
                yield number, contender


def point(bench):
    """{(placement, workload, clients, contender): [(q/s, user µs, system µs), …]}"""
    results = {}
    for placement in bench.placements:
        bench.place(placement)
        for contender in bench.contenders.values():  # caches, pools, prepared statements
            load.point_select(bench, contender, 8, "text", 1)
        for number in range(bench.options.rounds):
            for workload in bench.workloads:
                for clients in bench.clients:
                    names = [name for name, c in bench.contenders.items() if c.program or number == 0]
                    for name in names if number % 2 == 0 else reversed(names):
                        contender = bench.contenders[name]
                        row = load.point_select(bench, contender, clients, workload, bench.options.seconds)
                        results.setdefault((placement, workload, clients, name), []).append(row)
                        machine.progress(
                            f"point select, {placement} CPU, round {number + 1}/{bench.options.rounds} {workload:8} "
                            f"{clients:3} clients {name:14} {row[0]:8.0f}/s {row[1]:6.1f} + {row[2]:6.1f} µs"
                        )
    return results


def oltp(bench):
    """{(script, contender): [(q/s, user µs, system µs), …]}"""
    bench.place("one")
    results = {}
    for script in ("oltp_read_only", "oltp_read_write"):
        for number, contender in interleaved(bench):
            row = load.oltp(bench, contender, AT_ONCE, script, bench.options.seconds)
            results.setdefault((script, contender.name), []).append(row)
            machine.progress(
                f"{script} round {number + 1} {contender.name:14} {row[0]:8.0f}/s {row[1]:6.1f} + {row[2]:6.1f} µs"
            )
    return results


def results(bench):
    """{(size, contender): [(MB/s, user ms/GB, system ms/GB), …]}"""
    bench.place("one")
    rows = {}
    for size, (query, clients) in RESULTS.items():
        for number, contender in interleaved(bench):
            with load.Load(bench, "closed", contender.port, clients, query=query) as generator:
                result, user, system = generator.measured(contender, bench.options.seconds)
            check(result, f"{size} from {contender.name}")
            gigabytes = result["bytes"] / 1e9
            row = (1e3 * gigabytes / result["seconds"], 1e3 * user / gigabytes, 1e3 * system / gigabytes)
            rows.setdefault((size, contender.name), []).append(row)
            machine.progress(
                f"{size} round {number + 1} {contender.name:14} {row[0]:6.0f} MB/s {row[1]:6.1f} + {row[2]:6.1f} ms/GB"
            )
    return rows


def connect(bench):
    """{"cost": {contender: [(connections/s, user µs, system µs), …]}, "attempt": {contender: {…}}}"""
    bench.place("one")
    cost, attempt = {}, {}
    for number, contender in interleaved(bench):
        with load.Load(bench, "connect", contender.port, AT_ONCE) as generator:
            generator.phase(0.3)
            result, user, system = generator.measured(contender, bench.options.seconds)
        check(result, f"connect to {contender.name}")
        row = (result["per_second"], 1e6 * user / result["queries"], 1e6 * system / result["queries"])
        cost.setdefault(contender.name, []).append(row)
        machine.progress(
            f"connect round {number + 1} {contender.name:14} {row[0]:6.0f}/s {row[1]:6.1f} + {row[2]:6.1f} µs"
        )
    bench.place("two")
    for contender in bench.contenders.values():
        contender.restart()
        with load.Load(bench, "connect", contender.port, AT_ONCE) as generator:
            generator.phase(0.5, 100)
            time.sleep(1)
            before = machine.descriptors(contender.pid, bench.servers) if contender.pid else 0
            result = generator.phase(bench.options.attempt_seconds, ATTEMPTED)
        left = 0
        if contender.pid:
            deadline = time.monotonic() + 10
            while True:
                time.sleep(1)
                left = machine.descriptors(contender.pid, bench.servers) - before
                if left <= 0 or time.monotonic() > deadline:
                    break
        attempt[contender.name] = result | {"descriptors": left}
        machine.progress(
            f"{ATTEMPTED} new connections per second, {contender.name:14} {result['queries']} done, errors "
            f"{result['errors'] or 'none'}, unfinished {result['unfinished']}, not begun {result['not_begun']}, "
            f"descriptors left {left}"
        )
    return {"cost": cost, "attempt": attempt}


def latency(bench):
    """{"rates": {placement: q/s}, "runs": {(placement, contender): [result, …]}}, open loop at half of HAProxy's
    peak."""
    rates, runs = {}, {}
    for placement in bench.placements:
        bench.place(placement)
        peer = bench.contenders.get("haproxy") or next(iter(bench.contenders.values()))
        with load.Load(bench, "closed", peer.port, 64) as generator:
            generator.phase(0.5)
            peaks = [generator.phase(bench.options.seconds)["per_second"] for _ in range(min(3, bench.options.rounds))]
        rate = rates[placement] = round(statistics.median(peaks) / 2)
        machine.progress(f"latency, {placement} CPU: {peer.name}'s peak is {2 * rate} queries/s")
        for number, contender in interleaved(bench):
            with load.Load(bench, "open", contender.port, 64) as generator:
                generator.phase(0.5, rate)
                result = generator.phase(bench.options.latency_seconds, rate)
            check(result, f"latency of {contender.name}")
            runs.setdefault((placement, contender.name), []).append(result)
            shown = "  ".join(f"{name} {us:.0f}" for name, us in result["latency_us"].items())
            machine.progress(f"latency, {placement} CPU, round {number + 1} {contender.name:14} µs: {shown}")
    return {"rates": rates, "runs": runs}


def idle(bench):
    """{contender: {"empty CPU %": …, "levels": [{clients, KiB each, CPU %}], "active": …}}"""
    bench.place("two")
    found = {}
    for contender in bench.kinds():
        contender.restart()
        with load.Load(bench, "closed", contender.port, 16) as generator:  # what the first clients cost only once
            generator.phase(1)
        time.sleep(1)
        rss, anonymous = machine.memory(contender.pid)
        empty = cpu_share(contender, bench.options.idle_seconds)
        levels = [{"clients": 0, "rss": 0.0, "anonymous": 0.0, "cpu": empty, "total": rss}]
        active = None
        for wanted in bench.idle_levels:
            count = min(wanted, contender.most_clients())
            busy = max(1, count // 100)
            with load.Load(bench, "open", contender.port, busy, count - busy) as generator:
                connected = max(1, generator.ready["connections"])
                time.sleep(2)
                now_rss, now_anonymous = machine.memory(contender.pid)
                share = cpu_share(contender, bench.options.idle_seconds)
                levels.append({
                    "clients": connected, "rss": (now_rss - rss) / connected,
                    "anonymous": (now_anonymous - anonymous) / connected, "cpu": share, "total": now_rss,
                })  # fmt: skip
                machine.progress(
                    f"{contender.name:14} {connected} idle clients: {levels[-1]['rss']:.2f} KiB each "
                    f"({levels[-1]['anonymous']:.2f} anonymous), {share:.2f} % of a CPU (without clients {empty:.2f} %)"
                )
                if wanted == bench.idle_levels[-1]:
                    active = few_active(bench, contender, generator, busy)
        # the same load without the idle ones
        with load.Load(bench, "open", contender.port, busy) as generator:
            alone = few_active(bench, contender, generator, busy)
        found[contender.name] = {"levels": levels, "active": active, "alone": alone}
        contender.restart()
    return found


def few_active(bench, contender, generator, clients):
    generator.phase(0.5, bench.options.rate)
    result, user, system = generator.measured(contender, bench.options.latency_seconds, bench.options.rate)
    queries = max(1, result["queries"])
    machine.progress(
        f"{contender.name:14} {clients} of {result['connections']} clients active: "
        f"{1e6 * (user + system) / queries:.1f} µs a query, p99 {result['latency_us']['p99']:.0f} µs"
    )
    return result | {"clients": clients, "user": 1e6 * user / queries, "system": 1e6 * system / queries}


def cpu_share(contender, seconds):
    """Per cent of one CPU."""
    before, started = machine.Usage(contender.pid), time.monotonic()
    time.sleep(seconds)
    return 100 * sum(machine.Usage(contender.pid).since(before)) / (time.monotonic() - started)


def slow(bench):
    """{contender: [{"reads": "1 MB/s", "growth": KiB, "before": [result, …], "while": [result, …]}, …]}"""
    bench.place("two")
    found = {}
    rounds = bench.options.rounds
    seconds = bench.options.latency_seconds if rounds == 1 else bench.options.latency_seconds / 2
    for contender in bench.kinds():
        contender.restart()
        rows = found[contender.name] = []
        with load.Load(bench, "open", contender.port, AT_ONCE) as generator:
            generator.phase(1, bench.options.rate)
            for name, rate in (("1 MB/s", 1e6), ("nothing", 0)):
                row = {"reads": name, "growth": 0, "before": [], "while": []}
                rows.append(row)
                start, _ = machine.memory(contender.pid)
                for _ in range(rounds):
                    row["before"].append(generator.phase(seconds, bench.options.rate))
                    with load.SlowReader(bench, contender.port, rate, seconds + 2, GIGABYTE) as reader:
                        time.sleep(1)
                        with highest_memory(contender.pid) as highest:
                            row["while"].append(generator.phase(seconds, bench.options.rate))
                    row["growth"] = max(row["growth"], highest[0] - start)
                before, during = (
                    statistics.median(result["latency_us"]["p99"] for result in row[key]) for key in ("before", "while")
                )
                machine.progress(
                    f"slow reader ({name}), {contender.name:14} {row['growth']:+d} KiB, others' p99 {before:.0f} → "
                    f"{during:.0f} µs; the last one read {reader.result['bytes'] / 1e6:.1f} MB, {reader.result['ended']}"
                )
    return found


@contextlib.contextmanager
def highest_memory(pid):
    """A list whose only element is the most KiB that were resident so far."""
    highest, over = [machine.memory(pid)[0]], threading.Event()

    def watch():
        while not over.wait(0.1):
            highest[0] = max(highest[0], machine.memory(pid)[0])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield highest
    finally:
        over.set()
        watcher.join()


def workers(bench):
    """{(contender, case): [(q/s, user µs, system µs), …]}: the same clients per worker. Between two CPUs servers and
    proxy wake each other at a price of their own, and whoever else runs takes from caches and memory: so one worker runs
    "alone", with the servers on its CPU, and as "one", with the servers on both CPUs, as they are beside the two workers of
    "two" and beside two proxies of one worker each, "apart", which share nothing at all."""
    if len(bench.cpus) < 2:
        machine.progress("two workers: only one CPU here")
        return {}
    found = {}
    names = [name for name in ("haproxy", "umpire split") if name in bench.contenders]
    twins = {name: type(bench.contenders[name])(bench, machine.free_ports(1)[0]) for name in names}
    for number in range(bench.options.rounds):
        for name in names if number % 2 == 0 else reversed(names):
            cases = ("alone", "one", "two", "apart")
            for case in cases if number % 2 == 0 else reversed(cases):
                try:
                    row = workers_of(bench, case, bench.contenders[name], twins[name])
                finally:
                    twins[name].stop()
                found.setdefault((name, case), []).append(row)
                machine.progress(
                    f"workers round {number + 1} {name:14} {case:5} {row[0]:8.0f}/s {row[1]:6.1f} + {row[2]:6.1f} µs"
                )
    for name in names:
        bench.contenders[name].restart()
    return found


def workers_of(bench, case, contender, twin):
    """One case of `workers`: (q/s, user µs, system µs)."""
    bench.place("one")
    both = bench.cpus[:2]
    if case == "apart":
        proxies = [contender.restart(cpus=both[:1]), twin.start(cpus=both[1:])]
    else:
        proxies = [contender.restart(workers=2 if case == "two" else 1)]
    targets = {
        "two": [(contender, cpu) for cpu in both], "apart": list(zip(proxies, both)),
    }.get(case, [(contender, bench.proxy_cpu)])  # fmt: skip
    bench.pin_servers({bench.proxy_cpu} if case == "alone" else set(both))
    with contextlib.ExitStack() as stack:
        loads = [stack.enter_context(load.Load(bench, "closed", to.port, 32, cpus=str(cpu))) for to, cpu in targets]
        for phase in (0.5, bench.options.seconds):
            before = [machine.Usage(proxy.pid) for proxy in proxies]
            for generator in loads:
                generator.go(phase)
            results = [generator.line(phase + 75) for generator in loads]
            used = [machine.Usage(proxy.pid).since(at) for proxy, at in zip(proxies, before)]
    for result in results:
        check(result, f"workers of {contender.name}, {case}")
    queries = sum(result["queries"] for result in results)
    user, system = (sum(part) for part in zip(*used))
    return sum(result["per_second"] for result in results), 1e6 * user / queries, 1e6 * system / queries


def calls(bench):
    """{(contender, clients): system calls per query}: what the kernel counted, or else strace."""
    bench.place("one")
    found = {}
    for contender in bench.proxies():
        for clients in bench.clients:
            with load.Load(bench, "closed", contender.port, clients) as generator:
                generator.phase(0.3)
                with counting(bench, contender.pid) as counted:
                    result = generator.phase(bench.options.seconds)
            check(result, f"system calls of {contender.name}")
            found[contender.name, clients] = counted[0] / result["queries"]
            machine.progress(
                f"{contender.name:14} {clients:3} clients: {found[contender.name, clients]:.2f} system calls per query"
            )
    return found


@contextlib.contextmanager
def counting(bench, pid):
    """A list that holds the process's system calls once the block has ended."""
    counted = [float("nan")]
    out = bench.dir / "calls"
    if perf_counts():
        command = ["perf", "stat", "-x", ";", "-e", "raw_syscalls:sys_enter", "-o", str(out), "-p", str(pid)]
        pattern = r"^(\d+);;raw_syscalls"
    else:
        command = ["strace", "-c", "-f", "-q", "-o", str(out), "-p", str(pid)]
        pattern = r"(\d+)\s+(?:\d+\s+)?total"
    tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    try:
        yield counted
    finally:
        tracer.send_signal(signal.SIGINT)
        tracer.wait(10)
        found = re.search(pattern, out.read_text(), re.M) if out.exists() else None
        if found:
            counted[0] = int(found.group(1))


def perf_counts():
    command = ["perf", "stat", "-e", "raw_syscalls:sys_enter", "true"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def user(bench):
    """{contender: [(q/s, user µs, system µs), …]}: how the CPU time divides, sampled often (ticks are coarse)."""
    if not shutil.which("perf"):
        machine.progress("perf is not installed: user CPU is known in ticks only")
        return {}
    bench.place("one")
    found = {}
    out = bench.dir / "perf.data"
    for number, contender in interleaved(bench, [kind.name for kind in bench.kinds()]):
        with load.Load(bench, "closed", contender.port, AT_ONCE) as generator:
            generator.phase(0.3)
            sampler = subprocess.Popen(
                ["perf", "record", "-q", "-e", "cpu-clock", "-F", "3989", "-o", str(out), "-p", str(contender.pid)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(0.5)
            result, *seconds = generator.measured(contender, bench.options.seconds)
            sampler.send_signal(signal.SIGINT)
            sampler.wait(20)
        addresses = machine.run(["perf", "script", "-i", str(out), "-F", "ip"]).split()
        if len(addresses) < FEWEST_SAMPLES:
            machine.progress(f"user CPU round {number + 1} {contender.name:14} only {len(addresses)} samples: left out")
            continue
        share = sum(1 for address in addresses if not address.startswith("ffff")) / len(addresses)
        each = 1e6 * sum(seconds) / result["queries"]
        row = (result["per_second"], each * share, each * (1 - share))
        found.setdefault(contender.name, []).append(row)
        machine.progress(
            f"user CPU round {number + 1} {contender.name:14} {row[1]:.2f} + {row[2]:.2f} µs of {len(addresses)} samples"
        )
    return found


def audited(bench):
    """{contender: [{"rate": q/s, "worker": µs, "user": µs or None, "process": µs}, …]}: what policies, digests, the slow
    log and an audit of every statement cost a text point select. "worker": CPU of the worker threads, "user": of it in
    user space (sampled, where perf is installed), "process": with the thread that writes the files."""
    plain = bench.contenders.get("umpire split")
    if not plain:
        machine.progress("audited: nothing to compare with (umpire split is left out)")
        return {}
    bench.place("one")
    found = {}
    other = contenders.UmpireAudited(bench, bench.first_port + len(contenders.ALL))
    with contextlib.ExitStack() as stack:
        stack.callback(other.stop)
        pair = [plain, other.start()]
        for number in range(bench.options.rounds):
            for contender in pair if number % 2 == 0 else reversed(pair):
                row = worker_cost(bench, contender, f"audited round {number + 1} {contender.name:21}")
                found.setdefault(contender.name, []).append(row)
    return found


def worker_cost(bench, contender, what, **more):
    """What a query costs the worker threads and the whole process, in µs of CPU."""
    with load.Load(bench, "closed", contender.port, AT_ONCE, **more) as generator:
        generator.phase(0.5)
        workers, process = machine.thread_seconds(contender.pid, "worker"), machine.thread_seconds(contender.pid)
        result = generator.phase(bench.options.seconds)
        each = 1e6 / max(1, result["queries"])
        row = {
            "rate": result["per_second"],
            "worker": each * (machine.thread_seconds(contender.pid, "worker") - workers),
            "process": each * (machine.thread_seconds(contender.pid) - process),
            "user": None,
        }
        share = sampled_share(bench, contender, generator)
    if share is not None:
        row["user"] = row["worker"] * share
    check(result, what)
    machine.progress(
        f"{what} worker {row['worker']:.2f} µs (user {'?' if share is None else format(row['user'], '.2f')}), "
        f"process {row['process']:.2f} µs, {row['rate']:.0f}/s"
    )
    return row


#: Of the table that is merged, over four shards.
MERGED_ROWS = 200_000
#: {what: its query}: the same point select without rules, under rules for other tables, of a sharded table.
SHARDED_POINTS = {
    "no rules": "SELECT c FROM sbtest1 WHERE id={}",
    "another table": "SELECT c FROM sbtest1 WHERE id={}",
    "sharded": "SELECT c FROM point WHERE id={}",
}
MERGED = "SELECT id, k, pad FROM merged ORDER BY k, id"


def sharded(bench):
    """{"point": {(what, workload): [row of worker_cost, …]}, "merge": {contender: [{"rows": rows/s, "cpu": µs a row}, …]}}:
    a statement of one shard against an unsharded one, and an ordered result of four shards in two groups against one
    server's own ORDER BY."""
    plain = bench.contenders.get("umpire split")
    if not plain:
        machine.progress("sharded: nothing to compare with (umpire split is left out)")
        return {}
    bench.place("one")
    with contextlib.ExitStack() as stack:
        second = second_server(bench, stack)
        shard_tables(bench, second)
        other = contenders.UmpireSharded(bench, bench.first_port + len(contenders.ALL) + 1)
        other.second = second
        stack.callback(other.stop)
        other.start()
        return {"point": sharded_points(bench, plain, other), "merge": merged(bench, other)}


def sharded_points(bench, plain, other):
    found = {}
    cases = [(what, workload) for workload in bench.workloads for what in SHARDED_POINTS]
    for number in range(bench.options.rounds):
        for what, workload in cases if number % 2 == 0 else reversed(cases):
            query = SHARDED_POINTS[what]
            more = {"query": query.replace("{}", "4711"), "prepared": True} if workload == "prepared" else {"query": query}
            contender = plain if what == "no rules" else other
            row = worker_cost(bench, contender, f"sharded round {number + 1} {what:13} {workload:8}", **more)
            found.setdefault((what, workload), []).append(row)
    return found


def merged(bench, other):
    found = {}
    direct = bench.contenders.get("direct")
    pair = [contender for contender in (direct, other) if contender]
    for number in range(bench.options.rounds):
        for contender in pair if number % 2 == 0 else reversed(pair):
            with load.Load(bench, "closed", contender.port, 1, query=MERGED) as generator:
                generator.phase(0.5)
                before = machine.Usage(contender.pid)
                result = generator.phase(max(3, bench.options.seconds))
                seconds = sum(machine.Usage(contender.pid).since(before)) if contender.program else 0
            check(result, f"merge of {contender.name}")
            rows = result["queries"] * MERGED_ROWS
            row = {"rows": result["per_second"] * MERGED_ROWS, "cpu": 1e6 * seconds / rows}
            found.setdefault(contender.name, []).append(row)
            machine.progress(
                f"merged round {number + 1} {contender.name:14} {row['rows']:.0f} rows/s, {row['cpu']:.3f} µs of CPU a row"
            )
    return found


def second_server(bench, stack):
    """The port of one more server, for the second group."""
    port, home = machine.free_ports(1)[0], bench.dir / "second"
    script = [str(bench.here.parent / "tests/servers/cluster.sh")]
    stack.callback(lambda: subprocess.run(script + ["stop", str(home)], check=False))
    machine.run(script + ["mariadb", str(home), str(port), "1"])
    machine.pin(int((home / "0/pid").read_text()), {bench.other_cpu})
    return port


def shard_tables(bench, second):
    """`point` and `merged`: whole on the primary, and in four shards over both groups."""
    def run(port, *statements):
        command = ["mariadb", "-h127.0.0.1", f"-P{port}", "-uapp", "-papppw", "sbtest"]
        machine.run([*command, "-e", "; ".join(statements)])

    numbers = f"SELECT seq, seq * 7919 % {MERGED_ROWS}, SHA1(seq) FROM seq_1_to_{MERGED_ROWS}"
    columns = "id INT PRIMARY KEY, k INT, pad CHAR(40)"
    run(bench.primary, f"CREATE TABLE merged ({columns})", f"INSERT INTO merged {numbers}")
    for shard in range(4):
        port = bench.primary if shard < 2 else second
        run(port, f"CREATE TABLE merged_{shard} ({columns})", f"INSERT INTO merged_{shard} {numbers} WHERE seq % 4 = {shard}")
        # point selects are for the first group alone, so that both kinds have the same servers
        run(bench.primary, f"CREATE TABLE point_{shard} LIKE sbtest1",
            f"INSERT INTO point_{shard} SELECT * FROM sbtest1 WHERE id % 4 = {shard}")  # fmt: skip
    machine.run([str(bench.here.parent / "tests/servers/cluster.sh"), "sync", str(bench.dir / "servers")])


def sampled_share(bench, contender, generator):
    """How much of the worker threads' CPU time is spent in user space; None: not known here."""
    if not shutil.which("perf"):
        return None
    out = bench.dir / "perf.data"
    sampler = subprocess.Popen(
        ["perf", "record", "-q", "-e", "cpu-clock", "-F", "3989", "-o", str(out), "-p", str(contender.pid)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(0.5)
    generator.phase(bench.options.seconds)
    sampler.send_signal(signal.SIGINT)
    sampler.wait(20)
    lines = machine.run(["perf", "script", "-i", str(out), "-F", "comm,ip"]).splitlines()
    addresses = [line.split()[-1] for line in lines if line.strip().startswith("worker")]
    if len(addresses) < FEWEST_SAMPLES:
        return None
    return sum(1 for address in addresses if not address.startswith("ffff")) / len(addresses)


def allocations(bench):
    """{(contender, workload): {"allocations", "frees", "bytes", "background"}}: per query on the worker threads, with
    16 clients whose statements have run before, less what happens without any query ("background", per second)."""
    bench.place("one")
    library = bench.dir / "count_allocations.so"
    source = bench.here / "benchmark/count_allocations.c"
    machine.run(["cc", "-O2", "-shared", "-fPIC", "-ftls-model=initial-exec", "-o", str(library), str(source)])
    found = {}
    for name in ("umpire", "umpire split"):
        contender = bench.contenders.get(name)
        if not contender:
            continue
        counts = bench.dir / f"allocations-{contender.port}"
        contender.restart(environment={"LD_PRELOAD": str(library), "COUNT_ALLOCATIONS": str(counts)})
        with load.Load(bench, "closed", contender.port, AT_ONCE) as generator:
            generator.phase(1)
            before = workers_calls(contender, counts)
            time.sleep(2)
            background = (workers_calls(contender, counts) - before) / 2
        for workload in bench.workloads:
            more = {"prepared": True, "query": "SELECT c FROM sbtest1 WHERE id=4711"} if workload == "prepared" else {}
            with load.Load(bench, "closed", contender.port, AT_ONCE, **more) as generator:
                generator.phase(1)
                before = workers_calls(contender, counts)
                result = generator.phase(bench.options.seconds)
                grown = workers_calls(contender, counts) - before - background * result["seconds"]
            check(result, f"allocations of {name}")
            row = {key: n / result["queries"] for key, n in grown.items()}
            found[name, workload] = row | {"background": background["allocations"]}
            machine.progress(
                f"{name:14} {workload}: {row['allocations']:.4f} heap allocations, {row['frees']:.4f} frees, "
                f"{row['bytes']:.1f} bytes a query; {background['allocations']:.1f} allocations a second without any"
            )
        contender.restart()
    return found


class Calls(dict):
    """Heap calls that can be subtracted and scaled."""

    def __sub__(self, other):
        return Calls({key: n - other[key] for key, n in self.items()})

    def __mul__(self, factor):
        return Calls({key: n * factor for key, n in self.items()})

    def __truediv__(self, divisor):
        return self * (1 / divisor)


def workers_calls(contender, path):
    """Of the worker threads together."""
    names = machine.threads(contender.pid)
    sums = [sum(column) for column in zip(*(n for thread, n in heap_calls(path).items() if names.get(thread, "").startswith("worker")))]
    if not sums:
        raise SystemExit(f"{contender.name}: no worker thread among {sorted(names.values())}")
    return Calls(allocations=sums[0] + sums[1] + sums[2] + sums[4], frees=sums[3], bytes=sums[5])


def heap_calls(path):
    """{thread: [malloc, calloc, realloc, free, aligned, bytes]}"""
    found = {}
    for thread, *counts in struct.iter_unpack("<8Q", path.read_bytes()):
        if thread:
            sums = found.setdefault(thread, [0] * 6)
            for i, n in enumerate(counts[:6]):
                sums[i] += n
    return found


def check(result, what):
    if result["queries"] == 0:
        raise SystemExit(f"{what}: no query was answered: {result['errors']}")
    if result["errors"] or result["unfinished"]:
        machine.progress(f"  {what}: errors {result['errors']}, unfinished {result['unfinished']}")
    longest = result["latency_us"]["max"] / 1e6
    if longest > 2:
        machine.progress(f"  {what}: the longest answer took {longest:.1f} s")


ALL = {
    "point": point,
    "oltp": oltp,
    "results": results,
    "connect": connect,
    "latency": latency,
    "idle": idle,
    "slow": slow,
    "workers": workers,
    "calls": calls,
    "user": user,
    "audited": audited,
    "sharded": sharded,
    "allocations": allocations,
}
