# shellcheck shell=bash
# Sourced by scripts/test: Debian's Prometheus with promtool, for the tests that a real one looks at. It is unpacked into
# .cache and not installed: a package that is installed starts a service. Where it cannot be had, those tests are
# skipped, and the sum of the run names them.

ensure_prometheus() {
  local folder=.cache/prometheus
  [ -x /usr/bin/prometheus ] && [ -x /usr/bin/promtool ] && return
  [ -x "$folder/prometheus" ] && [ -x "$folder/promtool" ] && return
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
    printf 'licmond: there is no prometheus and no apt-get: tests with a real Prometheus are skipped\n' >&2
    return
  fi
  printf 'licmond: fetching Prometheus for its tests …\n' >&2
  mkdir -p "$folder" .tools
  fetch_prometheus "$folder" >.tools/prometheus.log 2>&1 ||
    printf 'licmond: could not fetch Prometheus, tests with a real one are skipped; .tools/prometheus.log says why\n' >&2
}

# Lists of packages may be old or absent; only root may renew them.
fetch_prometheus() {
  download_prometheus "$1" || {
    [ "$(id -u)" = 0 ] && timeout 60 apt-get update && download_prometheus "$1"
  } || return
  local package
  for package in "$1"/prometheus_*.deb; do
    # The two programs alone: the rest is links to scripts of other packages.
    dpkg --fsys-tarfile "$package" | tar -x -C "$1" --strip-components=3 ./usr/bin/prometheus ./usr/bin/promtool || return
    rm -f "$package"
  done
}

download_prometheus() {
  (cd "$1" && timeout 120 apt-get download prometheus)
}
