#!/bin/bash
# asan.sh [FILTER]    the library's tests with AddressSanitizer, in a build folder of their own. Reads and writes out of
#                     bounds, use after free and leaks end the run with their place.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1     # lets the stable compiler take the sanitizer's flag
export RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/asan
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/loadtest/lsan.supp:print_suppressions=0}
# the sanitizer's allocator takes the place of the one whose figures this test is about
cargo test --locked --target "$target" --lib -- --skip the_allocator_knows_of_what_is_in_use "$@"
