#!/usr/bin/env bash
# clang-tidy (the checks of .clang-tidy) with clang's thread-safety analysis, over the sources of src/ or the files named:
#
#   tools/tidy.sh [--since COMMIT] [FILE...]
#
# --since: only sources that changed after COMMIT. What was clean once is not looked at again (tools/tidy_cached.py).
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
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 4 python3 tools/tidy_cached.py build/tidy
echo "tidy: ${#files[@]} files"
