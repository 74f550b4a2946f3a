"""Values → Markdown."""

import statistics
import time

from . import machine, parts

PEER = "haproxy"
OURS = "umpire split"
AUDITED = "umpire split, audited"
PLACEMENTS = {
    "one": "servers, load and proxy on one CPU",
    "two": "the proxy on one CPU, servers and load on the other",
}


def median(rows, column):
    return statistics.median(row[column] for row in rows)


def cost(rows):
    """Median of user + system."""
    return statistics.median(row[1] + row[2] for row in rows)


def split(rows):
    """The median cost as (user, system): ticks are coarse, so the shares are those of all rounds together."""
    user, system = sum(row[1] for row in rows), sum(row[2] for row in rows)
    share = user / (user + system) if user + system > 0 else 0
    return cost(rows) * share, cost(rows) * (1 - share)


def markdown(bench, measured, command, seconds):
    options = bench.options
    lines = [
        f"`{command}`, {time.strftime('%Y-%m-%d')}, {seconds / 60:.0f} minutes. {machine.describe()}. "
        f"{'; '.join(bench.versions)}.",
        "",
        f"Medians of {options.rounds} round{'s' if options.rounds > 1 else ''}, {options.seconds} s a run; every round "
        f"runs every contender, the next one in the opposite order. CPU is the proxy's own, all its threads: "
        "their sum (user + system; the shares are those of all rounds together). × is the ratio to HAProxy in the same "
        "run.",
        "",
    ]
    lines += aims(bench, measured)
    for name in parts.ALL:
        if name in measured and measured[name]:
            lines += SECTIONS[name](bench, measured[name]) + [""]
    return "\n".join(lines).rstrip() + "\n"


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return out + ["| " + " | ".join(row) + " |" for row in rows]


def ratio(rows, peer):
    return cost(rows) / cost(peer) if rows and peer and cost(peer) > 0 else None


def cpu_cell(rows, peer, unit="", rate="{:.0f}/s", digits=1):
    user, system = split(rows)
    text = f"{cost(rows):.{digits}f}{unit} ({user:.{digits}f} + {system:.{digits}f})"
    if peer is not None and peer is not rows and ratio(rows, peer) is not None:
        text += f", {ratio(rows, peer):.2f}×"
    return text + ", " + rate.format(median(rows, 0))


def plural(n):
    return f"{n} client{'s' if n > 1 else ''}"


def point(bench, found):
    lines = []
    for placement in bench.placements:
        for workload in bench.workloads:
            lines += [f"**Point select, {workload} protocol, {PLACEMENTS[placement]}**: CPU µs per query, queries/s", ""]
            rows = []
            for name, contender in bench.contenders.items():
                cells = []
                for clients in bench.clients:
                    got = found[placement, workload, clients, name]
                    peer = found.get((placement, workload, clients, PEER))
                    cells.append(cpu_cell(got, peer) if contender.program else f"– {median(got, 0):.0f}/s")
                rows.append([name, *cells])
            lines += table(["proxy", *map(plural, bench.clients)], rows) + [""]
    return lines[:-1]


def by_contender(bench, found, keys, unit="", rate="{:.0f}/s"):
    """Rows of a table: one a contender, one column a key."""
    rows = []
    for name, contender in bench.contenders.items():
        cells = []
        for key in keys:
            got, peer = found[key, name], found.get((key, PEER))
            cells.append(cpu_cell(got, peer, unit, rate) if contender.program else "– " + rate.format(median(got, 0)))
        rows.append([name, *cells])
    return rows


def oltp(bench, found):
    keys = list(dict.fromkeys(key for key, _ in found))
    head = [f"**sysbench, text protocol, {parts.AT_ONCE} clients, {PLACEMENTS['one']}**: CPU µs per query, queries/s", ""]
    return head + table(["proxy", *keys], by_contender(bench, found, keys))


def results(bench, found):
    keys = list(parts.RESULTS)
    head = [f"**Results, {PLACEMENTS['one']}**: CPU ms per GB of result, MB/s", ""]
    return head + table(["proxy", *keys], by_contender(bench, found, keys, rate="{:.0f} MB/s"))


