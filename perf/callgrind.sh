#!/bin/bash
# callgrind.sh [--record] [STAGE…]    instructions of each pure stage of a turn, counted by callgrind
#
# Fails when a stage executes more than perf/ceilings.txt allows. --record: writes what was counted plus a tenth
# there instead; a ceiling that rises needs its reason in the file.
# The count is the difference between 3,000 and 1,000 repetitions, so that start and end do not matter. COUNT:
# the program (otherwise it is built).
set -euo pipefail
cd "$(dirname "$0")/.."
record=no
[ "${1:-}" != --record ] || { record=yes; shift; }
command -v valgrind >/dev/null || { echo "valgrind is missing: apt-get install -y --no-install-recommends valgrind libc6-dbg" >&2; exit 1; }
count=${COUNT:-}
if [ -z "$count" ]; then
  "${CARGO:-cargo}" build --release --locked --example count
  count=${CARGO_TARGET_DIR:-target}/release/examples/count
fi
ceilings=perf/ceilings.txt
scratch=$(mktemp -d /tmp/umpire-callgrind-XXXXXX)
trap 'rm -rf "$scratch"' EXIT

executed() { # stage times
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$count" "$1" "$2" 2>"$scratch/said" >/dev/null ||
    { tail -5 "$scratch/said" >&2; return 1; }
  awk '/Collected/ {print $4}' "$scratch/said"
}
ceiling() { awk -v stage="$1" '$1 == stage {print $2}' $ceilings; }

if [ $# -gt 0 ]; then stages=("$@"); else mapfile -t stages < <("$count"); fi
failed=0
printf '%-24s %12s %8s\n' stage instructions ceiling
for stage in "${stages[@]}"; do
  few=$(executed "$stage" 1000) many=$(executed "$stage" 3000)
  each=$(( (many - few + 1000) / 2000 ))
  allowed=$(ceiling "$stage")
  if [ $record = yes ]; then
    allowed=$((each + each / 10 + 2))
    if grep -q "^$stage " $ceilings; then sed -i "s/^$stage  *[0-9]*/$stage $allowed/" $ceilings
    else echo "$stage $allowed" >>$ceilings; fi
  fi
  verdict=''
  if [ -z "$allowed" ]; then verdict='no ceiling: record one'; failed=1
  elif [ "$each" -gt "$allowed" ]; then verdict='MORE THAN ALLOWED'; failed=1; fi
  printf '%-24s %12d %8s %s\n' "$stage" "$each" "${allowed:--}" "$verdict"
done
exit $failed
