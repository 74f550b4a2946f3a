#!/bin/bash
# deny.sh    cargo-deny on deny.toml: licences, bans and sources; known faults (advisories) where their database can be had
set -uo pipefail
cd "$(dirname "$0")/.."
if ! cargo deny --version >/dev/null 2>&1; then
  echo "Needs cargo-deny: cargo install --locked cargo-deny" >&2
  exit 1
fi
status=0
cargo deny --locked check licenses bans sources || status=1
if cargo deny fetch db >/dev/null 2>&1; then
  cargo deny --locked check advisories || status=1
else
  echo "NOT CHECKED: the advisory database (https://github.com/RustSec/advisory-db) cannot be reached" >&2
fi
exit $status
