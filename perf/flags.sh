#!/bin/bash
# flags.sh    what a release build gives to rustc besides $RUSTFLAGS: the profile of perf/profile.sh, where the compiler can
#             read it. Another LLVM may refuse the file; then, and with UMPIRE_PROFILE=off, the build goes without.
cd "$(dirname "$0")" || exit 1
mine=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
profile=$(cat umpire.profdata.llvm)
if [ "${UMPIRE_PROFILE:-}" = off ]; then
  echo "without the profile: UMPIRE_PROFILE is off" >&2
elif [ "$mine" != "$profile" ]; then
  echo "without the profile, which is of LLVM $profile: rustc has LLVM $mine" >&2
elif [[ $PWD =~ [[:space:]] ]]; then
  echo "without the profile: rustc's flags cannot name a file in a folder with a space in its name" >&2
else
  echo "-Cprofile-use=$PWD/umpire.profdata -Cllvm-args=-pgo-warn-missing-function=false"
fi
