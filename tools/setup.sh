#!/usr/bin/env bash
# Installs the Debian packages that kvern needs, if some are missing.
#
#   tools/setup.sh build    to build and run kvern
#   tools/setup.sh test     also to build and run the tests (default)
#   tools/setup.sh ci       also for lint, clang-tidy and the fuzzers
#   tools/setup.sh peer     also for the tests labelled `peer`, which install other implementations; not where npm is there already
#   tools/setup.sh list X   prints the packages of X and does nothing
#
# Runs apt-get as root, through sudo where that is needed; does not touch apt when everything is there. What each package is
# for: docs/dependencies.md.
set -euo pipefail

build_packages=(
  g++ cmake ninja-build pkg-config git ca-certificates
  libhwy-dev libboost-json1.81-dev libfmt-dev libspdlog-dev libcli11-dev
  libpcre2-dev libutf8proc-dev libssl-dev libxxhash-dev libsqlite3-dev liburing-dev libhiredis-dev
)
test_packages=(python3 redis-server haproxy libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev)
peer_packages=(nodejs npm curl)
ci_packages=(ccache clang-19 clang-format-19 clang-tidy-19 libclang-rt-19-dev)

packages_of() {
  case "$1" in
    build) echo "${build_packages[@]}" ;;
    test) echo "${build_packages[@]}" "${test_packages[@]}" ;;
    peer) echo "${build_packages[@]}" "${test_packages[@]}" "${peer_packages[@]}" ;;
    ci) echo "${build_packages[@]}" "${test_packages[@]}" "${ci_packages[@]}" ;;
    *)
      echo "usage: tools/setup.sh [list] build|test|peer|ci" >&2
      exit 2
      ;;
  esac
}

missing_of() {
  for package in "$@"; do
    if [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]]; then
      echo "$package"
    fi
  done
}

if [[ "${1:-}" == list ]]; then
  packages_of "${2:-test}" | tr ' ' '\n'
  exit 0
fi

wanted="$(packages_of "${1:-test}")"
if ! command -v apt-get >/dev/null; then
  echo "No apt-get here. kvern needs what these Debian packages hold: $wanted" >&2
  exit 1
fi
# shellcheck disable=SC2086  # A list of names.
mapfile -t missing < <(missing_of $wanted)
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "All packages are there."
  exit 0
fi

as_root=()
if [[ "$(id -u)" -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "Not root and no sudo. As root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
