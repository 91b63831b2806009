#!/bin/sh
# Installs ajv, a validator of JSON Schema, and the example grammars that llama.cpp publishes (from the npm package of
# node-llama-cpp), for the tests that compare grammars with them (label `peer`; KVERN_PEERS_DIR, build/<preset>/peers by
# default); another test runs this. Does nothing where all is there.
#
#   tools/peers/install_grammars.sh DIRECTORY
set -eu
if [ $# -ne 1 ]; then
  echo "usage: $0 DIRECTORY" >&2
  exit 2
fi
mkdir -p "$1"
cd "$1"
packages="ajv@8.17.1 ajv-formats@3.0.1"
examples="node-llama-cpp@3.14.2"
if [ "$(cat grammars.installed 2>/dev/null || true)" = "$packages $examples" ]; then exit 0; fi
[ -f package.json ] || printf '{"private": true}\n' > package.json
# shellcheck disable=SC2086  # A list of names.
npm install --no-audit --no-fund --silent $packages
archive=$(npm pack --silent "$examples")
rm -rf grammars
mkdir grammars
tar -xzf "$archive" -C grammars --strip-components=3 package/llama/grammars
rm "$archive"
echo "$packages $examples" > grammars.installed
