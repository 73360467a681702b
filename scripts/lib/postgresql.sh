# shellcheck shell=bash
# Sourced by scripts/test and scripts/demo: installs Debian's PostgreSQL for the tests and the demo of a hub, which run a
# server of their own in a temporary folder. Without root or apt, those tests are skipped and listed at the end of the run.

# Argument: the consequence for the message if PostgreSQL cannot be installed.
ensure_postgresql() {
  local folder without=${1:-tests of a hub are skipped}
  for folder in /usr/lib/postgresql/*/bin; do [ -x "$folder/initdb" ] && return; done
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf 'licmond: PostgreSQL is missing, %s (Debian: apt-get install postgresql)\n' "$without" >&2
    return
  fi
  printf 'licmond: installing PostgreSQL …\n' >&2
  mkdir -p .tools
  install_postgresql >.tools/postgresql.log 2>&1 ||
    printf 'licmond: could not install PostgreSQL, %s; see .tools/postgresql.log\n' "$without" >&2
}

# Keep the package from creating and starting a database.
install_postgresql() {
  timeout 60 apt-get update || return
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common && printf 'create_main_cluster = false\n' >/etc/postgresql-common/createcluster.conf
  fi
  DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -y --no-install-recommends \
    -o Dpkg::Options::=--force-confold postgresql
}
