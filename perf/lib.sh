# What perf/turn.sh, perf/flamegraph.sh and perf/profile.sh share: a primary and a replica with one table of sysbench, and the
# configuration of an Umpire with one worker in front of them. To be sourced in the repository's folder; sets $dir (a
# temporary folder, removed on exit together with all that was started), $umpire, $loadgen and, after `servers`, $port.
umask 077     # the configuration holds passwords
umpire=${UMPIRE:-${CARGO_TARGET_DIR:-target}/release/umpire}
loadgen=${LOADGEN:-${CARGO_TARGET_DIR:-target}/release/examples/loadgen}
cluster=tests/servers/cluster.sh
dir=$(mktemp -d /tmp/umpire-perf-XXXXXX)
proxy='' load=''
finish() {
  for process in $load $proxy; do kill -KILL "$process" 2>/dev/null || true; wait "$process" 2>/dev/null || true; done
  [ ! -d "$dir/servers" ] || $cluster stop "$dir/servers" || true
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

# needs PROGRAM PACKAGES…
needs() {
  command -v "$1" >/dev/null || { echo "$1 is missing: apt-get install -y --no-install-recommends ${*:2}" >&2; exit 1; }
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# servers [GROUP]: starts the servers and writes $dir/umpire.toml, which listens on $port. With the name of a group, main or
# second (the same server by another name), table `point` has the rows of sbtest1 in four shards of it.
servers() {
  local shards=${1:-}
  local base=26310
  while listening $base || listening $((base + 1)) || listening $((base + 2)); do base=$((base + 10)); done
  $cluster mariadb "$dir/servers" $base 2
  sysbench --mysql-host=127.0.0.1 --mysql-port=$base --mysql-user=app --mysql-password=apppw --mysql-db=sbtest \
    --tables=1 --table-size=10000 oltp_point_select prepare >/dev/null
  for at in ${shards:+0 1 2 3}; do
    mysql --no-defaults -h127.0.0.1 -P$base -uapp -papppw sbtest -e "
      CREATE TABLE point_$at LIKE sbtest1; INSERT INTO point_$at SELECT * FROM sbtest1 WHERE MOD(id, 4) = $at"
  done
  $cluster sync "$dir/servers"
  port=$((base + 2))
  cat >"$dir/umpire.toml" <<END
[proxy]
listen = ["127.0.0.1:$port"]
workers = [$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')]

[[group]]
name = "main"
servers = [
  { address = "127.0.0.1:$base", role = "primary" },
  { address = "127.0.0.1:$((base + 1))", role = "replica" },
]
read_write_split = true
monitor = { user = "monitor", password = "monitorpw" }

[[user]]
name = "app"
password = "apppw"
group = "main"
END
  [ -n "$shards" ] || return 0
  cat >>"$dir/umpire.toml" <<END

[[group]]
name = "second"
servers = [{ address = "localhost:$base", role = "primary" }]
monitor = { user = "monitor", password = "monitorpw" }

[[table]]
name = "sbtest.point"
key = "id"
method = "mod"
shards = [$(for at in 0 1 2 3; do echo "{ group = \"$shards\", table = \"point_$at\" },"; done)]
END
}

# To umpire.toml, what the part `audited` of the benchmark has: policies, digests, slow log, audit.
rules() {
  PYTHONPATH=loadtest PYTHONDONTWRITEBYTECODE=1 python3 -c '
import sys
from benchmark.contenders import UmpireAudited
print(UmpireAudited.more.format(home=sys.argv[1]))' "$dir" >>"$dir/umpire.toml"
}
