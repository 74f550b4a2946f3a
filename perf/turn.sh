#!/bin/bash
# turn.sh [--clients 16] [--prepared] [--sharded main|second] [--audited] [--functions 40]    instructions of a whole turn, by function
#
# Runs Umpire (split, one worker) under callgrind while the load generator runs point selects through it, and
# divides what the worker's thread executed in user space by the turns that it finished. Steady on a busy machine,
# where times are not. --sharded: point selects of a table in four shards of the user's own group, or of another one.
# --audited: with the policies, digests, slow log and audit of `make bench`'s part of that name.
# Fails when a turn costs more than perf/ceilings.txt allows (`turn-text-16` and so on).
# UMPIRE, LOADGEN: the programs (release builds by default).
set -euo pipefail
cd "$(dirname "$0")/.."
clients=16 functions=40 workload=text table=sbtest1 shards='' audited='' extra=()
while [ $# -gt 0 ]; do
  case $1 in
    --clients) clients=$2; shift ;;
    --functions) functions=$2; shift ;;
    --prepared) workload=prepared ;;
    --sharded) shards=$2 table=point; shift ;;
    --audited) audited=-audited ;;
    *) sed -n '2,11p' "$0" >&2; exit 2 ;;
  esac
  shift
done
case $workload in
  text) extra=(--query "SELECT c FROM $table WHERE id={}") ;;
  prepared) extra=(--prepared --query "SELECT c FROM $table WHERE id=4711") ;;
esac
. perf/lib.sh
needs valgrind valgrind libc6-dbg
servers "$shards"
[ -z "$audited" ] || rules
valgrind --tool=callgrind --instr-atstart=no --separate-threads=yes --callgrind-out-file="$dir/out" \
  "$umpire" --config "$dir/umpire.toml" 2>"$dir/log" &
proxy=$!
# a login takes its time there, since the process makes an RSA key first
for _ in $(seq 60); do
  timeout 10 "$loadgen" closed --port $port --clients 1 --seconds 0.1 "${extra[@]}" >"$dir/load" 2>/dev/null &&
    grep -q '"queries": [1-9]' "$dir/load" && break
  sleep 1
done
"$loadgen" closed --port $port --clients "$clients" --seconds 8 "${extra[@]}" >"$dir/load" &
load=$!
sleep 2
# the load goes on while the counts are taken: a process that sleeps does not hear callgrind_control
timeout 20 callgrind_control -i on $proxy >/dev/null
sleep 2
timeout 20 callgrind_control -d $proxy >/dev/null
for file in "$dir"/out*-*; do [ -s "$file" ] && files+=("$file"); done
umask 022
status=0
each=$(python3 perf/turn.py "$functions" "${files[@]}" 3>&1 1>&2) || status=$?
[ $status = 0 ] || exit $status
stage=turn${shards:+-sharded-$shards}$audited-$workload-$clients
allowed=$(awk -v stage="$stage" '$1 == stage {print $2}' perf/ceilings.txt)
echo "$stage: $each instructions a turn, allowed ${allowed:--}"
[ -z "$allowed" ] || [ "$each" -le "$allowed" ] || { echo "MORE THAN ALLOWED"; exit 1; }