def connect(bench, found):
    lines = [
        f"**Connect, log in, one query, quit**: CPU µs per connection, connections/s, {parts.AT_ONCE} at once, "
        f"{PLACEMENTS['one']}; and {parts.ATTEMPTED:,} new connections per second attempted for "
        f"{bench.options.attempt_seconds:g} s, {PLACEMENTS['two']}",
        "",
    ]
    rows = []
    for name, contender in bench.contenders.items():
        got, tried = found["cost"][name], found["attempt"][name]
        errors = "; ".join(f"{n} × {what}" for what, n in tried["errors"].items()) or "none"
        if tried["unfinished"]:
            errors += f"; {tried['unfinished']} without an end"
        rows.append([
            name,
            cpu_cell(got, found["cost"].get(PEER)) if contender.program else f"– {median(got, 0):.0f}/s",
            f"{tried['queries']:,} in {tried['seconds']:.1f} s" + (f", {tried['not_begun']:,} not begun" if tried["not_begun"] else ""),
            errors,
            str(tried["descriptors"]) if contender.program else "–",
        ])  # fmt: skip
    return lines + table(["proxy", "connection", "done", "errors", "descriptors left"], rows)


def latency(bench, found):
    lines = []
    names = ("p50", "p95", "p99", "p99.9", "max")
    for placement, rate in found["rates"].items():
        lines += [
            f"**Latency, open loop, {rate} queries/s (half of HAProxy's peak with 64 clients), {PLACEMENTS[placement]}**: "
            f"µs from when a query was due",
            "",
        ]
        rows = []
        for name in bench.contenders:
            runs = found["runs"][placement, name]
            rows.append([name, *(f"{quantile(runs, which):.0f}" for which in names)])
        lines += table(["proxy", *names], rows) + [""]
    return lines[:-1]


def quantile(runs, which):
    return statistics.median(run["latency_us"][which] for run in runs)


def idle(bench, found):
    lines = [
        "**Idle clients** that logged in and asked once: resident memory of the process per client in KiB (of it "
        f"anonymous), and CPU of one core over {bench.options.idle_seconds:g} s",
        "",
    ]
    width = max(len(row["levels"]) for row in found.values())
    rows = []
    for name, row in found.items():
        cells = []
        for level in row["levels"]:
            if level["clients"] == 0:
                cells.append(f"{level['total'] / 1024:.1f} MiB in all, {level['cpu']:.2f} %")
            else:
                cells.append(
                    f"{level['clients']:,}: {level['rss']:.2f} ({level['anonymous']:.2f}), {level['cpu']:.2f} %"
                )
        rows.append([name, *cells, *[""] * (width - len(cells))])
    lines += table(["proxy", "no client", *[f"{n:,} clients" for n in bench.idle_levels]], rows)
    lines += ["", f"**1 % of the clients active**, {bench.options.rate:.0f} queries/s: CPU µs per query, latency in µs", ""]
    rows = []
    for name, row in found.items():
        cells = [name]
        for key in ("alone", "active"):
            got = row[key]
            cells.append(
                f"{got['connections']:,} clients: {got['user'] + got['system']:.1f} ({got['user']:.1f} + "
                f"{got['system']:.1f}), p50 {got['latency_us']['p50']:.0f}, p99 {got['latency_us']['p99']:.0f}"
            )
        rows.append(cells)
    return lines + table(["proxy", "the active ones alone", "beside the idle ones"], rows)


def slow(bench, found):
    lines = [
        f"**A slow reader of a 1 GB result** beside {parts.AT_ONCE} clients with {bench.options.rate:.0f} queries/s, "
        f"{PLACEMENTS['two']}",
        "",
    ]
    rows = []
    for name, cases in found.items():
        for case in cases:
            rows.append([name, case["reads"], f"{case['growth'] / 1024:+.2f} MiB"])
            for which in ("p50", "p99"):
                rows[-1].append(" → ".join(f"{quantile(case[key], which):.0f}" for key in ("before", "while")))
    return lines + table(["proxy", "it reads", "memory", "others' p50, µs", "others' p99, µs"], rows)


