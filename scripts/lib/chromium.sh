# shellcheck shell=bash
# Sourced by scripts/test: Debian's Chromium for the tests that run in a browser. Where it is not there and cannot be
# installed (no root, no apt), those tests are skipped, and the sum of the run names them.

ensure_chromium() {
  [ -x /usr/bin/chromium ] && return
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf 'licmond: there is no /usr/bin/chromium: tests in a browser are skipped (Debian: apt-get install chromium)\n' >&2
    return
  fi
  printf 'licmond: installing Chromium for the tests in a browser …\n' >&2
  mkdir -p .tools
  {
    timeout 60 apt-get update && DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -y --no-install-recommends chromium
  } >.tools/chromium.log 2>&1 ||
    printf 'licmond: could not install Chromium, tests in a browser are skipped; .tools/chromium.log says why\n' >&2
}
