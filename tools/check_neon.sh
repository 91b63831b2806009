#!/usr/bin/env bash
# Builds the kernels and the KV state for 64-bit Arm and runs their tests under qemu-user: NEON gives the bits that the
# scalar definitions in tests/support/reference give, as every x86 target does.
#
# Takes Debian's cross compiler, qemu and, unpacked beside the build, the arm64 builds of Highway, GoogleTest and what hashes need.
# Run as root: it asks dpkg for the arm64 package lists and gives that up again at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly out=build/neon
readonly root="$out/root"
mkdir -p "$root" "$out/packages"

if ! command -v aarch64-linux-gnu-g++-12 >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
  apt-get install -y -qq g++-12-aarch64-linux-gnu qemu-user-static
fi
if [ ! -d "$root/usr/include/hwy" ]; then
  dpkg --add-architecture arm64
  trap 'dpkg --remove-architecture arm64' EXIT
  apt-get update -qq
  (cd "$out/packages" && apt-get download -qq {libhwy-dev,libhwy1,libgtest-dev,libgmock-dev,libxxhash-dev,libxxhash0,libssl-dev,libssl3}:arm64)
  for package in "$out"/packages/*.deb; do dpkg -x "$package" "$root"; done
fi

readonly libraries="$root/usr/lib/aarch64-linux-gnu"
# -march: Highway counts the crypto extension to its NEON baseline. SVE registers have no size that C++ can store.
readonly flags="-std=c++23 -O2 -march=armv8-a+crypto -ffp-contract=off -fno-math-errno -Wall -Wextra
  -Wno-missing-field-initializers -Wno-restrict -Wno-maybe-uninitialized
  -DHWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_SCALAR|HWY_EMU128)
  -DKVERN_VERSION=\"0.1.0\" -DKVERN_SOURCE_DIR=\"$PWD\" -DKVERN_TEST_DATA_DIR=\"$PWD/tests/data\" -DKVERN_SHARED_DATA_DIR=\"/nonexistent\"
  -Isrc -Iinclude -Itests -I$root/usr/include -I$root/usr/include/aarch64-linux-gnu"
readonly sources="$(find src/compute src/state -name '*.cc') src/base/check.cc src/base/result.cc src/base/hash.cc tests/support/test_main.cc
  tests/support/reference/codec_reference.cc"
readonly tests="${*:-compute/fma_contract_test compute/cpu_target_test compute/kernels/activation_test
  compute/kernels/convert_test compute/kernels/matmul_exact_test compute/kernels/matmul_test compute/kernels/norm_test
  compute/kernels/rope_test compute/kernels/softmax_test compute/kernels/weights_test state/codec/codec_test state/codec/rotation_test
  state/codec/fp8_test state/codec/affine_test state/codec/turbo_test state/sequence/kv_cache_test}"

compile() {
  local object="$out/${1%.cc}.o"
  mkdir -p "$(dirname "$object")"
  if [ ! "$object" -nt "$1" ]; then
    $(command -v ccache || true) aarch64-linux-gnu-g++-12 $flags -c "$1" -o "$object"
  fi
}
export -f compile
export out flags
{ printf '%s\n' $sources; for test in $tests; do echo "tests/$test.cc"; done; } | xargs -P "$(nproc)" -I{} bash -c 'compile {}'

objects="$(for source in $sources; do echo "$out/${source%.cc}.o"; done)"
for test in $tests; do
  aarch64-linux-gnu-g++-12 "$out/tests/$test.o" $objects -L"$libraries" -lgtest -lgmock -lhwy -lxxhash -lcrypto -lpthread \
    -o "$out/$(basename "$test")"
  printf '%s: ' "$test"
  qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$libraries" "$out/$(basename "$test")" --gtest_brief=1 | tail -1
done
