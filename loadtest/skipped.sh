#!/bin/bash
# The closing summary of `make test`: which tests could not run on this machine, and why.
cd "$(dirname "$0")/.." || exit 1
log=${CARGO_TARGET_DIR:-target}/tmp/skipped.log
if [ -s "$log" ]; then
  echo "$(wc -l <"$log") test(s) SKIPPED:"
  cat "$log"
else
  echo "No test was skipped."
fi
