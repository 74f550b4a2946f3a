#!/bin/bash
# The closing summary of `make test`: which tests could not run on this machine, and why. Silent when
# all ran.
cd "$(dirname "$0")/.." || exit 1
log=${CARGO_TARGET_DIR:-target}/tmp/skipped.log
[ -s "$log" ] || exit 0
echo "$(wc -l <"$log") test(s) SKIPPED:"
cat "$log"
