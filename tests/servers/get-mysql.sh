#!/bin/bash
# get-mysql.sh          Makes a real (Oracle) MySQL server runnable without installing it, and prints its folder.
# get-mysql.sh suite    The same with MySQL's own test suite, in a folder of its own: root/usr/lib/mysql-test has mtr.
#
# Debian 12 has no MySQL server, sid has one. Its packages are downloaded with apt's own settings (mirror,
# proxy, keys) into a private apt state, and unpacked with their own C library into a cache folder. Nothing
# of the system changes. The folder then holds bin/mysqld, bin/mysql, and data/, an initialised data
# folder with the accounts of the tests.
#
# Cache: $UMPIRE_MYSQL_DIR, or ${XDG_CACHE_HOME:-~/.cache}/umpire-tests/mysql (290 MB); with the suite, the same name
# and -suite (1.4 GB).
# Exit code 3: it cannot be had here; the reason is on stderr.
set -euo pipefail
CACHE=${UMPIRE_MYSQL_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/umpire-tests/mysql}
SUITE=${UMPIRE_MYSQL_SUITE:-sid}
PACKAGES=(mysql-server-core mysql-client-core) SIZE=70
TESTS=''
[ "${1:-}" != suite ] || { TESTS=yes CACHE=$CACHE-suite SIZE=410; PACKAGES+=(mysql-testsuite); }

# A failure is remembered for an hour: a test run asks several times.
cannot() { echo "get-mysql.sh: $*" | tee "$CACHE.failed" >&2; exit 3; }
say() { echo "get-mysql.sh: $*" >&2; }

if [ -e "$CACHE/ready" ]; then echo "$CACHE"; exit 0; fi
mkdir -p "$(dirname "$CACHE")"
exec 9>"$CACHE.lock"
flock 9
if [ -e "$CACHE/ready" ]; then echo "$CACHE"; exit 0; fi

if [ -n "$(find "$CACHE.failed" -mmin -60 2>/dev/null)" ]; then
  cat "$CACHE.failed" >&2; echo "get-mysql.sh: (remove $CACHE.failed to try again at once)" >&2; exit 3
fi
rm -f "$CACHE.failed"

[ "$(uname -m)" = x86_64 ] || cannot "made for x86_64 only"
for program in apt-get dpkg-deb tar ${TESTS:+patchelf}; do
  command -v $program >/dev/null || cannot "needs $program (Debian or Ubuntu)"
done
KEYS=/usr/share/keyrings/debian-archive-keyring.gpg
[ -e $KEYS ] || cannot "needs the package debian-archive-keyring"

rm -rf "$CACHE"
APT=$CACHE/apt ROOT=$CACHE/root
mkdir -p "$APT"/{lists/partial,cache/archives/partial,etc} "$ROOT" "$CACHE/bin"
trap 'rc=$?; [ -e "$CACHE/ready" ] || rm -rf "$CACHE"; exit $rc' EXIT

mirror() { # the first Debian mirror that this system's apt is configured with
  cat /etc/apt/sources.list.d/*.sources 2>/dev/null | sed -n 's/^URIs: *\([^ ]*\).*/\1/p' | grep -m1 '/debian/*$' && return
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' | grep -m1 '/debian/*$'
}
MIRROR=$(mirror) || cannot "apt has no Debian mirror configured"

echo "deb [signed-by=$KEYS] $MIRROR $SUITE main" >"$APT/etc/sources.list"
: >"$APT/etc/status"     # nothing counts as installed: apt resolves every library
cat >"$APT/etc/apt.conf" <<CONF
Dir::Etc::sourcelist "$APT/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$APT/lists";
Dir::State::status "$APT/etc/status";
Dir::State::extended_states "$APT/etc/extended";
Dir::Cache "$APT/cache";
APT::Update::Post-Invoke-Success "";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "30";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
CONF
[ "$(id -u)" != 0 ] || echo 'APT::Sandbox::User "root";' >>"$APT/etc/apt.conf"
export APT_CONFIG=$APT/etc/apt.conf

say "downloading MySQL from the $SUITE suite (once; about $SIZE MB)"
apt-get update -qq </dev/null >&2 || cannot "the package lists of $SUITE cannot be fetched"
apt-get install -y -qq --download-only --no-install-recommends "${PACKAGES[@]}" \
  </dev/null >&2 || cannot "mysql-server-core cannot be fetched from $SUITE"
unset APT_CONFIG

say "unpacking"
for package in "$APT"/cache/archives/*.deb; do
  case ${package##*/} in perl* | libperl* | libdb5* | libgdbm* | libc-gconv*) continue ;; esac
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$ROOT" --exclude=./usr/share/doc --exclude=./usr/share/man \
    --exclude=./usr/share/locale --exclude=./usr/share/lintian --exclude=./usr/share/bash-completion
