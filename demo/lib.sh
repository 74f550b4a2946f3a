# What the demos share. To be sourced in the repository's folder, with $what (the demo's name) and $ports (how many in a
# row it needs) set: gives $dir (a temporary folder, removed when all went well), $cluster, $umpire (made if need be) and
# $base (the first port), and stops on exit what was started: $proxy, and the servers in the folders of $dir.
umask 077     # the configuration holds passwords
PATH=$PATH:/usr/sbin
cluster=tests/servers/cluster.sh
dir=$(mktemp -d "/tmp/umpire-$what-XXXXXX")
proxy=''
started=$(date +%s)

say() { printf '[%3d s] %s\n' $(($(date +%s) - started)) "$*"; }

finish() {
  local status=$? servers
  [ -z "$proxy" ] || kill "$proxy" 2>/dev/null || true
  [ -z "$proxy" ] || wait "$proxy" 2>/dev/null || true
  for servers in "$dir"/servers*; do
    [ ! -d "$servers" ] || $cluster stop "$servers" || true
  done
  if [ $status = 0 ]; then rm -rf "$dir"; else echo "The demo failed; its files are in $dir" >&2; fi
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
free_base() { # as many free ports in a row as are needed
  local base port
  for base in $(seq 23306 10 24306); do
    for port in $(seq "$base" $((base + ports - 1))); do
      if listening "$port"; then continue 2; fi
    done
    echo "$base"; return
  done
  echo "no $ports free ports in a row between 23306 and 24315" >&2; return 1
}

umpire=${UMPIRE:-}
if [ -z "$umpire" ]; then
  say "building umpire (release; a few minutes the first time)"
  command -v cargo >/dev/null || { echo "cargo is missing: install a Rust toolchain (https://rustup.rs)" >&2; exit 1; }
  make --silent build
  umpire=${CARGO_TARGET_DIR:-target}/release/umpire
fi
base=$(free_base)
