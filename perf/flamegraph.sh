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
. perf/lib.sh
needs perf linux-perf

start() {
  servers
  "$umpire" --config "$dir/umpire.toml" 2>"$dir/log" &
  proxy=$!
  for _ in $(seq 100); do listening $port && break; sleep .1; done
  listening $port || { cat "$dir/log" >&2; exit 1; }
  "$loadgen" closed --port $port --clients "$clients" --seconds $((seconds + 5)) >"$dir/load" &
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
