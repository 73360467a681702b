# shellcheck shell=bash
# Sourced by the scripts in the parent folder: installs the pinned Bun and the dependencies if needed. Afterwards the
# working directory is the project's root and `bun` is the pinned version.
#
# Needs Bun (any version) or npm (8 or newer), and network for the first time. Prints nothing if all is installed.
#
#   .tools/           the pinned Bun, downloaded by Bun or npm
#   node_modules/     the dependencies in bun.lock; `.installed` identifies the lock file that they were installed from

setup_fail() {
  printf 'licmond: %s\n' "$@" >&2
  exit 1
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# Builds must not depend on the caller's options or preloads.
unset BUN_OPTIONS BUN_INSPECT BUN_INSPECT_CONNECT_TO NODE_OPTIONS

# Service accounts have no home, but package managers need one for their caches.
if [ ! -w "${HOME:-/nonexistent}" ]; then
  HOME=$PWD/.tools/home
  export HOME
  mkdir -p "$HOME" || exit 1
fi

pinned_bun=$(sed -n 's/^ *"packageManager": *"bun@\([0-9][0-9.]*\)".*/\1/p' package.json)
[ -n "$pinned_bun" ] || setup_fail 'package.json has no "packageManager": "bun@<version>", so the version of Bun to use is unknown.'

# Try each binary of the Bun package, the likeliest first. npm 11 does not run the package's install script, which
# moves the right binary into place; older npm also installs binaries for other C libraries and CPUs. Use the one that
# runs here.
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
  # A separate package, so that no package manager changes the project's files.
  printf '{ "name": "licmond-tools", "private": true, "dependencies": { "bun": "%s" } }\n' "$pinned_bun" >.tools/package.json
  rm -rf .tools/node_modules .tools/bun.lock .tools/bun.lockb .tools/package-lock.json
  if command -v bun >/dev/null 2>&1; then
    printf 'licmond: downloading Bun %s with the Bun on this machine (%s) …\n' "$pinned_bun" "$(bun --version)" >&2
    (cd .tools && bun install --no-save) >.tools/install.log 2>&1
  elif command -v npm >/dev/null 2>&1; then
    printf 'licmond: downloading Bun %s with npm %s …\n' "$pinned_bun" "$(npm --version)" >&2
    (cd .tools && npm install --no-save --no-package-lock --no-audit --no-fund) >.tools/install.log 2>&1
  else
    setup_fail 'neither Bun nor npm is on $PATH; one of them is needed to download Bun '"$pinned_bun"'.' \
      'On Debian: apt install npm'
  fi || { cat .tools/install.log >&2; setup_fail "could not fetch Bun $pinned_bun; see the output above."; }
}

if [ "$(.tools/bin/bun --version 2>/dev/null)" != "$pinned_bun" ]; then
  find_pinned_bun || {
    fetch_pinned_bun
    find_pinned_bun || {
      cat .tools/install.log >&2
      setup_fail "Bun $pinned_bun was downloaded, but none of its binaries runs on this machine ($(uname -sm))."
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
    setup_fail 'could not install the dependencies; see the output above.'
  }
  printf '%s\n' "$wanted_dependencies" >node_modules/.installed
fi
