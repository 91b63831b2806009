// GBNF from the wire: the input is a grammar, a NUL byte, and bytes that choose tokens.
#include "grammar_walk.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2048) return 0;
  static const auto vocabulary = kvern::fuzz::small_vocabulary();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = input.find('\0');
  const auto grammar = kvern::text::Grammar::from_gbnf(input.substr(0, split), vocabulary);
  if (!grammar && grammar.error().message.empty()) __builtin_trap();
  if (grammar && split != std::string_view::npos) kvern::fuzz::follow(*grammar, input.substr(split + 1));
  return 0;
}
