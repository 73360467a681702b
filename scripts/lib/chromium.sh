# shellcheck shell=bash
# Sourced by scripts/test: installs Debian's Chromium for the tests in a browser. Without root or apt, those tests are
# skipped and listed at the end of the run.

ensure_chromium() {
  [ -x /usr/bin/chromium ] && return
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    printf 'licmond: /usr/bin/chromium is missing, tests in a browser are skipped (Debian: apt-get install chromium)\n' >&2
    return
  fi
  printf 'licmond: installing Chromium for the tests in a browser …\n' >&2
  mkdir -p .tools
  {
    timeout 60 apt-get update && DEBIAN_FRONTEND=noninteractive timeout 300 apt-get install -y --no-install-recommends chromium
  } >.tools/chromium.log 2>&1 ||
    printf 'licmond: could not install Chromium, tests in a browser are skipped; see .tools/chromium.log\n' >&2
}
