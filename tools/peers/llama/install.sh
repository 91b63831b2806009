#!/bin/sh
# Installs llama.cpp as a peer: an oracle for the tests labelled `peer` and the other side of bench/compare. It is never
# a part of kvern.
#
#   tools/peers/llama/install.sh [DIRECTORY]        (build/peers/llama by default)
#
# Two npm packages have all of it: prebuilt libraries for each kind of CPU, and a git bundle of the sources they were built
# from, of which only the C headers are unpacked. No package that these depend on is needed, so they are fetched, not
# installed. Then peer_llama.cc and peer_loop.cc beside this script are compiled. Needs npm, git, tar and a C++20 compiler (CXX). Runs of
# an installed peer that is up to date do nothing.
set -eu
node_llama_version=3.22.1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
directory=${1:-$root/build/peers/llama}
case $(uname -m) in
  x86_64) platform=linux-x64 ;;
  aarch64) platform=linux-arm64 ;;
  *) echo "$0: there are no prebuilt libraries for $(uname -m)" >&2; exit 1 ;;
esac

mkdir -p "$directory"
cd "$directory"
directory=$(pwd)
stamp="node-llama-cpp $node_llama_version $platform"
if [ "$(cat installed 2>/dev/null || true)" != "$stamp" ]; then
  rm -rf packages include libraries version installed
  mkdir -p packages include
  (cd packages && npm pack --silent "node-llama-cpp@$node_llama_version" "@node-llama-cpp/$platform@$node_llama_version" >/dev/null)
  tar -xzf "packages/node-llama-cpp-$node_llama_version.tgz" -C packages package/llama/gitRelease.bundle \
    package/llama/llama.cpp.info.json
  git init --quiet --bare packages/source
  git -C packages/source fetch --quiet "$directory/packages/package/llama/gitRelease.bundle" HEAD
  git -C packages/source archive FETCH_HEAD include ggml/include | tar -x -C include
  mv include/include/* include/ggml/include/* include/
  sed -n 's/.*"tag": *"\([^"]*\)".*/\1/p' packages/package/llama/llama.cpp.info.json > version
  mkdir -p packages/binaries
  tar -xzf "packages/node-llama-cpp-$platform-$node_llama_version.tgz" -C packages/binaries
  mv "packages/binaries/package/bins/$platform" libraries
  rm -rf packages
  echo "$stamp" > installed
fi
# As an oracle it has one kind of kernels: which the processor at hand would get decides how it rounds.
mkdir -p oracle
case $platform in
  linux-x64) cp -u libraries/libggml-cpu-haswell.so oracle/ ;;
  *) cp -u libraries/libggml-cpu-*.so oracle/ ;;
esac
version=$(cat version)
for program in peer_llama peer_loop; do
  if [ -x $program ] && [ ! "$here/$program.cc" -nt $program ] && [ ! installed -nt $program ]; then continue; fi
  "${CXX:-c++}" -std=c++20 -O2 -Wall -Wextra -Iinclude "-DPEER_LLAMA_VERSION=\"$version\"" "$here/$program.cc" -o $program \
    "libraries/libllama.$version.so" "libraries/libggml.$version.so" libraries/libggml-base.so -Wl,-rpath,"$directory/libraries"
done
