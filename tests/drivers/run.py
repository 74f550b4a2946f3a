#!/usr/bin/env python3
"""The same scripted work through each MySQL driver and tool, once straight at a server and once through Umpire.

Through Umpire: reads go to a replica, all clients share a few server connections, and noisy neighbours on the same
account keep changing the state of those. Every value, type, count, warning and error that the driver shows must be
the same. What cannot be installed here is skipped, loudly, and counted.

    run.py [--quick] [--only NAME,…] [--server mariadb|mysql] [--umpire FILE] [--cache FOLDER]

Ends with a table and exits with 0 if no driver saw a difference.
"""
import argparse
import os
import signal
import sys
import time
from pathlib import Path

import catalogue
import compare
import install
from stage import CannotBeHad, Stage

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def arguments():
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only what installs in a minute")
    parser.add_argument("--only", default="", help="names of drivers, comma-separated")
    parser.add_argument("--server", choices=["mariadb", "mysql"], default="mariadb")
    parser.add_argument("--umpire", type=Path, default=target / "release/umpire")
    parser.add_argument("--cache", type=Path, default=target / "drivers", help="where packages are installed")
    parser.add_argument("--markdown", type=Path, help="write the table there as well")
    options = parser.parse_args()
    if not options.umpire.exists():
        sys.exit(f"{options.umpire} does not exist: `make build`, or name another with --umpire")
    return options


def chosen(options):
    names = [name for name in options.only.split(",") if name]
    known = {driver.name for driver in catalogue.DRIVERS}
    for name in names:
        if name not in known:
            sys.exit(f"no driver '{name}'; there are: {', '.join(sorted(known))}")
    if names:
        return [driver for driver in catalogue.DRIVERS if driver.name in names]
    return [driver for driver in catalogue.DRIVERS if driver.quick or not options.quick]


def main():
    options = arguments()
    # told to stop, it stops its servers as well
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    sys.stdout.reconfigure(line_buffering=True)
    drivers = chosen(options)
    installer = install.Installer(options.cache.resolve(), HERE)
    results = [prepare(driver, installer) for driver in drivers]
    try:
        with Stage(options, installer) as stage:
            for result in results:
                if not result.skipped:
                    compare.run(result, stage, installer)
                    print(result.line())
    except CannotBeHad as why:
        print(f"SKIPPED: drivers: {why}")
        return 0
    finally:
        installer.close()
    return report(results, options)


def prepare(driver, installer):
    result = compare.Result(driver)
    started = time.monotonic()
    for need in driver.needs:
        result.skipped = installer.need(need)
        if result.skipped:
            print(f"SKIPPED: {driver.name}: {result.skipped}")
            break
    took = time.monotonic() - started
    if took > 1:
        print(f"installed for {driver.name} in {took:.0f} s")
    return result


def report(results, options):
    lines = compare.table(results)
    print("\n" + "\n".join(lines))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n")
    for result in results:
        for line in result.failures():
            print(line)
    skipped = sum(1 for result in results if result.skipped)
    failed = sum(1 for result in results if result.failures())
    print(f"\n{len(results) - skipped - failed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
