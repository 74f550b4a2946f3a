#!/bin/bash
# dump.sh PROGRAM CLIENT: dumps the database, restores the dump, dumps again; both dumps are printed
set -uo pipefail
program=$1 client=$2
echo "##version $("$program" --version | sed -E 's/^.*(Distrib|Ver) ([0-9][^ ,]*).*$/\2/')"
login=(--no-defaults "-h$DB_HOST" "-P$DB_PORT" "-u$DB_USER" "-p$DB_PASSWORD")
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
# the header tells the host, the end the time
dump() { "$program" "${login[@]}" --default-character-set=utf8mb4 "$@" 2>&1 | sed -E '/^-- (Host|Dump completed)/d; s/(Create|Update)_time="[^"]*"//g' | cut -c1-3000; }
dump --single-transaction --routines --triggers --events --hex-blob drv | tee "$folder/first.sql"
"$client" "${login[@]}" -e 'DROP DATABASE drv; CREATE DATABASE drv CHARACTER SET utf8mb4' || echo "drop failed"
"$program" "${login[@]}" --version >/dev/null
"$client" "${login[@]}" --default-character-set=utf8mb4 drv <"$folder/first.sql" || echo "restore failed"
dump --single-transaction --routines --triggers --events --hex-blob drv >"$folder/second.sql"
if cmp -s "$folder/first.sql" "$folder/second.sql"; then echo "the restored database is the same"; else diff "$folder/first.sql" "$folder/second.sql"; fi
echo "##sync"; read -r _
dump --lock-tables --skip-extended-insert --no-create-info drv
dump --xml --where='n < 20' drv numbers
dump --lock-all-tables --no-data drv
dump no_such_database
echo "##end"
