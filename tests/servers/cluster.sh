#!/bin/bash
# cluster.sh mariadb DIR PORT N     starts N MariaDB servers on 127.0.0.1:PORT, PORT+1, …: a primary (server
#                                   id 1) and its GTID replicas (2, 3, …; read-only)
# cluster.sh mysql DIR PORT N       the same with real MySQL (see get-mysql.sh; exit code 3: cannot be had)
# cluster.sh stop DIR               stops them all
# cluster.sh query DIR I SQL        runs SQL as root on server I (from 0), past every proxy
# cluster.sh sync DIR               waits until every replica has what the primary has
#
# Accounts: app/apppw (all but SUPER), app2/app2pw, monitor/monitorpw, repl/replpw. Databases: app, other,
# sbtest. DIR is thrown away at each start. SERVER_OPTIONS: further server options.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
PATH=$PATH:/usr/sbin:/usr/local/sbin

what=$1 DIR=$2
mkdir -p "$DIR"; DIR=$(cd "$DIR" && pwd)

alive() { grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null; }

client() { # I args…: the client of the server's own kind, as root
  local i=$1; shift
  case $(cat "$DIR/kind") in
    mysql) "$(cat "$DIR/mysql")/bin/mysql" --no-defaults -uroot -S "$DIR/$i/sock" "$@" ;;
    *) mariadb --no-defaults -uroot -S "$DIR/$i/sock" "$@" ;;
  esac
}
query() { client "$1" -N -B -e "$2"; }

stop() {
  local pids='' pid i
  for i in "$DIR"/[0-9]*/; do [ ! -s "$i/pid" ] || pids="$pids $(cat "$i/pid")"; done
  for pid in $pids; do kill "$pid" 2>/dev/null || true; done
  for pid in $pids; do
    for _ in $(seq 200); do alive "$pid" || break; sleep .05; done
    if alive "$pid"; then kill -9 "$pid" || true; fi
  done
  rm -f "$DIR"/[0-9]*/pid
}

wait_up() { # I
  local i=$1
  for _ in $(seq 600); do
    query "$i" 'do 0' >/dev/null 2>&1 && return 0
    alive "$(cat "$DIR/$i/pid")" || break
    sleep .05
  done
  echo "server $i did not start:" >&2; tail -5 "$DIR/$i/error.log" >&2; exit 1
}

