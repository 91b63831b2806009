#!/usr/bin/env bash
# clang-tidy (the checks of .clang-tidy) with clang's thread-safety analysis, over the sources of src/ or the files named:
#
#   tools/tidy.sh [--since COMMIT] [FILE...]
#
# --since: only sources that changed after COMMIT.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset tidy >/dev/null
if [[ "${1:-}" == --since ]]; then
  mapfile -t files < <(git diff --name-only --diff-filter=d "$2" -- 'src/*.cc')
elif [[ $# -gt 0 ]]; then
  files=("$@")
else
  mapfile -t files < <(find src -name '*.cc' | sort)
fi
if [[ ${#files[@]} -eq 0 ]]; then
  echo "tidy: no file to check"
  exit 0
fi
# libstdc++ 12 implements std::stable_sort with a function that C++17 deprecated.
printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build/tidy --quiet --warnings-as-errors='*' --extra-arg=-Wno-deprecated-declarations 2> >(grep -v 'warnings generated' >&2 || true)
echo "tidy: ${#files[@]} files"
