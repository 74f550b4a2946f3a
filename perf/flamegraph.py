#!/usr/bin/env python3
"""perf script -F comm,ip,sym → a flame graph as SVG on standard output.

--stacks FILE: also the folded stacks, one a line with its count. Kernel functions are blue, the rest is warm.
Hover over a box for its name and share. Python's standard library only.
"""

import argparse
import re
import sys
from xml.sax.saxutils import escape

WIDTH, ROW, CHARACTER = 1400, 16, 6.6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", help="file for the folded stacks")
    options = parser.parse_args()
    counts = {}
    for stack in stacks(sys.stdin):
        counts[stack] = counts.get(stack, 0) + 1
    if not counts:
        sys.exit("no samples")
    if options.stacks:
        with open(options.stacks, "w", encoding="utf-8") as out:
            for stack, n in sorted(counts.items(), key=lambda item: -item[1]):
                out.write(";".join(name for name, _ in stack) + f" {n}\n")
    sys.stdout.write(draw(tree(counts)))


def stacks(lines):
    """Each sample as a tuple of (function, is of the kernel), outermost first."""
    frames = []
    for line in lines:
        if not line.strip():
            if frames:
                yield tuple(reversed(frames))
            frames = []
        elif line[0].isspace():
            found = re.match(r"\s+([0-9a-f]+)\s+(.*)", line)
            if found:
                frames.append((short(found.group(2)), found.group(1).startswith("ffff")))
    if frames:
        yield tuple(reversed(frames))


def short(name):
    """Without the hash, the address, generic arguments and the crates' long paths."""
    name = re.sub(r"::h[0-9a-f]{16}|\+0x[0-9a-f]+", "", name.strip())
    while re.search(r"<[^<>]*>", name) and not name.startswith("<"):
        name = re.sub(r"<[^<>]*>", "", name, count=1)
    return name


class Node:
    def __init__(self, name, kernel):
        self.name, self.kernel, self.count, self.children = name, kernel, 0, {}


def tree(counts):
    root = Node("all", False)
    for stack, n in counts.items():
        root.count += n
        at = root
        for name, kernel in stack:
            at = at.children.setdefault((name, kernel), Node(name, kernel))
            at.count += n
    return root


def depth(node):
    return 1 + max((depth(child) for child in node.children.values()), default=0)


def draw(root):
    rows = min(depth(root), 120)
    height = rows * ROW + 40
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="monospace" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="18" font-size="13">{root.count} samples; blue: kernel</text>',
    ]

    def box(node, x, level):
        width = (WIDTH - 20) * node.count / root.count
        if width < 0.4 or level >= rows:
            return
        y = height - 10 - (level + 1) * ROW
        shade = sum(node.name.encode()) % 40
        colour = f"rgb({120 + shade},{160 + shade},230)" if node.kernel else f"rgb(235,{140 + 2 * shade},{60 + shade})"
        share = f"{100 * node.count / root.count:.2f} %"
        out.append(f"<g><title>{escape(node.name)}: {share}</title>")
        out.append(f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.5, 0.3):.1f}" height="{ROW - 1}" fill="{colour}"/>')
        fits = int((width - 6) / CHARACTER)
        if fits > 3:
            text = node.name if len(node.name) <= fits else node.name[: fits - 1] + "…"
            out.append(f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(text)}</text>')
        out.append("</g>")
        for child in sorted(node.children.values(), key=lambda c: c.name):
            box(child, x, level + 1)
            x += (WIDTH - 20) * child.count / root.count

    box(root, 10, 0)
    return "\n".join(out + ["</svg>", ""])


if __name__ == "__main__":
    main()
