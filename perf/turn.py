#!/usr/bin/env python3
"""turn.py FUNCTIONS FILE…: from callgrind's files, one a thread, the instructions of a turn by function.

The thread that finished turns is the worker's. The table goes to standard output, the sum alone to descriptor 3.
"""

import collections
import os
import re
import sys

#: Called once at the end of each turn that ran on a server; the first where it is a function of its own.
TURN = ["umpire::session::finish::<impl umpire::session::Session>::finish", "core::ptr::drop_in_place<umpire::backend::lease::Lease>"]


class Costs:
    def __init__(self, path):
        self.own, self.calls, self.inclusive = (collections.Counter() for _ in range(3))
        names = {}

        def name(text):
            number, known = re.match(r"(\(\d+\))(?: (.*))?", text).groups()
            return names.setdefault(number, known)

        current = called = None
        times = 0
        with open(path) as lines:
            for line in lines:
                line = line.rstrip("\n")
                if line.startswith("fn="):
                    current = name(line[3:])
                elif line.startswith("cfn="):
                    called = name(line[4:])
                elif line.startswith("calls="):
                    times = int(line[6:].split()[0])
                elif re.match(r"[-+*\d]", line):
                    fields = line.split()
                    count = int(fields[1]) if len(fields) > 1 else 0
                    if times:
                        self.inclusive[called] += count
                        self.calls[called] += times
                        times = 0
                    else:
                        self.own[current] += count

    def turns(self):
        return max(self.calls[function] for function in TURN)


def main():
    shown, *paths = sys.argv[1:]
    found = max((Costs(path) for path in paths), key=Costs.turns, default=None)
    turns = found.turns() if found else 0
    if turns < 100:
        raise SystemExit(f"only {turns} turns were seen: is the load running?")
    print(f"{'own':>9} {'with callees':>13} {'calls':>7}  instructions a turn, over {turns} turns")
    for function, own in found.own.most_common(int(shown)):
        inclusive = max(own, found.inclusive[function])
        print(f"{own / turns:9.1f} {inclusive / turns:13.1f} {found.calls[function] / turns:7.2f}  {function[:110]}")
    os.write(3, f"{sum(found.own.values()) / turns:.0f}\n".encode())


if __name__ == "__main__":
    main()
