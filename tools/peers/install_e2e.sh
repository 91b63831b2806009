#!/bin/sh
# Installs the clients that the tests labelled `e2e` run against a live server: the packages of tests/e2e/package.json, in
# exactly the versions of its lock file. Does nothing where they are there.
#
#   tools/peers/install_e2e.sh DIRECTORY
set -eu
if [ $# -ne 1 ]; then
  echo "usage: $0 DIRECTORY" >&2
  exit 2
fi
source="$(cd "$(dirname "$0")/../../tests/e2e" && pwd)"
mkdir -p "$1"
if cmp -s "$source/package-lock.json" "$1/installed-lock.json"; then exit 0; fi
cp "$source/package.json" "$source/package-lock.json" "$1/"
cd "$1"
npm ci --no-audit --no-fund --silent --ignore-scripts
cp package-lock.json installed-lock.json
