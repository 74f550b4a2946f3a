"""Values → SVG, by hand."""

import math
import statistics

from .report import PLACEMENTS, split

COLOURS = {
    "direct": "#999999", "haproxy": "#b5402a", "umpire": "#6aa5dd", "umpire split": "#1f5c9c", "proxysql": "#8fc48f",
    "proxysql split": "#3d8c40", "maxscale split": "#7a4fa0", "mysqlrouter": "#d9822b",
}  # fmt: skip
TITLES = {"one": "one CPU for all", "two": "the proxy on its own CPU"}


def draw(bench, measured, folder):
    """[(file name, title)] of the plots that were written."""
    drawn = []

    def write(name, title, picture):
        path = folder / name
        path.write_text(picture)
        path.chmod(0o644)
        drawn.append((name, title))

    for placement in bench.placements if "point" in measured else ():
        title = f"CPU µs of the proxy per point select, {TITLES[placement]}"
        write(f"performance-cpu-{placement}.svg", title, point_bars(bench, measured["point"], placement, title))
    if measured.get("results"):
        title = "CPU ms of the proxy per GB of result"
        names = [c.name for c in bench.proxies()]
        groups = list(dict.fromkeys(size for size, _ in measured["results"]))
        bars = {(g, n): split(measured["results"][g, n]) for g in groups for n in names}
        write("performance-results.svg", title, bar_chart(title, groups, names, bars))
    for placement in measured.get("latency", {}).get("rates", {}):
        rate = measured["latency"]["rates"][placement]
        title = f"Latency, open loop at {rate} queries/s, {PLACEMENTS[placement]}"
        write(f"performance-latency-{placement}.svg", title, curves(bench, measured["latency"]["runs"], placement, title))
    return drawn


def point_bars(bench, found, placement, title):
    names = [c.name for c in bench.proxies()]
    groups = [(workload, clients) for workload in bench.workloads for clients in bench.clients]
    bars = {(f"{w}, {n}", name): split(found[placement, w, n, name]) for w, n in groups for name in names}
    return bar_chart(title, [f"{w}, {n}" for w, n in groups], names, bars)


def frame(width, height, title):
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="14" y="20" font-size="13">{title}</text>',
    ]


def legend(names, left, y):
    out = []
    for i, name in enumerate(names):
        x = left + i * 105
        out.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{COLOURS[name]}"/>')
        out.append(f'<text x="{x + 14}" y="{y}">{name}</text>')
    return out


def nice_step(highest, lines=8):
    power = 10 ** math.floor(math.log10(highest / lines))
    return next(power * m for m in (1, 2, 5, 10) if highest / (power * m) <= lines)


def bar_chart(title, groups, names, bars):
    """User dark, system light."""
    highest = max(sum(pair) for pair in bars.values()) or 1
    bar, gap, height, left, top = 22, 30, 220, 50, 40
    width = max(left + len(groups) * (len(names) * bar + gap) + 20, left + 105 * len(names) + 20, 420)
    out = frame(width, height + top + 60, f"{title} (dark: user, light: system)")
    step = nice_step(highest)
    for i in range(int(highest / step) + 1):
        y = top + height - height * i * step / highest
        out.append(f'<line x1="{left}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{i * step:g}</text>')
    x = left + gap / 2
    for group in groups:
        middle = x + len(names) * bar / 2
        out.append(f'<text x="{middle:.0f}" y="{top + height + 16}" text-anchor="middle">{group}</text>')
        for name in names:
            y = top + height
            for value, opacity in zip(bars[group, name], (1.0, 0.5)):
                size = height * value / highest
                y -= size
                out.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{bar - 3}" height="{size:.1f}" '
                    f'fill="{COLOURS[name]}" fill-opacity="{opacity}"/>'
                )
            x += bar
        x += gap
    return "\n".join(out + legend(names, left, top + height + 44) + ["</svg>", ""])


def curves(bench, runs, placement, title):
    """Percentiles to the right by nines, latency upwards, both logarithmic."""
    width, height, left, top = 640, 260, 60, 40
    names = [name for name in bench.contenders if (placement, name) in runs]
    points = {}
    for name in names:
        columns = zip(*(run["curve"] for run in runs[placement, name]))
        points[name] = [
            (column[0][0], statistics.median(us for _, us in column)) for column in columns if 25 <= column[0][0] <= 99.99
        ]
    every = [us for line in points.values() for _, us in line if us > 0]
    low, high = math.log10(min(every)), math.log10(max(every))
    high = max(high, low + 0.1)

    def right(percentile):
        return left + (width - left - 20) * -math.log10(1 - percentile / 100) / 4

    def up(us):
        return top + height - height * (math.log10(max(us, 1e-3)) - low) / (high - low)

    out = frame(width, top + height + 60, title)
    for percentile, label in ((50, "p50"), (90, "p90"), (99, "p99"), (99.9, "p99.9"), (99.99, "p99.99")):
        x = right(percentile)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + height}" stroke="#dddddd"/>')
        out.append(f'<text x="{x:.1f}" y="{top + height + 16}" text-anchor="middle">{label}</text>')
    for power in range(math.floor(low), math.ceil(high) + 1):
        for digit in (1, 2, 5):
            us = digit * 10**power
            if low <= math.log10(us) <= high:
                out.append(f'<line x1="{left}" x2="{width - 20}" y1="{up(us):.1f}" y2="{up(us):.1f}" stroke="#dddddd"/>')
                label = f"{us / 1000:g} ms" if us >= 1000 else f"{us:g} µs"
                out.append(f'<text x="{left - 6}" y="{up(us) + 4:.1f}" text-anchor="end">{label}</text>')
    for name in names:
        line = " ".join(f"{right(percentile):.1f},{up(us):.1f}" for percentile, us in points[name])
        out.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.8"/>')
    return "\n".join(out + legend(names, left, top + height + 44) + ["</svg>", ""])
