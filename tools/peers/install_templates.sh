#!/bin/sh
# Installs @huggingface/jinja, the engine of Hugging Face's JavaScript libraries, for the test that compares chat
# templates with it (label `peer`; KVERN_PEERS_DIR, build/<preset>/peers by default); another test runs this. Does nothing
# where it is there.
#
#   tools/peers/install_templates.sh DIRECTORY
set -eu
if [ $# -ne 1 ]; then
  echo "usage: $0 DIRECTORY" >&2
  exit 2
fi
mkdir -p "$1"
cd "$1"
version=0.5.11
if grep -qs "\"version\": \"$version\"" node_modules/@huggingface/jinja/package.json; then exit 0; fi
[ -f package.json ] || printf '{"private": true}\n' > package.json
npm install --no-audit --no-fund --silent "@huggingface/jinja@$version"
