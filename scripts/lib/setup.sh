# shellcheck shell=bash
# Sourced by the scripts beside this folder: puts the pinned Bun and the dependencies in place, once.
#
# Needs Bun (any version) or npm (8 or newer), and the network the first time only. Says nothing when there is
# nothing to do. Afterwards the shell stands in the project's root and `bun` is the pinned one.
#
#   .tools/           the pinned Bun, fetched by whichever package manager is there
#   node_modules/     the dependencies, exactly as bun.lock has them; `.installed` in it says for which lock file

setup_fail() {
  printf 'licmond: %s\n' "$@" >&2
  exit 1
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# A preload or a dependency on the caller's environment would make every machine build something else.
unset BUN_OPTIONS BUN_INSPECT BUN_INSPECT_CONNECT_TO NODE_OPTIONS

# Accounts of services have no home, and package managers want one for their caches.
if [ ! -w "${HOME:-/nonexistent}" ]; then
  HOME=$PWD/.tools/home
  export HOME
  mkdir -p "$HOME" || exit 1
fi

pinned_bun=$(sed -n 's/^ *"packageManager": *"bun@\([0-9][0-9.]*\)".*/\1/p' package.json)
[ -n "$pinned_bun" ] || setup_fail 'package.json has no "packageManager": "bun@<version>", so the version of Bun to use is unknown.'

# The binaries that a Bun package may have brought, the likeliest first. npm 11 does not run the package's
# install script (which moves the platform's binary into place), and older npm brings binaries for other
# C libraries and CPUs too: the one to use is the one that runs here.
find_pinned_bun() {
  local candidate
  for candidate in .tools/node_modules/bun/bin/bun.exe .tools/node_modules/@oven/bun-*/bin/bun; do
    [ -x "$candidate" ] || continue
    if [ "$("$candidate" --version 2>/dev/null)" = "$pinned_bun" ]; then
      mkdir -p .tools/bin && ln -sf "../${candidate#.tools/}" .tools/bin/bun
      return
    fi
  done
  return 1
}

fetch_pinned_bun() {
  mkdir -p .tools
  # A package of its own, so that no package manager takes this for the project and rewrites its files.
  printf '{ "name": "licmond-tools", "private": true, "dependencies": { "bun": "%s" } }\n' "$pinned_bun" >.tools/package.json
  rm -rf .tools/node_modules .tools/bun.lock .tools/bun.lockb .tools/package-lock.json
  if command -v bun >/dev/null 2>&1; then
    printf 'licmond: fetching Bun %s with the Bun on this machine (%s) …\n' "$pinned_bun" "$(bun --version)" >&2
    (cd .tools && bun install --no-save) >.tools/install.log 2>&1
  elif command -v npm >/dev/null 2>&1; then
    printf 'licmond: fetching Bun %s with npm %s …\n' "$pinned_bun" "$(npm --version)" >&2
    (cd .tools && npm install --no-save --no-package-lock --no-audit --no-fund) >.tools/install.log 2>&1
  else
    setup_fail 'neither Bun nor npm is on $PATH; one of them is needed to fetch Bun '"$pinned_bun"'.' \
      'On Debian: apt install npm'
  fi || { cat .tools/install.log >&2; setup_fail "could not fetch Bun $pinned_bun; what the package manager said stands above."; }
}

if [ "$(.tools/bin/bun --version 2>/dev/null)" != "$pinned_bun" ]; then
  find_pinned_bun || {
    fetch_pinned_bun
    find_pinned_bun || {
      cat .tools/install.log >&2
      setup_fail "Bun $pinned_bun was fetched, but none of its binaries runs on this machine ($(uname -sm))."
    }
  }
fi

PATH=$PWD/.tools/bin:$PATH
export PATH

wanted_dependencies="bun $pinned_bun, bun.lock $(cksum <bun.lock), package.json $(cksum <package.json)"
if [ "$(cat node_modules/.installed 2>/dev/null)" != "$wanted_dependencies" ]; then
  printf 'licmond: installing the dependencies of bun.lock …\n' >&2
  bun install --frozen-lockfile >.tools/install.log 2>&1 || {
    cat .tools/install.log >&2
    setup_fail 'could not install the dependencies; what Bun said stands above.'
  }
  printf '%s\n' "$wanted_dependencies" >node_modules/.installed
fi
