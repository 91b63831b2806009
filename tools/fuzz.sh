#!/usr/bin/env bash
# Builds the fuzzers (preset fuzz) and runs each for some seconds: tools/fuzz.sh [SECONDS] [NAME...]
#
# New inputs go to build/fuzz/found/<name>; the kept ones in fuzz/corpus/<name> are not written to. A finding is left as
# build/fuzz/found/<name>/crash-*; copy it to fuzz/corpus/<name> together with the repair.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds="${1:-60}"
shift || true
cmake --preset fuzz >/dev/null
if [[ $# -gt 0 ]]; then
  names=("$@")
else
  mapfile -t names < <(find fuzz -maxdepth 1 -name '*_fuzz.cc' -printf '%f\n' | sed 's/_fuzz\.cc$//' | sort)
fi
cmake --build build/fuzz --target "${names[@]/%/_fuzz}"
for name in "${names[@]}"; do
  found="build/fuzz/found/$name"
  mkdir -p "$found"
  echo "== $name, $seconds s"
  corpus=()
  if [[ -d "fuzz/corpus/$name" ]]; then corpus=("fuzz/corpus/$name"); fi
  dictionary=()
  if [[ -f "fuzz/$name.dict" ]]; then dictionary=("-dict=fuzz/$name.dict"); fi
  "build/fuzz/fuzz/${name}_fuzz" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$found/" "${dictionary[@]}" "$found" "${corpus[@]}" 2>&1 |
    grep -E '^(==|stat::number_of_executed_units|stat::peak_rss_mb|SUMMARY|.*(ERROR|artifact))' || [[ "${PIPESTATUS[0]}" -eq 0 ]]
done
