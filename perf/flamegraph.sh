#!/bin/bash
# flamegraph.sh [--seconds 10] [--clients 64] [--out target/flamegraph.svg] [--pid PID]
#
# Where one worker spends its time: `perf record` of the worker's thread while the load generator runs point
# selects through Umpire (split), as a flame graph and as stacks (same name, .txt). --pid: of a process that
# runs already, under whatever load it has. UMPIRE, LOADGEN: the programs (release builds by default).
#
# By hand: perf record -e cpu-clock -F 1997 --call-graph dwarf,16384 -t THREAD -- sleep 10
#          perf script -i perf.data | perf/flamegraph.py >flamegraph.svg
set -euo pipefail
umask 077     # the configuration holds passwords
cd "$(dirname "$0")/.."
seconds=10 clients=64 out=${CARGO_TARGET_DIR:-target}/flamegraph.svg pid=''
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --clients) clients=$2; shift ;;
    --out) out=$2; shift ;;
    --pid) pid=$2; shift ;;
    *) sed -n '2,9p' "$0" >&2; exit 2 ;;
  esac
  shift
done
command -v perf >/dev/null || { echo "perf is missing: apt-get install -y --no-install-recommends linux-perf" >&2; exit 1; }
umpire=${UMPIRE:-${CARGO_TARGET_DIR:-target}/release/umpire}
loadgen=${LOADGEN:-${CARGO_TARGET_DIR:-target}/release/examples/loadgen}
cluster=tests/servers/cluster.sh
dir=$(mktemp -d /tmp/umpire-flamegraph-XXXXXX)
proxy='' load=''
finish() {
  for process in $load $proxy; do kill "$process" 2>/dev/null || true; wait "$process" 2>/dev/null || true; done
  [ ! -d "$dir/servers" ] || $cluster stop "$dir/servers" || true
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

start() {
  local base=26310
  while listening $base || listening $((base + 1)) || listening $((base + 2)); do base=$((base + 10)); done
  $cluster mariadb "$dir/servers" $base 2
  sysbench --mysql-host=127.0.0.1 --mysql-port=$base --mysql-user=app --mysql-password=apppw --mysql-db=sbtest \
    --tables=1 --table-size=10000 oltp_point_select prepare >/dev/null
  $cluster sync "$dir/servers"
  cat >"$dir/umpire.toml" <<END
[proxy]
listen = ["127.0.0.1:$((base + 2))"]
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
  "$umpire" --config "$dir/umpire.toml" 2>"$dir/log" &
  proxy=$!
  for _ in $(seq 100); do listening $((base + 2)) && break; sleep .1; done
  listening $((base + 2)) || { cat "$dir/log" >&2; exit 1; }
  "$loadgen" closed --port $((base + 2)) --clients "$clients" --seconds $((seconds + 5)) >"$dir/load" &
  load=$!
  sleep 2
  pid=$proxy
}

[ -n "$pid" ] || start
thread=''
for task in /proc/"$pid"/task/*; do
  case $(cat "$task/comm") in worker*) thread=${thread:-${task##*/}} ;; esac
done
[ -n "$thread" ] || { echo "process $pid has no worker thread" >&2; exit 1; }
perf record -q -e cpu-clock -F 1997 --call-graph dwarf,16384 -o "$dir/perf.data" -t "$thread" -- sleep "$seconds"
perf script -i "$dir/perf.data" -F comm,ip,sym 2>/dev/null >"$dir/script"
umask 022
python3 perf/flamegraph.py --stacks "${out%.svg}.txt" <"$dir/script" >"$out"
echo "$out, ${out%.svg}.txt"
