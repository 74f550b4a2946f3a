#!/bin/bash
# mydumper.sh: a dump by several connections at once, and its restore by myloader
set -uo pipefail
echo "##version $(mydumper --version | sed -E 's/^mydumper ([^,]*),.*$/\1/')"
login=(-h "$DB_HOST" -P "$DB_PORT" -u "$DB_USER" -p "$DB_PASSWORD")
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
# process, time and thread differ
steady() { sed -E 's/\(my(dumper|loader):[0-9]+\)//; s/[0-9:]{8}\.[0-9]+//; s/Thread [0-9]+.*//'; }
files() { (cd "$folder/$1" && find . -type f ! -name metadata -exec md5sum {} + | sort -k2); }
mydumper "${login[@]}" -B drv -o "$folder/first" -t 3 --triggers --routines 2>&1 | steady
files first
myloader "${login[@]}" -B drv -d "$folder/first" -t 2 -o 2>&1 | steady | sort -u
echo "##sync"; read -r _
mydumper "${login[@]}" -B drv -o "$folder/second" -t 3 --triggers --routines --trx-consistency-only 2>&1 | steady
files second
echo "##end"