def workers(bench, found):
    lines = [
        "**Two workers on two CPUs against one on one**, 32 clients per worker, their load on the workers' CPUs: CPU µs "
        "per query, queries/s. Servers that run on both CPUs wake a worker from the other one half of the time, which costs "
        "more than from its own, however many workers there are. Two proxies of one worker each share nothing but the machine: "
        "what two workers cost more than they is what workers share.",
        "",
    ]
    rows = []
    for name in dict.fromkeys(name for name, _ in found):
        cases = [found[name, case] for case in ("alone", "one", "two", "apart")]
        ratios = [f"{cost(found[name, 'two']) / cost(found[name, other]):.2f}×" for other in ("one", "alone", "apart")]
        rows.append([name, *(cpu_cell(case, None) for case in cases), *ratios])
    heads = [
        "one, servers beside it", "one, servers on both CPUs", "two, servers on both CPUs", "two proxies of one, likewise",
        "two to one", "to one beside", "to two proxies",
    ]  # fmt: skip
    return lines + table(["proxy", *heads], rows)


def calls(bench, found):
    lines = [f"**System calls per query**, text point select, {PLACEMENTS['one']}", ""]
    rows = [
        [contender.name, *(f"{found[contender.name, clients]:.2f}" for clients in bench.clients)]
        for contender in bench.proxies()
    ]
    return lines + table(["proxy", *map(plural, bench.clients)], rows)


def allocations(bench, found):
    lines = [f"**Heap calls of the worker per point select**, {parts.AT_ONCE} clients in steady state, less what goes on without queries", ""]
    rows = []
    for (name, workload), row in found.items():
        rows.append([
            name, workload, f"{max(0, row['allocations']):.4f}", f"{max(0, row['frees']):.4f}", f"{max(0, row['bytes']):.1f}",
            f"{row['background']:.1f}/s",
        ])  # fmt: skip
    return lines + table(["proxy", "protocol", "allocations", "frees", "bytes", "allocations without queries"], rows)


def user(bench, found):
    lines = [
        f"**User CPU per text point select**, {parts.AT_ONCE} clients, {PLACEMENTS['one']}, sampled 3,989 times a second "
        "of CPU: CPU µs per query, queries/s",
        "",
    ]
    peer = found.get(PEER)
    return lines + table(["proxy", plural(parts.AT_ONCE)], [[name, cpu_cell(rows, peer, digits=2)] for name, rows in found.items()])


def audited(bench, found):
    lines = [
        f"**With three policies, digests, the slow log and every statement written to a file**, text point select, "
        f"{parts.AT_ONCE} clients, {PLACEMENTS['one']}: CPU µs per query",
        "",
    ]
    rows = []
    for name, got in found.items():
        users = [row["user"] for row in got if row["user"] is not None]
        rows.append([
            name, f"{middle(got, 'worker'):.2f}", f"{statistics.median(users):.2f}" if users else "not known",
            f"{middle(got, 'process'):.2f}", f"{middle(got, 'rate'):.0f}/s",
        ])  # fmt: skip
    return lines + table(["proxy", "worker threads", "of it user", "all threads", "queries"], rows)


def sharded(bench, found):
    lines = [
        f"**A point select of one shard** against the same of an unsharded table, under rules for other tables and without "
        f"rules, {parts.AT_ONCE} clients, {PLACEMENTS['one']}: CPU µs per query",
        "",
    ]
    rows = []
    for (what, workload), got in found["point"].items():
        users = [row["user"] for row in got if row["user"] is not None]
        rows.append([
            what, workload, f"{middle(got, 'worker'):.2f}", f"{statistics.median(users):.2f}" if users else "not known",
            f"{middle(got, 'rate'):.0f}/s",
        ])  # fmt: skip
    lines += table(["statement", "protocol", "worker threads", "of it user", "queries"], rows)
    lines += [
        "",
        f"**{parts.MERGED_ROWS:,} rows by `{parts.MERGED}`**, one client: four shards on two servers, merged, against one server",
        "",
    ]
    rows = [[name, f"{middle(got, 'rows'):,.0f}", f"{middle(got, 'cpu'):.2f}"] for name, got in found["merge"].items()]
    return lines + table(["proxy", "rows per second", "its CPU µs per row"], rows)


