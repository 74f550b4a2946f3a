#!/bin/bash
# make demo: from nothing to Umpire in front of a real primary and two replicas, ten seconds of sysbench,
# and a table of what went where. Everything runs on 127.0.0.1 in a temporary folder and is stopped again.
# Settings: DEMO_SECONDS (10), DEMO_THREADS (8), UMPIRE (a binary; absent: the release build is made).
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${DEMO_SECONDS:-10} threads=${DEMO_THREADS:-8}
what=demo ports=6
. demo/lib.sh

say "starting a primary and two replicas on 127.0.0.1:$base, $((base + 1)), $((base + 2))"
mkdir -p "$dir/servers"
$cluster mariadb "$dir/servers" "$base" 3

sql=$((base + 3)) admin=$((base + 4)) http=$((base + 5))
cat >"$dir/umpire.toml" <<TOML
[proxy]
listen = ["127.0.0.1:$sql"]
admin = "127.0.0.1:$admin"
http = "127.0.0.1:$http"
workers = "auto"
admin_user = "admin"
admin_password = "demo"

[[group]]
name = "main"
servers = [
  { address = "127.0.0.1:$base", role = "primary" },
  { address = "127.0.0.1:$((base + 1))", role = "replica" },
  { address = "127.0.0.1:$((base + 2))", role = "replica" },
]
read_write_split = true
read_your_writes = "timer"
monitor = { user = "monitor", password = "monitorpw", interval_ms = 500 }

[[user]]
name = "app"
password = "apppw"
group = "main"

[[user]]
name = "app2"
password = "app2pw"
group = "main"
TOML

say "starting umpire on 127.0.0.1:$sql"
"$umpire" --config "$dir/umpire.toml" 2>"$dir/umpire.log" &
proxy=$!
client() { mariadb --no-defaults -h127.0.0.1 -P"$sql" -uapp2 -papp2pw -N -B -e "$1"; }
for _ in $(seq 200); do
  kill -0 "$proxy" 2>/dev/null || { cat "$dir/umpire.log" >&2; exit 1; }
  client 'SELECT 1' >/dev/null 2>&1 && break
  sleep 0.05
done
client 'SELECT 1' >/dev/null || { cat "$dir/umpire.log" >&2; exit 1; }

bench=(sysbench --mysql-host=127.0.0.1 --mysql-port="$sql" --mysql-user=app --mysql-password=apppw
  --mysql-db=sbtest --tables=4 --table-size=10000 --threads="$threads")
say "filling four tables through umpire"
"${bench[@]}" oltp_read_write prepare >"$dir/prepare.log" || { tail "$dir/prepare.log" >&2; exit 1; }
$cluster sync "$dir/servers"

counts() { # server: selects writes transactions
  $cluster query "$dir/servers" "$1" "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
    WHERE VARIABLE_NAME IN ('COM_SELECT','COM_INSERT','COM_UPDATE','COM_DELETE','COM_BEGIN')" |
    awk '{v[$1]=$2} END {print v["COM_SELECT"]+0, v["COM_INSERT"]+v["COM_UPDATE"]+v["COM_DELETE"], v["COM_BEGIN"]+0}'
}
snapshot() { local i; for i in 0 1 2; do counts $i; done; }

# The load: one account runs transactions (they stay on the primary, whole); another one only reads.
snapshot >"$dir/before"
say "sysbench oltp_read_write as app and oltp_point_select as app2, $threads threads each, $seconds s"
"${bench[@]}" --time="$seconds" --db-ps-mode=disable oltp_read_write run >"$dir/rw.log" 2>&1 &
rw=$!
sysbench --mysql-host=127.0.0.1 --mysql-port="$sql" --mysql-user=app2 --mysql-password=app2pw --mysql-db=sbtest \
  --tables=4 --table-size=10000 --threads="$threads" --time="$seconds" --db-ps-mode=auto \
  --skip-trx=on oltp_point_select run >"$dir/ro.log" 2>&1 &
ro=$!
wait $rw || { tail -20 "$dir/rw.log" >&2; exit 1; }
wait $ro || { tail -20 "$dir/ro.log" >&2; exit 1; }
snapshot >"$dir/after"
$cluster sync "$dir/servers"

echo
echo "What went where (the servers' own counts, through umpire at 127.0.0.1:$sql):"
echo
paste -d' ' "$dir/before" "$dir/after" | awk -v base="$base" '
  BEGIN { printf "  %-22s %12s %12s %14s\n", "server", "reads", "writes", "transactions" }
  { printf "  %-22s %12d %12d %14d\n", (NR==1 ? "primary" : "replica") " :" base+NR-1, $4-$1, $5-$2, $6-$3 }'
echo '  (a replica has its writes and transactions from the primary, by replication)'
echo
for log in rw ro; do
  [ $log = rw ] && name='oltp_read_write  ' || name='oltp_point_select'
  awk -v name="$name" '/queries:/ {q=$2; p=$3} /ignored errors:/ {e=$3} /95th percentile:/ {l=$3}
    END {gsub(/\(/,"",p); printf "  %s  %8d queries, %8s per second, 95%% within %s ms, %d retried deadlocks\n", name, q, p, l, e}' "$dir/$log.log"
done
same=yes
expected=$($cluster query "$dir/servers" 0 'CHECKSUM TABLE sbtest.sbtest1, sbtest.sbtest2, sbtest.sbtest3, sbtest.sbtest4')
for i in 1 2; do
  [ "$($cluster query "$dir/servers" $i 'CHECKSUM TABLE sbtest.sbtest1, sbtest.sbtest2, sbtest.sbtest3, sbtest.sbtest4')" = "$expected" ] || same=no
done
echo "  data equal on primary and replicas: $same"
[ $same = yes ]

show() { # statement
  echo; echo "$1 (admin SQL, 127.0.0.1:$admin):"; echo
  mariadb --no-defaults -h127.0.0.1 -P"$admin" -uadmin -pdemo -t -e "$1" | sed 's/^/  /'
}
show 'SHOW SERVERS'
show 'EXPLAIN ROUTE SELECT * FROM sbtest1 WHERE id = 1'
show 'EXPLAIN ROUTE SELECT * FROM sbtest1 WHERE id = 1 FOR UPDATE'
echo
say "stopping everything"
kill "$proxy"
status=0; wait "$proxy" || status=$?
proxy=''
[ $status = 0 ] || { echo "umpire ended with code $status" >&2; exit 1; }
$cluster stop "$dir/servers"
say "done: nothing of it runs any more"