wait_row() { # SQL-position-wait per kind
  local i
  for i in "$DIR"/[0-9]*/; do
    i=${i%/}; i=${i##*/}
    [ "$i" != 0 ] || continue
    if [ "$(cat "$DIR/kind")" = mysql ]; then
      [ "$(query "$i" "select wait_for_executed_gtid_set('$(query 0 'select @@global.gtid_executed' | tr -d '\n')', 300)")" = 0 ]
    else
      [ "$(query "$i" "select master_gtid_wait('$(query 0 'select @@gtid_binlog_pos')', 300)")" = 0 ]
    fi || { echo "replica $i does not follow:" >&2; query "$i" 'show replica status' >&2 || true; exit 1; }
  done
}

mariadb_template() {
  mariadb-install-db --no-defaults --user="$(id -un)" --datadir="$DIR/template" --auth-root-authentication-method=normal \
    --skip-test-db --skip-name-resolve --innodb-log-file-size=8M --innodb-buffer-pool-size=16M \
    >"$DIR/init.log" 2>&1 || { cat "$DIR/init.log" >&2; exit 1; }
}

launch_mariadb() { # I PORT
  local i=$1 d=$DIR/$1
  mkdir -p "$d/tmp"; cp -a --reflink=auto "$DIR/template" "$d/data"
  # a server that starts removes all temporary tables that it finds, another's too
  # shellcheck disable=SC2086
  mariadbd --no-defaults --user="$(id -un)" --datadir="$d/data" --tmpdir="$d/tmp" --port=$(($2 + i)) --bind-address=127.0.0.1 \
    --socket="$d/sock" --pid-file="$d/server.pid" --log-error="$d/error.log" --server-id=$((i + 1)) \
    --log-bin=bin --relay-log=relay --log-slave-updates --gtid-strict-mode=ON --binlog-format=ROW \
    --skip-name-resolve --max-connections=1200 --max-allowed-packet=64M --max-prepared-stmt-count=100000 \
    --innodb-buffer-pool-size=128M --innodb-log-file-size=64M --innodb-flush-log-at-trx-commit=0 --sync-binlog=0 \
    --innodb-buffer-pool-dump-at-shutdown=OFF --innodb-buffer-pool-load-at-startup=OFF \
    --performance-schema=OFF --query-cache-size=0 --query-cache-type=0 ${SERVER_OPTIONS:-} \
    </dev/null >/dev/null 2>&1 &
  echo $! >"$d/pid"
}

mariadb_accounts() {
  query 0 "create user app@'%' identified by 'apppw'; create user app2@'%' identified by 'app2pw';
    grant all privileges on *.* to app@'%'; grant all privileges on *.* to app2@'%';
    revoke super, read_only admin, connection admin on *.* from app@'%';
    revoke super, read_only admin, connection admin on *.* from app2@'%';
    create user monitor@'%' identified by 'monitorpw';
    grant slave monitor, binlog monitor, replication master admin on *.* to monitor@'%';
    create user repl@'%' identified by 'replpw'; grant replication slave on *.* to repl@'%';
    create database app; create database other; create database sbtest"
}

start_mariadb() { # PORT N
  local i
  for program in mariadbd mariadb-install-db mariadb; do
    command -v $program >/dev/null || { echo "$program is missing: run $HERE/get-servers.sh as root" >&2; exit 1; }
  done
  mariadb_template
  for i in $(seq 0 $(($2 - 1))); do launch_mariadb "$i" "$1"; done
  for i in $(seq 0 $(($2 - 1))); do wait_up "$i"; done
  mariadb_accounts
  for i in $(seq 1 $(($2 - 1))); do
    query "$i" "change master to master_host='127.0.0.1', master_port=$1, master_user='repl', master_password='replpw',
      master_use_gtid=slave_pos, master_connect_retry=1; start slave; set global read_only=1"
  done
}

launch_mysql() { # I PORT
  local i=$1 d=$DIR/$1 cache options
  cache=$(cat "$DIR/mysql"); mapfile -t options <"$cache/options"
  mkdir -p "$d"; cp -a --reflink=auto "$cache/data" "$d/data"
  # shellcheck disable=SC2086
  "$cache/bin/mysqld" "${options[@]}" --datadir="$d/data" --port=$(($2 + i)) --bind-address=127.0.0.1 \
    --socket="$d/sock" --pid-file="$d/server.pid" --log-error="$d/error.log" --server-id=$((i + 1)) \
    --gtid-mode=ON --enforce-gtid-consistency=ON --log-bin=bin --relay-log=relay --log-replica-updates=ON \
    --max-connections=1200 --max-prepared-stmt-count=100000 --innodb-redo-log-capacity=128M \
    --innodb-flush-log-at-trx-commit=0 --sync-binlog=0 ${SERVER_OPTIONS:-} </dev/null >/dev/null 2>&1 &
  echo $! >"$d/pid"
}

start_mysql() { # PORT N
  local i cache
  cache=$("$HERE/get-mysql.sh") || exit 3
  echo "$cache" >"$DIR/mysql"
  for i in $(seq 0 $(($2 - 1))); do launch_mysql "$i" "$1"; done
  for i in $(seq 0 $(($2 - 1))); do wait_up "$i"; done
  for i in $(seq 1 $(($2 - 1))); do
    query "$i" "change replication source to source_host='127.0.0.1', source_port=$1, source_user='repl',
      source_password='replpw', source_auto_position=1, get_source_public_key=1, source_connect_retry=1;
      start replica; set global read_only=1"
  done
}

case $what in
  mariadb | mysql)
    stop; rm -rf "$DIR"/[0-9]* "$DIR/template"
    echo "$what" >"$DIR/kind"
    "start_$what" "$3" "$4"
    wait_row
    ;;
  stop) stop ;;
  query) query "$3" "$4" ;;
  sync) wait_row ;;
  *) sed -n '2,11p' "$0" >&2; exit 2 ;;
esac