def middle(rows, key):
    return statistics.median(row[key] for row in rows)


SECTIONS = {
    "point": point, "oltp": oltp, "results": results, "connect": connect, "latency": latency, "idle": idle,
    "slow": slow, "workers": workers, "calls": calls, "user": user,
    "audited": audited, "sharded": sharded,
    "allocations": allocations,
}  # fmt: skip


def aims(bench, measured):
    """The table of what must be, as far as this run measured it."""
    rows = []

    def add(what, aim, value, limit, shown):
        if value is not None:
            rows.append([what, aim, shown, "yes" if value <= limit else "**no**"])

    found = measured.get("point", {})
    for placement in bench.placements:
        for workload in bench.workloads:
            for clients in bench.clients:
                got = found.get((placement, workload, clients, OURS))
                value = ratio(got, found.get((placement, workload, clients, PEER)))
                where = "one core" if placement == "one" else "proxy on its own core"
                what = f"CPU per point select, split, {workload}, {plural(clients)}, {where}"
                if value is not None:
                    add(what, "≤ 1.0 × HAProxy", value, 1.0, f"{value:.2f}× {spread(got, found[placement, workload, clients, PEER])}")
    for peer, limits in (("maxscale split", {16: 0.9, 64: 0.8}), ("proxysql split", {16: 0.6, 64: 0.45})):
        for clients, limit in limits.items():
            value = ratio(found.get(("one", "text", clients, OURS)), found.get(("one", "text", clients, peer)))
            if value is not None:
                add(f"the same against {peer}, {plural(clients)}, one core", f"≤ {limit}", value, limit, f"{value:.2f}×")
    sampled = measured.get("user") or {name: found.get(("one", "text", 16, name)) for name in (OURS, PEER)}
    ours, theirs = sampled.get(OURS), sampled.get(PEER)
    if ours and theirs:
        value, limit = split(ours)[0], split(theirs)[0]
        add("user CPU per point select, split, 16 clients, one core", "≤ HAProxy's", value, limit, f"{value:.1f} against {limit:.1f} µs")
    found = measured.get("audited", {})
    if AUDITED in found and OURS in found:
        plain, other = (middle(found[name], "worker") for name in (OURS, AUDITED))
        each = [b["worker"] - a["worker"] for a, b in zip(found[OURS], found[AUDITED])]
        what = "policies, digests, slow log and audit, more CPU of a worker per point select"
        shown = f"{other - plain:+.2f} µs, {other / plain:.2f}× ({min(each):+.2f} – {max(each):+.2f})"
        add(what, "≤ 1 µs", other - plain, 1.0, shown)
    found = measured.get("sharded", {}).get("point", {})
    for what, limit in (("sharded", 3.0), ("another table", 0.5)):
        for workload in bench.workloads:
            if (what, workload) not in found:
                continue
            base = "another table" if what == "sharded" else "no rules"
            plain, other = found[base, workload], found[what, workload]
            each = [b["worker"] - a["worker"] for a, b in zip(plain, other)]
            value = middle(other, "worker") - middle(plain, "worker")
            names = {"sharded": "a statement of one shard, plan known", "another table": "a statement of an unsharded table under rules"}
            shown = f"{value:+.2f} µs ({min(each):+.2f} – {max(each):+.2f})"
            add(f"{names[what]}, {workload}: more CPU of a worker", f"≤ {limit:g} µs", value, limit, shown)
    for placement in measured.get("latency", {}).get("rates", {}):
        runs = measured["latency"]["runs"]
        if (placement, OURS) in runs and (placement, PEER) in runs:
            value, limit = (quantile(runs[placement, name], "p99.9") for name in (OURS, PEER))
            what = f"p99.9 at half of HAProxy's peak, {PLACEMENTS[placement]}"
            add(what, "≤ HAProxy's", value, limit, f"{value:.0f} against {limit:.0f} µs")
    found = measured.get("results", {})
    for size in ("1 MB", "64 MB"):
        value = ratio(found.get((size, OURS)), found.get((size, PEER)))
        if value is not None:
            add(f"CPU per GB, {size} results", "≤ 0.6 × HAProxy", value, 0.6, f"{value:.2f}× {spread(found[size, OURS], found[size, PEER])}")
    for (name, workload), row in measured.get("allocations", {}).items():
        if name == OURS:
            value = max(0, row["allocations"])
            what = f"heap allocations per routed point select, {workload}"
            add(what, "0", round(value, 2), 0, f"{value:.4f}")
    value = measured.get("calls", {}).get((OURS, 64))
    if value is not None:
        add("system calls per query, 64 clients", "< 1", value, 0.9999, f"{value:.2f}")
    levels = measured.get("idle", {}).get(OURS, {}).get("levels", [])
    for level in levels[-1:]:
        what = f"memory per idle client, {level['clients']:,} clients"
        add(what, "≤ 2 KiB", level["rss"], 2, f"{level['rss']:.2f} KiB")
        add(f"CPU of {level['clients']:,} idle clients", "< 1 % of a core", level["cpu"], 0.9999, f"{level['cpu']:.2f} %")
    for case in measured.get("slow", {}).get(OURS, []):
        what = f"slow reader of 1 GB that reads {case['reads']}"
        add(f"{what}: memory", "< 1 MiB", case["growth"], 1023, f"{case['growth'] / 1024:+.2f} MiB")
        before, during = quantile(case["before"], "p99"), quantile(case["while"], "p99")
        # what one run differs from the next by on such machines
        add(f"{what}: other clients' p99", "unchanged (± 20 %)", during, 1.2 * before, f"{before:.0f} → {during:.0f} µs")
    found = measured.get("workers", {})
    if (OURS, "two") in found:
        against = {
            "alone": "two workers against one, load and servers on the workers' CPUs",
            "apart": "two workers against two proxies of one worker each",
            "one": "two workers against one that has the servers on both CPUs, too",
        }
        for case, what in against.items():
            value = cost(found[OURS, "two"]) / cost(found[OURS, case])
            add(f"CPU per query, {what}", "≤ 1.1 ×", value, 1.1, f"{value:.2f}×")
    attempt = measured.get("connect", {}).get("attempt", {})
    if OURS in attempt:
        got, direct = attempt[OURS], attempt.get("direct", {"errors": {}})
        new = sorted(set(got["errors"]) - set(direct["errors"]))
        if got["unfinished"] and not direct.get("unfinished"):
            new.append(f"{got['unfinished']} without an end")
        what = f"{parts.ATTEMPTED:,} new connections per second attempted"
        add(f"{what}: errors that direct does not give", "none", len(new), 0, "; ".join(new) or "none")
        add(f"{what}: descriptors left", "0", got["descriptors"], 0, str(got["descriptors"]))
    return table(["measure", "must be", "is", "holds"], rows) + [""] if rows else []


def spread(rows, peers):
    """Lowest and highest ratio of a round."""
    each = [(a[1] + a[2]) / (b[1] + b[2]) for a, b in zip(rows, peers) if b[1] + b[2] > 0]
    return f"({min(each):.2f} – {max(each):.2f})" if len(each) > 1 else ""


def save(path, text, plots):
    """Replaces what stands between the two marks of the page, or starts the page."""
    begin, end = "<!-- bench: begin -->", "<!-- bench: end -->"
    images = "\n".join(f"![{title}]({name})" for name, title in plots)
    block = f"{begin}\n{text}\n{images}\n{end}"
    page = path.read_text() if path.exists() else f"# Performance\n\n{begin}\n{end}\n"
    if begin not in page:
        page += f"\n{begin}\n{end}\n"
    head, rest = page.split(begin, 1)
    path.write_text(head + block + rest.split(end, 1)[1])
    path.chmod(0o644)
    machine.progress(f"saved in {path}")
