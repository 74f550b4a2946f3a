#!/bin/bash
# run.sh UMPIRE OUTDIR [TEST…]    MariaDB's own test suite (Debian's package mariadb-test) with every SQL connection
#                                 sent through the binary UMPIRE; without TESTs, the whole suite `main`
# MYSQL_SUITE=FOLDER run.sh …     MySQL's own, from the folder that tests/servers/get-mysql.sh suite has made
#
# What fails is run again straight at the server (MariaDB's over TCP too): what fails there as well says nothing about Umpire.
# A test that passes directly, fails through Umpire and is not explained in docs/compatibility.md makes this fail.
# OUTDIR/report says everything, OUTDIR/via/log and OUTDIR/direct/log have mtr's own words.
# MTR_THREAD: mtr's build thread, which decides the ports: 10000 + 30 × MTR_THREAD and the 29 behind it (default 440).
# Exit code 3: the suite is not installed. No lock is taken: one run per MTR_THREAD at a time.
set -euo pipefail
UMPIRE=$(realpath "$1") OUT=$2
shift 2
HERE=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$OUT"; OUT=$(cd "$OUT" && pwd)
KNOWN=$HERE/../../docs/compatibility.md
THREAD=${MTR_THREAD:-440}
SERVER_PORT=$((10000 + 30 * THREAD))
PATH=$PATH:/usr/sbin
OWN_LISTEN='' OWN_KEY='' SERVER=127.0.0.2:$SERVER_PORT

if [ -n "${MYSQL_SUITE:-}" ]; then
  SUITE=$MYSQL_SUITE/root/usr/lib/mysql-test MTR=mysql-test-run.pl
  CLIENT=$SUITE/bin/mysqltest MTR_OPTIONS=(--mysqld=--mysqlx=OFF "--port-base=$SERVER_PORT")
  # its tests open a Unix socket wherever they say localhost
  OWN_LISTEN=", \"unix:$OUT/umpire.sock\"" SERVER=unix:$OUT/via/var/tmp/mysqld.1.sock
  # and are given the server's public key
  OWN_KEY="rsa_private_key = \"$SUITE/std_data/rsa_private_key.pem\""
  DIRECT='' VIA="--host=localhost --socket=$OUT/umpire.sock --port=$SERVER_PORT"
else
  SUITE=/usr/share/mysql/mysql-test MTR=mtr
  CLIENT=/usr/bin/mariadb-test MTR_OPTIONS=()
  VIA="--protocol=tcp --host=127.0.0.1 --port=$SERVER_PORT" DIRECT=$VIA
fi
[ -e "$SUITE/$MTR" ] && [ -x "$CLIENT" ] || {
  echo "run.sh: the test suite is not installed ($SUITE/$MTR is missing)" >&2
  exit 3
}
command -v socat >/dev/null || { echo "run.sh: socat is not installed" >&2; exit 3; }

cat >"$OUT/umpire.toml" <<TOML
[proxy]
listen = ["127.0.0.1:$SERVER_PORT", "[::1]:$SERVER_PORT"$OWN_LISTEN]
# tests wait until the sessions that they have closed are gone from the server: pooled connections go soon
min_idle = 0
server_idle_timeout_s = 1
# and until a server that they have stopped is gone: nobody takes its place
lease_timeout_ms = 2000
$OWN_KEY
[[group]]
name = "main"
servers = [ { address = "$SERVER", role = "primary" } ]
accounts = "server"
monitor = { user = "root", password = "", interval_ms = 100 }
tls = { mode = "preferred" }
[tls]
certificate = "$SUITE/std_data/server-cert.pem"
key = "$SUITE/std_data/server-key.pem"
TOML
chmod 600 "$OUT/umpire.toml"

# The suite's client, with every connection of a test sent to one place. Umpire has the port that the suite knows, and the
# server the same port on another address, since tests compare @@port with the port that they connect to. Further servers
# of a test (replicas), and the server's extra port, are reached past Umpire, by socat.
client() { # FOLDER OPTIONS
  local socket=''
  [[ $2 != *--socket* ]] || socket="export MASTER_MYSOCK=$OUT/umpire.sock"
  cat >"$1/client" <<CLIENT
#!/bin/bash
for a in "\$@"; do case \$a in --defaults-group-suffix=.[2-9]*) exec $CLIENT "\$@" ;; esac; done
$socket
exec $CLIENT "\$@" $2
CLIENT
  chmod +x "$1/client"
}

