#!/bin/bash
# test.sh SECONDS    all tests; and beside them, with what they leave of the machine, every fuzz target's inputs and
#                    seeded changes of them for so many seconds. What failed is run again, alone: see again.py. What was
#                    skipped, and what failed once, is listed at the end.
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=$1
cargo=${CARGO:-cargo}
log=${CARGO_TARGET_DIR:-target}/tmp/fuzz.log
tests=${CARGO_TARGET_DIR:-target}/tmp/tests.log
$cargo test --locked --no-run || exit 1
UMPIRE_FUZZ_SECONDS=$seconds nice -n 19 $cargo test --locked --test fuzz -- --nocapture >"$log" 2>&1 &
fuzz=$!
trap 'kill $fuzz 2>/dev/null; exit 130' INT TERM
status=0
$cargo test --locked --no-fail-fast 2>&1 | tee "$tests"
tested=${PIPESTATUS[0]}
if wait $fuzz; then
  grep -E ' changes$' "$log"
else
  cat "$log"
  status=1
fi
loadtest/skipped.sh
[ $tested = 0 ] || loadtest/again.py "$tests" $cargo || status=1
exit $status
