#include "text/small_tokenizers.h"

#include "text/byte_level.h"

namespace kvern::test {

std::string byte_level_json(const std::vector<std::pair<std::string, std::string>>& merges,
                            const std::string& added_tokens, const std::string& extra) {
  json::object vocabulary;
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    std::string spelled;
    text::append_byte_characters(spelled, std::string_view(&raw, 1));
    vocabulary[spelled] = byte;
  }
  json::array merge_list;
  int64_t id = 256;
  for (const auto& [left, right] : merges) {
    merge_list.push_back(json::array{json::value(left), json::value(right)});
    vocabulary[left + right] = id++;
  }
  return bpe_json(R"("vocab": )" + to_json(vocabulary) + R"(, "merges": )" + to_json(merge_list),
                  R"(, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
                      "decoder": {"type": "ByteLevel"}, "added_tokens": )" +
                      added_tokens + extra);
}

}  // namespace kvern::test
