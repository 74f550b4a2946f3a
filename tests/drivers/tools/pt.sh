#!/bin/bash
# pt.sh: pt-query-digest reads a slow log, explains its statements on the server and keeps its findings there
set -uo pipefail
echo "##version $(pt-query-digest --version | awk '{print $2}')"
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
cat >"$folder/slow.log" <<'LOG'
# Time: 240102  3:04:05
# User@Host: app[app] @ localhost []
# Query_time: 2.5  Lock_time: 0.1  Rows_sent: 1  Rows_examined: 3000
use drv;
SET timestamp=1704164645;
SELECT n FROM numbers WHERE square = 25;
# Time: 240102  3:04:06
# User@Host: app[app] @ localhost []
# Query_time: 1.5  Lock_time: 0.0  Rows_sent: 1  Rows_examined: 1
SET timestamp=1704164646;
SELECT name FROM items WHERE id = 5;
LOG
# row counts of EXPLAIN are estimates
steady() { sed -E 's/^(# +rows:).*/\1 (some)/'; }
dsn="h=$DB_HOST,P=$DB_PORT,u=$DB_USER,p=$DB_PASSWORD"
digest() { pt-query-digest --no-version-check --review "$dsn,D=drv,t=review" --history "$dsn,D=drv,t=history" "$@" "$folder/slow.log" 2>&1 | grep -vE 'user time|Current date|Hostname|Files|^$' | steady; }
digest --explain "$dsn,D=drv"
mariadb --no-defaults "-h$DB_HOST" "-P$DB_PORT" "-u$DB_USER" "-p$DB_PASSWORD" -t -e 'SELECT fingerprint, sample, first_seen, last_seen FROM review ORDER BY fingerprint; SELECT sample, ts_min, ts_cnt, Query_time_sum FROM history ORDER BY sample' drv
echo "##sync"; read -r _
pt-query-digest --no-version-check --explain "$dsn,D=drv" "$folder/slow.log" 2>&1 | grep -E '^# *(EXPLAIN|[a-z_]+:|\*+)' | steady
timeout 20 pt-query-digest --no-version-check --processlist "$dsn" --run-time 1 --interval 0.2 >/dev/null 2>"$folder/err"; echo "processlist: $? $(cat "$folder/err")"
echo "##end"
