#include "text/grammar/free_text.h"

#include <algorithm>
#include <map>

#include "text/grammar/char_set.h"

namespace kvern::text::grammar {
namespace {

struct Node {
  std::map<char32_t, uint32_t> next;
  /// The node of the longest proper suffix that begins a string.
  uint32_t suffix = 0;
  /// Strings that are complete here.
  std::vector<size_t> complete;
};

class Matcher {
 public:
  explicit Matcher(const std::vector<std::string>& strings) : nodes_(1) {
    for (size_t i = 0; i < strings.size(); ++i) insert(strings[i], i);
    link();
  }

  FreeText build(Rules& rules) const {
    FreeText text;
    text.graph.vertices = static_cast<uint32_t>(nodes_.size());
    const CharSet others = CharSet(alphabet()).complement();
    for (uint32_t at = 0; at < nodes_.size(); ++at) {
      for (const size_t string : nodes_[at].complete) text.matches.push_back({at, string});
      if (!nodes_[at].complete.empty()) continue;
      text.free.push_back(at);
      std::map<uint32_t, std::vector<CharRange>> edges;
      for (const CharRange& c : alphabet()) edges[target(at, c.first)].push_back(c);
      for (const CharRange& range : others.ranges()) edges[0].push_back(range);
      for (auto& [to, ranges] : edges)
        text.graph.edges.push_back({at, to, rules.chars(CharSet(std::move(ranges)))});
    }
    return text;
  }

 private:
  void insert(std::string_view string, size_t index) {
    uint32_t at = 0;
    while (!string.empty()) {
      const DecodedChar c = decode_utf8(string);
      string.remove_prefix(c.length);
      const auto [edge, is_new] = nodes_[at].next.try_emplace(c.value, static_cast<uint32_t>(nodes_.size()));
      at = edge->second;
      if (is_new) nodes_.emplace_back();
    }
    nodes_[at].complete.push_back(index);
  }

  /// Breadth first, so that the suffix of a node is done before the node.
  void link() {
    std::vector<uint32_t> queue{0};
    for (size_t i = 0; i < queue.size(); ++i) {
      const uint32_t at = queue[i];
      for (const auto& [c, child] : nodes_[at].next) {
        queue.push_back(child);
        if (at != 0) nodes_[child].suffix = target(nodes_[at].suffix, c);
        const auto& inherited = nodes_[nodes_[child].suffix].complete;
        auto& complete = nodes_[child].complete;
        complete.insert(complete.end(), inherited.begin(), inherited.end());
      }
    }
  }

  uint32_t target(uint32_t at, char32_t c) const {
    while (true) {
      const auto edge = nodes_[at].next.find(c);
      if (edge != nodes_[at].next.end()) return edge->second;
      if (at == 0) return 0;
      at = nodes_[at].suffix;
    }
  }

  /// Each character of the strings by itself.
  std::vector<CharRange> alphabet() const {
    std::vector<CharRange> chars;
    for (const Node& node : nodes_)
      for (const auto& [c, child] : node.next)
        if (std::ranges::find(chars, CharRange{c, c}) == chars.end()) chars.push_back({c, c});
    return chars;
  }

  std::vector<Node> nodes_;
};

}  // namespace

FreeText free_text_until(const std::vector<std::string>& strings, Rules& rules) {
  return Matcher(strings).build(rules);
}

}  // namespace kvern::text::grammar
