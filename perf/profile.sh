#!/bin/bash
# profile.sh [--seconds 3]    writes perf/umpire.profdata, by which `make build` lays out the release binary
#
# Builds Umpire with counters, runs it under load (point selects as text and prepared, few and many clients, sysbench's
# transactions, large results, short connections, shards, rules with audit) and saves what was executed how often
# (https://doc.rust-lang.org/rustc/profile-guided-optimization.html). Worth doing when the way of a statement has changed:
# functions that changed since are built as without a profile. Needs llvm-profdata of the compiler's LLVM.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=3
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2; shift ;;
    *) sed -n '2,7p' "$0" >&2; exit 2 ;;
  esac
  shift
done
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
counted=$target/pgo-counted raw=$target/pgo-counted/raw
llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')

# The tool of the compiler's own LLVM, from the toolchain or from the system; installed where it may be.
tool() {
  local found
  for found in "$(rustc --print sysroot)"/lib/rustlib/*/bin/llvm-profdata "llvm-profdata-$llvm"; do
    command -v "$found" && return
  done
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing: llvm-$llvm" >&2
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "llvm-$llvm" </dev/null >/dev/null 2>&1 || true
    command -v "llvm-profdata-$llvm" && return
  fi
  echo "llvm-profdata of LLVM $llvm is missing: rustup component add llvm-tools, or install the package llvm-$llvm" >&2
  return 1
}

load() { "$loadgen" "$@" --port $port --seconds "$seconds" >"$dir/load"; }

oltp() {
  sysbench --mysql-host=127.0.0.1 --mysql-port=$port --mysql-user=app --mysql-password=apppw --mysql-db=sbtest \
    --tables=1 --table-size=10000 --threads=16 --time="$seconds" --mysql-ignore-errors=all "$@" run >/dev/null
}

start() {
  LLVM_PROFILE_FILE="$raw/%p.profraw" "$umpire" --config "$dir/umpire.toml" 2>"$dir/log" &
  proxy=$!
  for _ in $(seq 100); do listening $port && break; sleep .1; done
  listening $port || { cat "$dir/log" >&2; exit 1; }
}

# The profile is written when the process ends.
stop() {
  kill -TERM "$proxy"
  wait "$proxy" || { cat "$dir/log" >&2; exit 1; }
  proxy=''
}

queries() {
  local clients
  for clients in 1 16 64; do
    load closed --clients $clients
    load closed --clients $clients --prepared
  done
  load closed --query 'SELECT c FROM point WHERE id={}'
  load closed --prepared --query 'SELECT c FROM point WHERE id=4711'
}

others() {
  load closed --clients 4 --query 'SELECT id, k, pad FROM sbtest1 LIMIT 100'
  load closed --clients 4 --query 'SELECT id, c, pad FROM sbtest1'
  load closed --clients 2 --query "SELECT REPEAT('x', 1048576)"
  load closed --clients 1 --query 'SELECT id, k FROM point ORDER BY k LIMIT 1000'
  load closed --clients 2 --query 'SELECT id, k, pad FROM point ORDER BY k, id'
  load closed --clients 2 --query 'SELECT k DIV 100 g, COUNT(*), SUM(id), MAX(pad) FROM point GROUP BY g ORDER BY 2 DESC, g'
  load connect
  oltp oltp_read_only --db-ps-mode=disable
  oltp oltp_read_write --db-ps-mode=disable
  oltp oltp_read_write
}

train() {
  umpire=$counted/release/umpire
  servers main
  start
  echo "queries, transactions, results, connections, shards: $((seconds * 18)) s" >&2
  queries
  others
  stop
  rules
  start
  echo "the same queries under rules, with audit: $((seconds * 8)) s" >&2
  queries
  stop
}

llvm_profdata=$(tool)
. perf/lib.sh
needs sysbench sysbench
echo "building with counters" >&2
RUSTFLAGS="${RUSTFLAGS:-} -Cprofile-generate=$counted/build" CARGO_INCREMENTAL=0 \
  ${CARGO:-cargo} build --release --locked --target-dir "$counted"
rm -rf "$raw"
mkdir -p "$raw"
train
# without what never ran: a fifth of the size
"$llvm_profdata" merge --sparse -o perf/umpire.profdata "$raw"/*.profraw
echo "$llvm" >perf/umpire.profdata.llvm
chmod 644 perf/umpire.profdata perf/umpire.profdata.llvm
rm -rf "$counted"
"$llvm_profdata" show perf/umpire.profdata
