#!/bin/bash
# make demo-sharding: from nothing to a table over four shards on two servers, created, filled, explained and reported
# through Umpire. Everything runs on 127.0.0.1 in a temporary folder and is stopped again.
# Settings: DEMO_ROWS (20000), UMPIRE (a binary; absent: the release build is made).
set -euo pipefail
cd "$(dirname "$0")/.."
rows=${DEMO_ROWS:-20000}
what=sharding ports=4
. demo/lib.sh

sql=$((base + 2)) admin=$((base + 3))
say "starting two servers that know nothing of each other, on 127.0.0.1:$base and :$((base + 1))"
mkdir -p "$dir/servers-one" "$dir/servers-two"
$cluster mariadb "$dir/servers-one" "$base" 1
$cluster mariadb "$dir/servers-two" $((base + 1)) 1

cat >"$dir/umpire.toml" <<TOML
[proxy]
listen = ["127.0.0.1:$sql"]
admin = "127.0.0.1:$admin"
workers = "auto"
admin_user = "admin"
admin_password = "demo"

[coordination]
store = "file:state"

[[group]]
name = "one"
servers = [{ address = "127.0.0.1:$base", role = "primary" }]
monitor = { user = "monitor", password = "monitorpw", interval_ms = 500 }

[[group]]
name = "two"
servers = [{ address = "127.0.0.1:$((base + 1))", role = "primary" }]
monitor = { user = "monitor", password = "monitorpw", interval_ms = 500 }

[[user]]
name = "app"
password = "apppw"
group = "one"

[[table]]
name = "app.orders"
key = "customer"
method = "hash"
shards = [
  { group = "one", table = "orders_0" }, { group = "one", table = "orders_1" },
  { group = "two", table = "orders_2" }, { group = "two", table = "orders_3" },
]

[[table]]
name = "app.countries"
method = "broadcast"
shards = [{ group = "one" }, { group = "two" }]
TOML

say "starting umpire on 127.0.0.1:$sql"
"$umpire" --config "$dir/umpire.toml" 2>"$dir/umpire.log" &
proxy=$!
mysql=(mariadb --no-defaults -h127.0.0.1 -P"$sql" -uapp -papppw app)
for _ in $(seq 400); do
  kill -0 "$proxy" 2>/dev/null || { cat "$dir/umpire.log" >&2; exit 1; }
  "${mysql[@]}" -e 'SELECT 1' >/dev/null 2>&1 && break
  sleep 0.05
done
run() { echo "> $1"; "${mysql[@]}" -t -e "$1"; }

say "one CREATE TABLE, four shards; one table that both servers have"
run "CREATE TABLE orders (id BIGINT AUTO_INCREMENT, customer INT NOT NULL, country CHAR(2), total DECIMAL(10,2), PRIMARY KEY (id, customer), KEY (customer))"
run "CREATE TABLE countries (code CHAR(2) PRIMARY KEY, name VARCHAR(40))"
run "INSERT INTO countries VALUES ('de', 'Germany'), ('fr', 'France'), ('jp', 'Japan')"

say "$rows orders; the ids are Umpire's own, unique over all shards"
awk -v rows="$rows" 'BEGIN {
  split("de fr jp", countries, " "); srand(7)
  for (i = 0; i < rows; i++) {
    if (i % 500 == 0) printf "%sINSERT INTO orders (customer, country, total) VALUES ", i ? ";\n" : ""
    else printf ","
    printf "(%d,\047%s\047,%.2f)", int(rand() * 5000), countries[1 + int(rand() * 3)], rand() * 300
  }
  print ";"
}' | "${mysql[@]}"
for shard in 0 1 2 3; do
  server=$([ $shard -lt 2 ] && echo one || echo two)
  printf 'orders_%d on server %s: %6d rows\n' $shard "$server" \
    "$($cluster query "$dir/$server" 0 "SELECT COUNT(*) FROM app.orders_$shard")"
done

say "one customer: one shard"
run "EXPLAIN ROUTE SELECT * FROM orders WHERE customer = 42"
say "a report over all shards: each does its part, the merge does the rest"
report="SELECT c.name, COUNT(*) orders, SUM(o.total) total, AVG(o.total) average FROM orders o
  JOIN countries c ON c.code = o.country GROUP BY c.name ORDER BY c.name"
run "EXPLAIN ROUTE $report"
run "$report"
say "what only one server can tell is gathered there"
run "EXPLAIN ROUTE SELECT COUNT(DISTINCT customer) FROM orders"
run "SELECT COUNT(*), COUNT(DISTINCT id), COUNT(DISTINCT customer) FROM orders"
say "what cannot be done is refused, with the reason"
run "EXPLAIN ROUTE UPDATE orders SET customer = 7 WHERE id = 1"

counted=$("${mysql[@]}" -N -B -e "SELECT COUNT(*), COUNT(DISTINCT id) FROM orders")
[ "$counted" = "$rows	$rows" ] || { echo "expected $rows rows with ids of their own, found: $counted" >&2; exit 1; }
say "done"
