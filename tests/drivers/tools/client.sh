#!/bin/bash
# client.sh PROGRAM: the scripted work through a MySQL command-line client, with column types, counts, warnings and errors
set -u
program=$1
echo "##version $("$program" --version | sed -E 's/^.*(Distrib|Ver) ([0-9][^ ,]*).*$/\2/')"
login=(--no-defaults "-h$DB_HOST" "-P$DB_PORT" "-u$DB_USER" "-p$DB_PASSWORD" --default-character-set=utf8mb4)
# times differ
steady() { sed -E 's/\(?[0-9]+\.[0-9]+ sec\)?/(time)/g'; }
client() { "$program" "${login[@]}" "$@" 2>&1 | steady; }
part() { # 1: before the sync, 2: behind it
  sed -e '/^#[^#]/d' "$WORK" | awk -v part="$1" -v here=1 '/^##sync/{here=2; next} here==part{print $0 ";"}'
}

part 1 | client --local-infile=1 --init-command="SET time_zone='+03:00'" -t -vvv --force --show-warnings --column-type-info drv
echo "CALL two_results(); CALL fails(); SELECT 'goes on';" | client -t --force drv
echo "LOAD DATA LOCAL INFILE '$LOAD' INTO TABLE loaded FIELDS TERMINATED BY ','; SHOW WARNINGS; SELECT * FROM loaded;" | client --local-infile=1 -t -vv drv
echo "SELECT * FROM types ORDER BY id;" | client --batch drv
echo "SELECT * FROM types ORDER BY id;" | client --xml drv
echo "SELECT SUM(n), COUNT(*) FROM numbers;" | client --quick --vertical drv
printf 'DELIMITER //\nSELECT 1; SELECT 2//\nDELIMITER ;\nSELECT 3;\n' | client -t drv
client -e 'SELECT DATABASE(), CURRENT_USER()' information_schema
client -e 'SELECT 1' no_such_database
"$program" "${login[@]}" -pwrong -e 'SELECT 1' 2>&1
echo "##sync"; read -r _
part 2 | client -t -vvv --force --show-warnings --column-type-info drv
echo "##end"