done
rm -rf "$APT"
for program in sbin/mysqld bin/mysql bin/mysqladmin; do   # run under the unpacked C library, not the system's
  [ -e "$ROOT/usr/$program" ] || cannot "the packages hold no $program"
  cat >"$CACHE/bin/${program##*/}" <<RUN
#!/bin/sh
exec "$ROOT/usr/lib64/ld-linux-x86-64.so.2" --argv0 "$ROOT/usr/$program" --library-path "$ROOT/usr/lib/x86_64-linux-gnu" "$ROOT/usr/$program" "\$@"
RUN
  chmod +x "$CACHE/bin/${program##*/}"
done

if [ -n "$TESTS" ]; then    # mtr starts programs by their paths: each finds the unpacked C library by itself
  for program in "$ROOT"/usr/lib/mysql-test/bin/*; do
    [ -L "$program" ] || ln -sf "../lib/mysql-test/bin/${program##*/}" "$ROOT/usr/bin/"
  done
  for program in "$ROOT"/usr/{sbin/mysqld,bin/*,lib/mysql-test/bin/*}; do
    [ -f "$program" ] && [ ! -L "$program" ] || continue
    head -c4 "$program" | grep -q ELF || continue
    patchelf --set-interpreter "$ROOT/usr/lib64/ld-linux-x86-64.so.2" --force-rpath \
      --set-rpath "$ROOT/usr/lib/x86_64-linux-gnu" "$program" || cannot "patchelf fails for ${program##*/}"
  done
  [ -e "$ROOT/usr/lib/mysql-test/mysql-test-run.pl" ] || cannot "the packages hold no mysql-test-run.pl"
  touch "$CACHE/ready"
  echo "$CACHE"
  exit 0
fi

cat >"$CACHE/options" <<OPTIONS
--no-defaults
--user=$(id -un)
--basedir=$ROOT/usr
--lc-messages-dir=$ROOT/usr/share/mysql
--character-sets-dir=$ROOT/usr/share/mysql/charsets
--plugin-dir=$ROOT/usr/lib/mysql/plugin
--innodb-redo-log-capacity=8M
--innodb-buffer-pool-size=48M
--performance-schema=OFF
--mysqlx=OFF
--secure-file-priv=
OPTIONS
mapfile -t options <"$CACHE/options"

say "initialising"
"$CACHE/bin/mysqld" "${options[@]}" --datadir="$CACHE/data" --initialize-insecure >"$CACHE/init.log" 2>&1 ||
  cannot "mysqld --initialize fails: $(tail -3 "$CACHE/init.log")"
SOCKET=$(mktemp -u /tmp/umpire-mysql-XXXXXX)
"$CACHE/bin/mysqld" "${options[@]}" --datadir="$CACHE/data" --socket="$SOCKET" --skip-networking --disable-log-bin \
  </dev/null >"$CACHE/init.log" 2>&1 &
server=$!
client() { "$CACHE/bin/mysql" --no-defaults -uroot -S "$SOCKET" "$@"; }
for _ in $(seq 300); do client -e 'do 0' >/dev/null 2>&1 && break; sleep .1; done
client <<'SQL' || cannot "the accounts cannot be made: $(tail -3 "$CACHE/init.log")"
create user app@'%' identified with caching_sha2_password by 'apppw';
create user app2@'%' identified with caching_sha2_password by 'app2pw';
grant all on *.* to app@'%'; grant all on *.* to app2@'%';
revoke super, connection_admin on *.* from app@'%', app2@'%';
create user monitor@'%' identified with caching_sha2_password by 'monitorpw';
grant replication client on *.* to monitor@'%';
create user repl@'%' identified with caching_sha2_password by 'replpw';
grant replication slave on *.* to repl@'%';
create database app; create database other; create database sbtest;
SQL
kill $server; wait $server || true
rm -f "$CACHE/data/auto.cnf"        # each copy makes a server id of its own
touch "$CACHE/ready"
echo "$CACHE"
