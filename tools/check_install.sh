#!/usr/bin/env bash
# Installs a built tree to a temporary prefix and builds the examples against it, through the CMake package and through pkg-config:
# tools/check_install.sh BUILD_FOLDER
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build="${1:?usage: tools/check_install.sh BUILD_FOLDER}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
model="$PWD/models/kvern-tiny-8m-q8_0.gguf"

cmake --install "$build" --prefix "$work/prefix" >/dev/null
"$work/prefix/bin/kvern" --version

echo "examples through find_package"
cmake -S examples -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/stream_text" "$model" "Once upon a time" 16
"$work/build/ask" "$model" "What is the color of the sky?"
"$work/build/many_chats" "$model" "What is the color of the sky?" "What is the name of the cat?"

echo "the state library alone, through find_package"
cmake -S examples -B "$work/state" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DKVERN_COMPONENTS=state >/dev/null
cmake --build "$work/state" >/dev/null
"$work/state/state_only"
"$work/state/state_from_c"
if cmake -S examples -B "$work/none" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DKVERN_COMPONENTS=magic &>/dev/null; then
  echo "a component that does not exist was found" >&2
  exit 1
fi

echo "examples through pkg-config"
libdir="$(dirname "$(find "$work/prefix" -name kvern.pc)")"
# shellcheck disable=SC2046  # Flags are words.
g++ -std=c++23 examples/stream_text.cc -o "$work/stream_text" \
  $(PKG_CONFIG_PATH="$libdir" pkg-config --cflags --libs kvern)
"$work/stream_text" "$model" "Once upon a time" 16
# shellcheck disable=SC2046  # Flags are words.
gcc -std=c11 examples/state_from_c.c -o "$work/state_from_c" \
  $(PKG_CONFIG_PATH="$libdir" pkg-config --cflags --libs kvern-state)
"$work/state_from_c"
