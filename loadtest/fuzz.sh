#!/bin/bash
# fuzz.sh [SECONDS]    each fuzz target for so many seconds; a crash ends the run with its input named
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[ -d fuzz ] || { echo "There are no fuzz targets (folder fuzz)." >&2; exit 1; }
if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
  echo "Needs a nightly toolchain and cargo-fuzz: rustup toolchain install nightly; cargo install cargo-fuzz" >&2
  exit 1
fi
for target in $(cargo +nightly fuzz list); do
  echo "== $target, $seconds s"
  cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -max_len=65536
done
