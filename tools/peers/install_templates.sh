#!/bin/sh
# Installs @huggingface/jinja, the engine of Hugging Face's JavaScript libraries, for the test that compares chat
# templates with it (label `peer`; KVERN_PEERS_DIR, build/<preset>/peers by default).
#
#   tools/peers/install_templates.sh DIRECTORY
set -eu
if [ $# -ne 1 ]; then
  echo "usage: $0 DIRECTORY" >&2
  exit 2
fi
mkdir -p "$1"
cd "$1"
[ -f package.json ] || printf '{"private": true}\n' > package.json
npm install --no-audit --no-fund --silent @huggingface/jinja@0.5.11
