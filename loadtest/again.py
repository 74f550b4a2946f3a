#!/usr/bin/env python3
"""again.py LOG CARGO...: what failed in a run of `cargo test` (its output in LOG) is shown once more and run again, alone.

As MariaDB's mysql-test-run does with --retry: a test that passes then is no pass but a fault to be found, of the test or of what
it tests, and is listed as FAILED ONCE. Exits with 0 if every test passed when run again, with 1 if one failed again, if more than
a few failed, or if something else went wrong (a crash, a build).
"""
import re
import subprocess
import sys

MOST = 3
LINES = 60


def failed(log):
    """The tests that failed, as (target, name): --lib, --bin NAME or --test NAME; and how many each binary says."""
    target, found, counts = None, [], []
    for line in log:
        running = re.match(r" +Running (?:unittests )?(\S+)", line)
        if running:
            target = target_of(running.group(1))
        elif line.startswith("test result: FAILED"):
            counts.append(int(re.search(r"(\d+) failed", line).group(1)))
        else:
            one = re.match(r"test (\S+)(?: - should panic)? \.\.\. FAILED$", line)
            if one and target:
                found.append((target, one.group(1)))
    return found, counts


def target_of(path):
    if path == "src/lib.rs":
        return ("--lib",)
    if path == "src/main.rs":
        return ("--bin", "umpire")
    name = re.match(r"tests/([^/.]+)", path)
    return ("--test", name.group(1)) if name else None


def output_of(log, name):
    """What a failed test printed."""
    lines = iter(log)
    for line in lines:
        if line == f"---- {name} stdout ----":
            break
    shown = []
    for line in lines:
        if line.startswith("---- ") or line == "failures:":
            break
        shown.append(line[:2000])
    return shown[:LINES]


def main():
    log_file, cargo = sys.argv[1], sys.argv[2:]
    with open(log_file, encoding="utf-8", errors="replace") as file:
        log = file.read().splitlines()
    tests, counts = failed(log)
    # a binary that crashed tells no counts
    crashed = len(counts) != sum(line.startswith("error: test failed, to rerun pass") for line in log)
    for target, name in tests:
        print(f"\nFAILED: {' '.join(target)} {name}")
        print("\n".join(output_of(log, name)))
    if not 0 < len(tests) <= MOST or len(tests) != sum(counts) or crashed:
        print(f"\n{sum(counts)} tests failed{', a program crashed' if crashed else ''}: none is run again")
        return 1
    lost = []
    for target, name in tests:
        command = cargo + ["test", "--locked", *target, "--", "--exact", name]
        print("\nagain:", " ".join(command), flush=True)
        if subprocess.run(command, check=False).returncode != 0:
            lost.append(name)
    for _, name in tests:
        print("FAILED TWICE:" if name in lost else "FAILED ONCE, passed alone:", name)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
