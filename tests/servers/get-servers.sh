#!/bin/bash
# get-servers.sh    Makes sure that what the tests, the demo and the benchmarks run is installed:
#                   a C toolchain, git, MariaDB's server and client, sysbench, HAProxy.
# Installs what is missing with apt-get when it may (root, Debian or Ubuntu); otherwise says what to do.
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }

missing=()
want() { # program package
  have "$1" || missing+=("$2")
}
want cc build-essential
want git git                       # glommio's build script calls it
want setpriv util-linux
want python3 python3
want mariadbd mariadb-server-core
want mariadb-install-db mariadb-server-core
want mariadb mariadb-client-core
want sysbench sysbench
want haproxy haproxy

# MariaDB's own test suite is wanted, not needed: without it its tests are listed as skipped. The package brings
# a server that the system would start, so that it is installed only where nothing starts services.
suite() {
  [ -x /usr/share/mysql/mysql-test/mtr ] && have socat && return 0
  [ "$(id -u)" = 0 ] && have apt-get && [ ! -d /run/systemd/system ] || return 0
  echo "Installing: mariadb-test socat"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends mariadb-test socat </dev/null >/dev/null 2>&1 ||
    echo "mariadb-test cannot be installed: the tests that use it are skipped" >&2
}

[ ${#missing[@]} -gt 0 ] || { suite; exit 0; }
mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)

if ! have apt-get; then
  echo "Needed and not installed: ${missing[*]} (Debian's package names)." >&2
  echo "Install MariaDB's server and client programs, sysbench and HAProxy with this system's package manager." >&2
  exit 1
fi
if [ "$(id -u)" != 0 ]; then
  echo "Needed and not installed: ${missing[*]}. Run as root:" >&2
  echo "  apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null; }
echo "Installing: ${missing[*]}"
if ! install >/dev/null 2>&1; then
  apt-get update -q </dev/null
  install
fi
suite
