#!/bin/bash
# mycli.sh PYTHON-FOLDER: statements through mycli, not interactive
set -uo pipefail
mycli=$1/mycli
echo "##version $("$mycli" --version | awk '{print $NF}')"
export HOME; HOME=$(mktemp -d); trap 'rm -rf "$HOME"' EXIT
run() { "$mycli" --myclirc /dev/null -h "$DB_HOST" -P "$DB_PORT" -u "$DB_USER" -p "$DB_PASSWORD" -D drv "$@" 2>&1 </dev/null | sed -E 's/[0-9.]+s$/(time)/'; }
for sql in "SELECT * FROM types WHERE id = 1" "SELECT n, square FROM numbers WHERE n < 5" "INSERT INTO items (name, n) VALUES ('mycli', 1)" \
  "SELECT name, n FROM items" "SHOW TABLES" "SELECT nowhere" "CALL two_results()" "DELETE FROM items WHERE name = 'mycli'"; do
  echo "-- $sql"; run --csv -e "$sql"
done
echo "##sync"; read -r _
run -t -e "SELECT id, vc, dt6, de FROM types ORDER BY id"
echo "##end"
