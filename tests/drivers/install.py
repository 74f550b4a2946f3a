"""Gets what the drivers need: Python's in a virtual environment of our own, node's in a folder of our own, Debian's
packages where this is root on such a system. Everything is kept for the next run."""
import os
import shutil
import subprocess
from pathlib import Path

LIMIT = 900
APT = ["apt-get", "install", "-y", "-q", "--no-install-recommends"]


class Installer:
    def __init__(self, cache, here):
        self.cache = cache
        self.here = here
        self.log_path = cache / "install.log"
        cache.mkdir(parents=True, exist_ok=True)
        self.log = open(self.log_path, "ab")
        self.known = {}
        self.updated = False

    def close(self):
        self.log.close()

    def python(self, venv="venv"):
        return str(self.cache / venv / "bin/python")

    def need(self, what):
        """Empty: it is there. Otherwise why it is not."""
        if what not in self.known:
            kind, _, name = what.partition(":")
            kind, _, place = kind.partition("@")
            self.known[what] = getattr(self, "_" + kind)(name, *([place] if place else []))
        return self.known[what]

    def _program(self, name):
        return "" if shutil.which(name, path=path()) else f"{name} is not installed"

    def _pip(self, package, venv="venv"):
        python = self.python(venv)
        if not Path(python).exists() and not self._run("python3", "-m", "venv", str(self.cache / venv)):
            return f"python3 -m venv fails: see {self.log_path}"
        done = self._run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *package.split())
        return "" if done else f"pip cannot install {package}: see {self.log_path}"

    def _npm(self, package):
        folder = self.cache / "node"
        if (folder / "node_modules" / package).exists():
            return ""
        if not shutil.which("npm"):
            return "npm is not installed"
        folder.mkdir(exist_ok=True)
        done = self._run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), package)
        return "" if done else f"npm cannot install {package}: see {self.log_path}"

    def _deb(self, packages):
        missing = [p for p in packages.split() if not self._has_deb(p)]
        if not missing:
            return ""
        if not shutil.which("apt-get") or os.geteuid() != 0:
            return f"needs Debian's {' '.join(missing)}, and may not install it"
        if self._run(*APT, *missing):
            return ""
        if not self.updated:
            self.updated = True
            if self._run("apt-get", "update", "-q") and self._run(*APT, *missing):
                return ""
        return f"apt-get cannot install {' '.join(missing)}: see {self.log_path}"

    def deb_version(self, package):
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
        return asked.stdout.strip() or "?"

    def _has_deb(self, package):
        if not shutil.which("dpkg-query"):
            return False
        asked = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True)
        return asked.stdout.endswith("ok installed")

    def _go(self, folder):
        """Built with the driver as Debian ships it, by its place under /usr/share/gocode."""
        output = str(self.cache / "go-work")
        environment = {"GOPATH": "/usr/share/gocode", "GO111MODULE": "off", "GOCACHE": str(self.cache / "go-cache")}
        done = self._run("go", "build", "-o", output, str(self.here / folder / "main.go"), environment=environment)
        return "" if done else f"go cannot build it: see {self.log_path}"

    def _cargo(self, folder):
        """Built with the versions of its own Cargo.lock."""
        if not shutil.which("cargo"):
            return "cargo is not installed"
        manifest = str(self.here / folder / "Cargo.toml")
        done = self._run(
            "cargo", "build", "--quiet", "--locked", "--manifest-path", manifest,
            environment={"CARGO_TARGET_DIR": str(self.cache / "rust-target"), "CARGO_INCREMENTAL": "0"},
        )
        return "" if done else f"cargo cannot build it: see {self.log_path}"

    def _java(self, folder):
        output = str(self.cache / "java")
        source = str(self.here / folder / "Work.java")
        done = self._run("javac", "-cp", JAR, "-d", output, source)
        return "" if done else f"javac cannot build it: see {self.log_path}"

    def _run(self, *command, environment=None):
        self.log.write(f"\n$ {' '.join(command)}\n".encode())
        self.log.flush()
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", **(environment or {})}
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=env, timeout=LIMIT)
        except (OSError, subprocess.TimeoutExpired) as why:
            self.log.write(f"{why}\n".encode())
            return False
        return done.returncode == 0


JAR = "/usr/share/java/mariadb-java-client.jar"


def path():
    return os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
