#include "engine/sample/stop_matcher.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/utf8.h"

namespace kvern::engine {
namespace {

constexpr size_t kMaxStopBytes = size_t{1} << 20;

Status check_stops(const std::vector<std::string>& stops) {
  size_t total = 0;
  for (size_t i = 0; i < stops.size(); ++i) {
    const auto where = fmt::format("stop[{}]", i);
    if (stops[i].empty()) return fail(ErrorCode::kInvalidArgument, "a stop string must not be empty", where);
    if (!is_valid_utf8(stops[i]))
      return fail(ErrorCode::kInvalidArgument, "a stop string must be UTF-8", where);
    total += stops[i].size();
    if (total > kMaxStopBytes)
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("the stop strings must not have more than {} bytes in all", kMaxStopBytes),
                  where);
  }
  return Ok{};
}

}  // namespace

StopTokens::StopTokens(std::vector<TokenId> tokens) : tokens_(std::move(tokens)) {
  std::ranges::sort(tokens_);
  const auto rest = std::ranges::unique(tokens_);
  tokens_.erase(rest.begin(), rest.end());
}

bool StopTokens::contains(TokenId token) const { return std::ranges::binary_search(tokens_, token); }

StopMatcher::StopMatcher() : nodes_(1) {}

Result<StopMatcher> StopMatcher::create(const std::vector<std::string>& stops) {
  KVERN_TRY_STATUS(check_stops(stops));
  StopMatcher matcher;
  for (size_t i = 0; i < stops.size(); ++i) matcher.insert(stops[i], i);
  matcher.link_suffixes();
  return matcher;
}

void StopMatcher::insert(std::string_view stop, size_t index) {
  NodeIndex node = kRoot;
  for (const char byte : stop) {
    NodeIndex next = child(node, byte);
    if (next == kNone) {
      next = static_cast<NodeIndex>(nodes_.size());
      nodes_.push_back(
          {.next_sibling = nodes_[node].first_child, .depth = nodes_[node].depth + 1, .byte = byte});
      nodes_[node].first_child = next;
    }
    node = next;
  }
  if (nodes_[node].stop != kNoStop) return;  // The same string twice: the first index stands.
  nodes_[node].stop = index;
  nodes_[node].stop_length = nodes_[node].depth;
}

// Breadth first: the suffix of a node is shorter, so it is complete when the node is reached.
void StopMatcher::link_suffixes() {
  std::vector<NodeIndex> queue{kRoot};
  for (size_t i = 0; i < queue.size(); ++i) {
    const NodeIndex parent = queue[i];
    for (NodeIndex at = nodes_[parent].first_child; at != kNone; at = nodes_[at].next_sibling) {
      Node& node = nodes_[at];
      if (parent != kRoot) node.suffix = advance(nodes_[parent].suffix, node.byte);
      const Node& suffix = nodes_[node.suffix];
      if (node.stop == kNoStop && suffix.stop != kNoStop) {
        node.stop = suffix.stop;
        node.stop_length = suffix.stop_length;
      }
      queue.push_back(at);
    }
  }
}

StopMatcher::NodeIndex StopMatcher::child(NodeIndex node, char byte) const {
  for (NodeIndex at = nodes_[node].first_child; at != kNone; at = nodes_[at].next_sibling)
    if (nodes_[at].byte == byte) return at;
  return kNone;
}

StopMatcher::NodeIndex StopMatcher::advance(NodeIndex node, char byte) const {
  while (true) {
    const NodeIndex next = child(node, byte);
    if (next != kNone) return next;
    if (node == kRoot) return kRoot;
    node = nodes_[node].suffix;
  }
}

StopUpdate StopMatcher::push(std::string_view piece) {
  if (matched_) return {.text = {}, .matched = matched_};
  // Without stop strings, most often nothing is held back.
  if (nodes_.size() == 1 && held_.empty() && incomplete_utf8_suffix(piece) == 0)
    return {.text = std::string(piece), .matched = {}};
  for (size_t i = 0; i < piece.size(); ++i) {
    held_.push_back(piece[i]);
    state_ = advance(state_, piece[i]);
    const Node& node = nodes_[state_];
    if (node.stop == kNoStop) continue;
    matched_ = node.stop;
    held_.resize(held_.size() - node.stop_length);
    return {.text = std::exchange(held_, {}), .matched = matched_};
  }
  size_t certain = held_.size() - nodes_[state_].depth;
  certain -= incomplete_utf8_suffix(std::string_view(held_).substr(0, certain));
  StopUpdate update{.text = held_.substr(0, certain), .matched = {}};
  held_.erase(0, certain);
  return update;
}

std::string StopMatcher::finish() {
  state_ = kRoot;
  return std::exchange(held_, {});
}

}  // namespace kvern::engine
