#!/usr/bin/env bash
# Fails when a C++ file is not as clang-format-19 would write it. `tools/check_format.sh --fix` rewrites them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v clang-format-19 >/dev/null; then
  echo "skipped: clang-format-19 is not installed"
  exit 77
fi
mapfile -t files < <(find include src tests bench fuzz examples -name '*.h' -o -name '*.cc' 2>/dev/null | sort)
if [[ "${1:-}" == --fix ]]; then
  clang-format-19 -i "${files[@]}"
else
  clang-format-19 --dry-run -Werror "${files[@]}"
  echo "format: ${#files[@]} files"
fi
