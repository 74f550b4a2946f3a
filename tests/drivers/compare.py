"""One driver's program run twice, and what differs."""
import difflib
import os
import queue
import signal
import subprocess
import threading
import time

LIMIT = 240
SHOWN = 30


class Run:
    """One run of a program: its lines, and how it ended."""

    def __init__(self):
        self.lines = []
        self.version = "?"
        self.problem = ""
        self.seconds = 0.0


class Result:
    def __init__(self, driver):
        self.driver = driver
        self.skipped = ""
        self.direct = self.proxied = None
        self.differences = []
        self.on_replica = 0

    def failures(self):
        """Lines that tell what went wrong; none: all is well."""
        if self.skipped:
            return []
        found = []
        for place, run in (("directly", self.direct), ("through Umpire", self.proxied)):
            if run is None or run.problem:
                found.append(f"FAILED: {self.driver.name} {place}: {run.problem if run else 'did not run'}")
        if self.differences:
            found.append(f"DIFFERENT: {self.driver.name}: {changed(self.differences)} lines")
            found += ["  " + line for line in self.differences[:SHOWN]]
        return found

    def line(self):
        return "  ".join(self.row())

    def row(self):
        if self.skipped:
            return [self.driver.name, "", "skipped", "skipped", "", "", "", ""]
        ok = lambda run: "ok" if run and not run.problem else "FAILED"
        seconds = lambda run: f"{run.seconds:.1f}" if run else ""
        version, lines = (self.direct.version, len(self.direct.lines)) if self.direct else ("?", 0)
        return [
            self.driver.name, version, ok(self.direct), ok(self.proxied), str(lines),
            str(changed(self.differences)), str(self.on_replica), f"{seconds(self.direct)} / {seconds(self.proxied)}",
        ]


HEAD = ["driver", "version", "direct", "via Umpire", "lines compared", "differences", "turns on a replica", "seconds"]


def changed(differences):
    return sum(1 for line in differences if line[:1] in "+-" and line[:3] not in ("+++", "---"))


def table(results):
    rows = [HEAD] + [result.row() for result in results]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    text = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows]
    return [text[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *text[1:]]


def run(result, stage, installer):
    result.direct = once(result.driver, stage, installer, stage.direct_port, lambda: None)
    before = stage.turns_to_replica()
    stage.noise(True)
    result.proxied = once(result.driver, stage, installer, stage.proxy_port, stage.settle)
    stage.noise(True)
    result.on_replica = stage.turns_to_replica() - before
    a, b = result.direct.lines, result.proxied.lines
    result.differences = list(difflib.unified_diff(a, b, "direct", "through Umpire", lineterm="", n=1))
    for name, ran in (("direct", result.direct), ("umpire", result.proxied)):
        place = stage.folder / f"{safe(result.driver.name)}.{name}"
        place.write_text("\n".join([*ran.lines, ran.problem, ""]))


def safe(name):
    return "".join(c if c.isalnum() else "_" for c in name)


def once(driver, stage, installer, port, at_sync):
    ran = Run()
    stage.fresh_database()
    places = {"python": installer.python(), "cache": str(installer.cache), "here": str(installer.here)}
    command = [word.format(**places) for word in driver.command]
    extra = {name: in_environment(value, places, installer) for name, value in driver.environment.items()}
    errors = stage.folder / f"{safe(driver.name)}.stderr"
    started = time.monotonic()
    with open(errors, "wb") as stderr:
        try:
            child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
                env={**os.environ, **stage.environment(port), **extra}, cwd=stage.folder,
            )
        except OSError as why:
            ran.problem = str(why)
            return ran
        try:
            follow(child, ran, at_sync, started + LIMIT)
        finally:
            end(child)
    ran.seconds = time.monotonic() - started
    if not ran.problem and child.returncode != 0:
        ran.problem = f"exit status {child.returncode}"
    if ran.problem:
        ran.problem += ": " + tail(errors)
    return ran


def in_environment(value, places, installer):
    """`{deb:NAME}` is the version of that package; other places are folders."""
    if value.startswith("{deb:"):
        return installer.deb_version(value[5:-1])
    return value.format(**places)


def follow(child, ran, at_sync, deadline):
    """Reads the program's lines until it ends; answers when it asks for a sync."""
    lines = queue.Queue()

    def read():
        for line in child.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    complete = False
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            ran.problem = f"not done within {LIMIT} s, after: {ran.lines[-1] if ran.lines else 'nothing'}"
            return
        if line is None:
            break
        text = line.decode("utf-8", "backslashreplace").rstrip("\n")
        if text == "##sync":
            at_sync()
            child.stdin.write(b"\n")
            child.stdin.flush()
        elif text.startswith("##version "):
            ran.version = text[10:]
        elif text == "##end":
            complete = True
        else:
            ran.lines.append(text)
    child.wait()
    if not complete:
        ran.problem = f"ended early, after: {ran.lines[-1] if ran.lines else 'nothing'}"


def end(child):
    child.stdin.close()
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def tail(path):
    return " ".join(path.read_text(errors="backslashreplace").split())[-600:]
