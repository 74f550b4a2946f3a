#!/bin/bash
# acceptance.sh [--seconds 60] [--threads 64] [--servers mariadb,mysql] [--direct]
#
# sysbench oltp_read_only, oltp_read_write, oltp_update_index and oltp_insert, with text and with prepared
# statements, through Umpire with read/write splitting on, against a MariaDB primary with two replicas and
# a MySQL pair. Passes when no run has an error and the data are equal on primary and replicas afterwards.
# --direct: the same against the primary itself, without Umpire.
set -euo pipefail
umask 077     # the configuration holds passwords
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin
seconds=60 threads=64 kinds=mariadb,mysql direct=no
while [ $# -gt 0 ]; do
  case $1 in
    --seconds) seconds=$2; shift ;;
    --threads) threads=$2; shift ;;
    --servers) kinds=$2; shift ;;
    --direct) direct=yes ;;
    *) sed -n '2,8p' "$0" >&2; exit 2 ;;
  esac
  shift
done
cluster=tests/servers/cluster.sh
umpire=${UMPIRE:-${CARGO_TARGET_DIR:-target}/release/umpire}
tables=8 size=10000
dir=$(mktemp -d /tmp/umpire-acceptance-XXXXXX)
proxy='' failed=0

stop_proxy() {
  [ -n "$proxy" ] || return 0
  kill "$proxy" 2>/dev/null || true
  local status=0; wait "$proxy" || status=$?
  proxy=''
  [ $status = 0 ] || { echo "umpire ended with code $status"; tail -5 "$dir/umpire.log"; failed=1; }
}
finish() {
  local status=$?
  stop_proxy || true
  for kind in mariadb mysql; do [ ! -d "$dir/$kind" ] || $cluster stop "$dir/$kind" || true; done
  if [ $status = 0 ]; then rm -rf "$dir"; else echo "Failed; logs are in $dir"; fi
}
trap finish EXIT
trap 'exit 130' INT TERM

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
free_base() {
  local base port
  for base in $(seq 24310 10 25310); do
    for port in $(seq "$base" $((base + 4))); do
      if listening "$port"; then continue 2; fi
    done
    echo "$base"; return
  done
  return 1
}

start_proxy() { # base servers
  local i role
  {
    printf '[proxy]\nlisten = ["127.0.0.1:%d"]\nworkers = "auto"\n' $(($1 + 4))
    printf '\n[[group]]\nname = "main"\nservers = [\n'
    for i in $(seq 0 $(($2 - 1))); do
      role=replica; [ "$i" != 0 ] || role=primary
      printf '  { address = "127.0.0.1:%d", role = "%s" },\n' $(($1 + i)) $role
    done
    printf ']\nread_write_split = true\nread_your_writes = "timer"\n'
    printf 'monitor = { user = "monitor", password = "monitorpw", interval_ms = 500 }\n'
    printf '\n[[user]]\nname = "app"\npassword = "apppw"\ngroup = "main"\n'
  } >"$dir/umpire.toml"
  "$umpire" --config "$dir/umpire.toml" 2>"$dir/umpire.log" &
  proxy=$!
  for _ in $(seq 200); do
    listening $(($1 + 4)) && return 0
    kill -0 "$proxy" 2>/dev/null || break
    sleep .05
  done
  echo "umpire does not listen:"; tail -5 "$dir/umpire.log"; exit 1
}

run() { # port script ps-mode arguments…
  sysbench --mysql-host=127.0.0.1 --mysql-port="$1" --mysql-user=app --mysql-password=apppw --mysql-db=sbtest \
    --tables=$tables --table-size=$size --threads="$threads" --time="$seconds" --db-ps-mode="$3" "${@:4}" "$2" run
}

checksums() { # kind server
  local t list=''
  for t in $(seq $tables); do list="$list${list:+,}sbtest.sbtest$t"; done
  $cluster query "$dir/$1" "$2" "CHECKSUM TABLE $list" | sort
}

test_kind() { # kind servers
  local kind=$1 servers=$2 base port script mode log expected i
  base=$(free_base)
  echo "== $kind: a primary and $((servers - 1)) replica(s)"
  mkdir -p "$dir/$kind"
  $cluster "$kind" "$dir/$kind" "$base" "$servers" || {
    [ $? = 3 ] && { echo "SKIPPED: $kind cannot be had here"; skipped=$((skipped + 1)); return 0; }
    exit 1
  }
  port=$base
  if [ $direct = no ]; then start_proxy "$base" "$servers"; port=$((base + 4)); fi
  sysbench --mysql-host=127.0.0.1 --mysql-port="$port" --mysql-user=app --mysql-password=apppw --mysql-db=sbtest \
    --tables=$tables --table-size=$size --threads=4 oltp_read_write prepare >"$dir/prepare.log" 2>&1 ||
    { tail -5 "$dir/prepare.log"; exit 1; }
  $cluster sync "$dir/$kind"
  for mode in auto disable; do
    for script in oltp_read_only oltp_read_write oltp_update_index oltp_insert; do
      log=$dir/$kind-$script-$mode.log
      if run "$port" $script $mode >"$log" 2>&1 && ! grep -qE 'FATAL|ALERT' "$log"; then
        awk -v name="$script" -v mode="$mode" '
          /^ *queries:/ {q=$2; p=$3} /ignored errors:/ {e=$3} /reconnects:/ {r=$2}
          END {gsub(/\(/, "", p); printf "  %-18s --db-ps-mode=%-8s ok  %9d queries %9s/s, retried deadlocks %d, reconnects %d\n", name, mode, q, p, e, r
               exit r > 0}' "$log" || failed=1
      else
        echo "  $script --db-ps-mode=$mode FAILED:"; grep -m3 -E 'FATAL|ALERT' "$log" || tail -3 "$log"
        failed=1
      fi
      $cluster sync "$dir/$kind"
    done
  done
  expected=$(checksums "$kind" 0)
  for i in $(seq 1 $((servers - 1))); do
    if [ "$(checksums "$kind" "$i")" = "$expected" ]; then echo "  replica $i: data equal to the primary's"
    else echo "  replica $i: DATA DIFFER"; failed=1; fi
  done
  stop_proxy
  $cluster stop "$dir/$kind"
}

skipped=0
for kind in ${kinds//,/ }; do
  case $kind in
    mariadb) test_kind mariadb 3 ;;
    mysql) test_kind mysql 2 ;;
    *) echo "no such server: $kind" >&2; exit 2 ;;
  esac
done
[ $skipped = 0 ] || echo "$skipped part(s) SKIPPED"
[ $failed = 0 ] && echo "all passed" || { echo "FAILED"; exit 1; }
