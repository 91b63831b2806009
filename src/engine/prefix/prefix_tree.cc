#include "engine/prefix/prefix_tree.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace kvern::engine {
namespace {

size_t common_length(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

PrefixTree::PrefixTree() : root_(std::make_unique<Node>()) {}

// Node by node: a chain may be as long as there are sequences.
PrefixTree::~PrefixTree() {
  std::vector<std::unique_ptr<Node>> nodes;
  nodes.push_back(std::move(root_));
  while (!nodes.empty()) {
    const std::unique_ptr<Node> node = std::move(nodes.back());
    nodes.pop_back();
    for (auto& [token, child] : node->children) nodes.push_back(std::move(child));
  }
}

PrefixTree::Sequence PrefixTree::lowest_of(const Node& node) {
  Sequence lowest;
  for (const Sequence& sequence : node.own) lowest = std::min(lowest, sequence);
  for (const auto& [token, child] : node.children) lowest = std::min(lowest, child->lowest);
  return lowest;
}

// Of a node whose own sequences or children changed, and of those above it.
void PrefixTree::update_lowest(Node* node) {
  for (; node != nullptr; node = node->parent) {
    const Sequence lowest = lowest_of(*node);
    if (lowest == node->lowest) return;
    node->lowest = lowest;
  }
}

PrefixTree::Node* PrefixTree::add_child(Node* node, std::span<const int32_t> tokens) {
  auto child = std::make_unique<Node>();
  child->tokens.assign(tokens.begin(), tokens.end());
  child->end = node->end + std::ssize(tokens);
  child->parent = node;
  return (node->children[tokens.front()] = std::move(child)).get();
}

// Divides a node behind its first `at` tokens, 0 < at < all: a new node for them, above the node.
PrefixTree::Node* PrefixTree::split(Node* node, size_t at) {
  std::unique_ptr<Node>& place = node->parent->children.at(node->tokens.front());
  auto upper = std::make_unique<Node>();
  const auto border = node->tokens.begin() + static_cast<std::ptrdiff_t>(at);
  upper->tokens.assign(node->tokens.begin(), border);
  upper->end = node->parent->end + static_cast<int64_t>(at);
  upper->parent = node->parent;
  upper->lowest = node->lowest;
  node->tokens.erase(node->tokens.begin(), border);
  node->parent = upper.get();
  upper->children[node->tokens.front()] = std::move(place);
  place = std::move(upper);
  return place.get();
}

// Puts a sequence whose tokens are those down to `node` and then these.
void PrefixTree::add(Node* node, std::span<const int32_t> tokens, const Sequence& sequence) {
  while (!tokens.empty()) {
    const auto next = node->children.find(tokens.front());
    if (next == node->children.end()) {
      node = add_child(node, tokens);
      break;
    }
    Node* child = next->second.get();
    const size_t common = common_length(child->tokens, tokens);
    node = common == child->tokens.size() ? child : split(child, common);
    tokens = tokens.subspan(common);
  }
  node->own.push_back(sequence);
  places_[sequence.id] = node;
  update_lowest(node);
}

void PrefixTree::insert(Id id, std::span<const int32_t> tokens, int64_t minimum) {
  KVERN_CHECK(!places_.contains(id) && minimum <= std::ssize(tokens));
  add(root_.get(), tokens, {.minimum = minimum, .id = id});
}

void PrefixTree::extend(Id id, std::span<const int32_t> more, int64_t minimum) {
  Node* node = places_.at(id);
  const Sequence sequence{.minimum = minimum, .id = id};
  const bool alone = node->own.size() == 1 && node->children.empty() && node != root_.get();
  if (alone || more.empty()) {
    node->tokens.insert(node->tokens.end(), more.begin(), more.end());
    node->end += std::ssize(more);
    *std::ranges::find(node->own, id, &Sequence::id) = sequence;
    update_lowest(node);
    return;
  }
  add(node, more, sequence);
  take_out(node, id);
}

void PrefixTree::take_out(Node* node, Id id) {
  node->own.erase(std::ranges::find(node->own, id, &Sequence::id));
  update_lowest(node);
  tidy(node);
}

void PrefixTree::erase(Id id) {
  Node* node = places_.at(id);
  places_.erase(id);
  take_out(node, id);
}

// Removes or joins a node that stands for nothing any more.
void PrefixTree::tidy(Node* node) {
  while (node != root_.get() && node->own.empty()) {
    if (node->children.size() > 1) return;
    if (node->children.size() == 1) return join_only_child(node);
    Node* parent = node->parent;
    parent->children.erase(node->tokens.front());
    node = parent;
  }
}

void PrefixTree::join_only_child(Node* node) {
  const std::unique_ptr<Node> child = std::move(node->children.begin()->second);
  node->tokens.insert(node->tokens.end(), child->tokens.begin(), child->tokens.end());
  node->end = child->end;
  node->children = std::move(child->children);
  node->own = std::move(child->own);
  for (const auto& [token, below] : node->children) below->parent = node;
  for (const Sequence& sequence : node->own) places_[sequence.id] = node;
}

PrefixTree::Match PrefixTree::find(std::span<const int32_t> prompt, int64_t limit) const {
  Match match;
  const Node* node = root_.get();
  std::span<const int32_t> rest = prompt;
  bool inside = false;  // the walk ended before the end of the node
  while (!rest.empty() && !inside) {
    const auto next = node->children.find(rest.front());
    if (next == node->children.end()) break;
    node = next->second.get();
    const size_t common = common_length(node->tokens, rest);
    inside = common < node->tokens.size();
    rest = rest.subspan(common);
  }
  match.common = std::ssize(prompt) - std::ssize(rest);
  if (!rest.empty() && (inside || !node->children.empty())) match.parting = match.common;

  // Everything below a node has what the walk has seen down to there. Going up, that gets shorter, so the
  // first node with a sequence that can be cut there is the best.
  int64_t matched = match.common;
  while (node != nullptr && node->lowest.minimum > std::min(matched, limit)) {
    node = node->parent;
    if (node != nullptr) matched = node->end;
  }
  if (node == nullptr) return match;
  match.tokens = std::min(matched, limit);
  const bool ends_there = !node->own.empty() && node->end == match.tokens;
  match.id = ends_there ? node->own.back().id : node->lowest.id;
  return match;
}

std::vector<PrefixTree::Id> PrefixTree::beginnings(Id id) const {
  std::vector<Id> found;
  for (const Node* node = places_.at(id)->parent; node != nullptr; node = node->parent) {
    for (const Sequence& sequence : node->own) found.push_back(sequence.id);
  }
  return found;
}

int64_t PrefixTree::length(Id id) const { return places_.at(id)->end; }

int64_t PrefixTree::minimum(Id id) const {
  return std::ranges::find(places_.at(id)->own, id, &Sequence::id)->minimum;
}

std::vector<int32_t> PrefixTree::tokens(Id id) const {
  const Node* node = places_.at(id);
  std::vector<int32_t> tokens(static_cast<size_t>(node->end));
  for (; node != nullptr; node = node->parent) {
    const int64_t begin = node->end - std::ssize(node->tokens);
    std::ranges::copy(node->tokens, tokens.begin() + begin);
  }
  return tokens;
}

}  // namespace kvern::engine
