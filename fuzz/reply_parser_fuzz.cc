// What a model writes, read as a reply: the first byte chooses the format, the rest is the text. However the
// text is cut, the reply must be the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/reply_parser.h"

namespace {

using kvern::engine::ReplyDelta;

/// All deltas, those of one kind and call joined, as one text.
std::string read(const kvern::engine::ReplyFormat& format, std::string_view text, size_t piece) {
  kvern::engine::ReplyParser parser(format);
  std::vector<ReplyDelta> deltas;
  for (size_t at = 0; at < text.size(); at += piece) parser.push(text.substr(at, piece), deltas);
  parser.finish(deltas);
  std::string all;
  const ReplyDelta* last = nullptr;
  for (const ReplyDelta& delta : deltas) {
    if (last == nullptr || last->kind != delta.kind || last->call != delta.call)
      all += "\n[" + std::to_string(static_cast<int>(delta.kind)) + " " + std::to_string(delta.call) + "]";
    all += delta.text;
    last = &delta;
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const uint8_t choice = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const kvern::engine::ReplyFormat format{.calls = static_cast<kvern::engine::ToolCallStyle>(choice % 4),
                                          .tools = {"get", "f"},
                                          .single_call = (choice & 16) != 0,
                                          .reasoning = (choice & 32) != 0,
                                          .begins_in_reasoning = (choice & 96) == 96};
  const std::string whole = read(format, text, size);
  if (read(format, text, 1) != whole || read(format, text, 3) != whole) __builtin_trap();
  // With nothing to look for, nothing is lost.
  if (choice % 4 == 0 && !format.reasoning && !text.empty() && whole != "\n[1 0]" + std::string(text))
    __builtin_trap();
  return 0;
}
