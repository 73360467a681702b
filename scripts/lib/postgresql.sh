# shellcheck shell=bash
# Sourced by scripts/test and scripts/demo: Debian's PostgreSQL for tests of a hub and for a demo of one, which start one of
# their own in a folder of their own. Where it is not there and cannot be installed (no root, no apt), those tests are skipped,
# and the sum of the run names them; the demo says what is missing.

# The words say what is not done without it.
ensure_postgresql() {
  local folder without=${1:-tests of a hub are skipped}
  for folder in /usr/lib/postgresql/*/bin; do [ -x "$folder/initdb" ] && return; done
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf 'licmond: there is no PostgreSQL: %s (Debian: apt-get install postgresql)\n' "$without" >&2
    return
  fi
  printf 'licmond: installing PostgreSQL …\n' >&2
  mkdir -p .tools
  install_postgresql >.tools/postgresql.log 2>&1 ||
    printf 'licmond: could not install PostgreSQL, %s; .tools/postgresql.log says why\n' "$without" >&2
}

# The package would make a database and start it.
install_postgresql() {
  timeout 60 apt-get update || return
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common && printf 'create_main_cluster = false\n' >/etc/postgresql-common/createcluster.conf
  fi
  DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -y --no-install-recommends \
    -o Dpkg::Options::=--force-confold postgresql
}
