# shellcheck shell=bash
# Sourced by scripts/test: downloads Debian's Prometheus (with promtool) and nginx for the tests that need them. They are
# unpacked into .cache, because installed packages would start services. If the download fails, those tests are skipped and
# listed at the end of the run.

ensure_prometheus() {
  ensure_programs prometheus /usr/bin/prometheus /usr/bin/promtool
}

ensure_nginx() {
  ensure_programs nginx /usr/sbin/nginx
}

# Arguments: the package, and the paths of its programs. They are put into .cache/<package>/.
ensure_programs() {
  local package=$1 folder=.cache/$1
  shift
  are_in '' "$@" || are_in "$folder" "${@##*/}" && return
  if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg >/dev/null 2>&1; then
    printf 'licmond: %s and apt-get are missing, tests with a real one are skipped\n' "$package" >&2
    return
  fi
  printf 'licmond: downloading %s for its tests …\n' "$package" >&2
  mkdir -p "$folder" .tools
  fetch_programs "$package" "$folder" "$@" >".tools/$package.log" 2>&1 ||
    printf 'licmond: could not download %s, tests with a real one are skipped; see .tools/%s.log\n' "$package" "$package" >&2
}

are_in() {
  local folder=${1:+$1/} program
  shift
  for program in "$@"; do [ -x "$folder$program" ] || return; done
}

# The package lists may be old or missing; only root can update them.
fetch_programs() {
  local package=$1 folder=$2 file
  shift 2
  download_package "$package" "$folder" || {
    [ "$(id -u)" = 0 ] && timeout 60 apt-get update && download_package "$package" "$folder"
  } || return
  for file in "$folder/$package"_*.deb; do
    # Unpack only the programs: the other files are links to scripts of other packages.
    dpkg --fsys-tarfile "$file" | tar -x -C "$folder" --strip-components=3 "${@/#/.}" || return
    rm -f "$file"
  done
}

download_package() {
  (cd "$2" && timeout 120 apt-get download "$1")
}