mtr() { # FOLDER ADDRESS OPTIONS TEST… : mtr starts its server itself, again and again, with what each test asks for
  local folder=$OUT/$1 address=$2
  mkdir -p "$folder"
  client "$folder" "$3"
  shift 3
  (
    cd $SUITE
    MTR_BUILD_THREAD=$THREAD MYSQL_TEST=$folder/client perl ./$MTR --vardir="$folder/var" --force --max-test-fail=0 \
      --retry=0 --testcase-timeout="${TESTCASE_MINUTES:-3}" --nocheck-testcases --nowarnings \
      "${MTR_OPTIONS[@]}" --mysqld=--bind-address="$address" "$@" </dev/null >"$folder/log" 2>&1
  ) || true
  grep -E '\[ (pass|fail|skipped|disabled) ' "$folder/log" |
    sed -E 's/^(worker|\[)[^ ]* +([0-9]+%\] )?//; s/ +\[ (pass|fail|skipped|disabled) .*/ \1/' | sort -u >"$folder/verdicts"
  grep -q ' ' "$folder/verdicts" || { echo "mtr ran no test:" >&2; tail -5 "$folder/log" >&2; exit 1; }
}

proxy_when_mtr_has_looked() { # mtr wants its ports free when it begins, and writes this file afterwards
  for _ in $(seq 600); do [ -e "$OUT/via/var/my.cnf" ] && break; sleep 0.1; done
  local port forwards=()
  for port in $(seq $((SERVER_PORT + 1)) $((SERVER_PORT + 9))); do
    socat "TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr" "TCP:127.0.0.2:$port" 2>/dev/null &
    forwards+=($!)
  done
  echo "${forwards[@]}" >"$OUT/forwards"
  exec "$UMPIRE" --config "$OUT/umpire.toml" >"$OUT/umpire.log" 2>&1 </dev/null
}

of() { sed -n "s/ $1\$//p" "$OUT/$2/verdicts" | sort -u; }   # VERDICT FOLDER

rm -rf "$OUT/via" "$OUT/direct"
proxy_when_mtr_has_looked &
PROXY=$!
stop() { kill $PROXY $(cat "$OUT/forwards" 2>/dev/null) 2>/dev/null || true; rm -f "$OUT/forwards"; }
trap stop EXIT
if [ $# -gt 0 ]; then mtr via 127.0.0.2 "$VIA" "$@"; else mtr via 127.0.0.2 "$VIA" --suite=main; fi
kill -0 $PROXY 2>/dev/null || { echo "Umpire has ended:" >&2; tail -5 "$OUT/umpire.log" >&2; exit 1; }
! grep -q panicked "$OUT/umpire.log" || { echo "Umpire panicked:" >&2; grep -A5 panicked "$OUT/umpire.log" >&2; exit 1; }

of fail via >"$OUT/failed"
: >"$OUT/differ"
if [ -s "$OUT/failed" ]; then
  mapfile -t again < <(sed "s/ '.*//" "$OUT/failed" | sort -u)
  stop
  wait $PROXY || true
  mtr direct 127.0.0.1 "$DIRECT" "${again[@]}"
  of pass direct | comm -12 - "$OUT/failed" >"$OUT/differ"
fi
pass=$(of pass via | wc -l) differ=$(wc -l <"$OUT/differ")
: >"$OUT/unexplained"
while read -r name rest; do
  grep -q "\`$name\`" "$KNOWN" 2>/dev/null || echo "$name $rest" >>"$OUT/unexplained"
done <"$OUT/differ"
{
  echo "passed through Umpire: $pass"
  echo "passed directly over TCP, but not through Umpire: $differ"
  awk -v p="$pass" -v d="$differ" 'BEGIN { if (p + d > 0) printf "of those that pass directly, through Umpire: %.1f %%\n", 100 * p / (p + d) }'
  sed 's/^/  differs: /' "$OUT/differ"
  sed 's/^/  not in docs\/compatibility.md: /' "$OUT/unexplained"
} | tee "$OUT/report"
[ ! -s "$OUT/unexplained" ]
