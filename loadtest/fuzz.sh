#!/bin/bash
# fuzz.sh [SECONDS]    each fuzz target for so many seconds, from the captured exchanges on; a crash ends the run with
#                      its input named
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
if ! cargo fuzz --version >/dev/null 2>&1; then
  echo "Needs cargo-fuzz: cargo install cargo-fuzz" >&2
  exit 1
fi
export RUSTC_BOOTSTRAP=1     # lets the stable compiler take the sanitizer flags
folder=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
# the versions of the crates that are shipped
cp Cargo.lock fuzz/Cargo.lock
fuzz/seeds.py --corpus
for target in $(cargo fuzz list); do
  echo "== $target, $seconds s"
  cargo fuzz run --target-dir "$folder" "$target" -- \
    -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=3000 -print_final_stats=1
done
