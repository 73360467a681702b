# shellcheck shell=bash
# Sourced by scripts/test: Debian's Prometheus with promtool, and Debian's nginx, for the tests that work with a real one.
# They are unpacked into .cache and not installed: a package that is installed starts a service. Where they cannot be had,
# those tests are skipped, and the sum of the run names them.

ensure_prometheus() {
  ensure_programs prometheus /usr/bin/prometheus /usr/bin/promtool
}

ensure_nginx() {
  ensure_programs nginx /usr/sbin/nginx
}

# A package and its programs, each by its path: into .cache/<package>/.
ensure_programs() {
  local package=$1 folder=.cache/$1
  shift
  are_in '' "$@" || are_in "$folder" "${@##*/}" && return
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
    printf 'licmond: there is no %s and no apt-get: tests with a real one are skipped\n' "$package" >&2
    return
  fi
  printf 'licmond: fetching %s for its tests …\n' "$package" >&2
  mkdir -p "$folder" .tools
  fetch_programs "$package" "$folder" "$@" >".tools/$package.log" 2>&1 ||
    printf 'licmond: could not fetch %s, tests with a real one are skipped; .tools/%s.log says why\n' "$package" "$package" >&2
}

are_in() {
  local folder=${1:+$1/} program
  shift
  for program in "$@"; do [ -x "$folder$program" ] || return; done
}

# Lists of packages may be old or absent; only root may renew them.
fetch_programs() {
  local package=$1 folder=$2 file
  shift 2
  download_package "$package" "$folder" || {
    [ "$(id -u)" = 0 ] && timeout 60 apt-get update && download_package "$package" "$folder"
  } || return
  for file in "$folder/$package"_*.deb; do
    # The programs alone: the rest is links to scripts of other packages.
    dpkg --fsys-tarfile "$file" | tar -x -C "$folder" --strip-components=3 "${@/#/.}" || return
    rm -f "$file"
  done
}

download_package() {
  (cd "$2" && timeout 120 apt-get download "$1")
}
