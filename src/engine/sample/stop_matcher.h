// Where generated text ends: stop ids, and stop strings that may lie across any number of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/sample/params.h"

namespace kvern::engine {

/// The ids after which a sequence ends (end of text, end of turn, what the user named). Immutable.
class StopTokens {
 public:
  StopTokens() = default;
  explicit StopTokens(std::vector<TokenId> tokens);
  bool contains(TokenId token) const;
  const std::vector<TokenId>& tokens() const { return tokens_; }

 private:
  std::vector<TokenId> tokens_;  // rising, each once
};

/// What a piece of text added.
struct StopUpdate {
  /// Text that is now certain not to be part of a stop string; may be empty.
  std::string text;
  /// Set once a stop string is complete: its index in the list given. Nothing follows.
  std::optional<size_t> matched;
};

/// Looks for stop strings in a stream of text. The stop string that is complete first wins; of several that
/// end at the same byte the longest, so that no part of any is given out. The text given out, joined, does
/// not depend on how the stream was cut into pieces. Only what could be the beginning of a stop string, or of
/// a UTF-8 character, is held back.
///
/// An automaton of Aho and Corasick ("Efficient string matching", CACM 1975): constant work for each byte on
/// average, and its depth is exactly the number of bytes to hold. One thread.
class StopMatcher {
 public:
  /// Without stop strings.
  StopMatcher();
  /// Errors (kInvalidArgument): an empty stop string, one that is not UTF-8, or more than 1 MiB in all.
  static Result<StopMatcher> create(const std::vector<std::string>& stops);

  /// Takes the next piece of the text, of any length and cut anywhere. After a match all text is ignored.
  StopUpdate push(std::string_view piece);
  /// The end of the text: gives out what was held, nothing after a match.
  std::string finish();

  size_t held_bytes() const { return held_.size(); }
  std::optional<size_t> matched() const { return matched_; }

 private:
  using NodeIndex = uint32_t;
  static constexpr NodeIndex kRoot = 0;
  static constexpr NodeIndex kNone = UINT32_MAX;
  static constexpr size_t kNoStop = SIZE_MAX;

  /// A beginning of one or more stop strings. Children form a list.
  struct Node {
    NodeIndex first_child = kNone;
    NodeIndex next_sibling = kNone;
    /// The node of the longest proper suffix that is a beginning too.
    NodeIndex suffix = kRoot;
    uint32_t depth = 0;
    /// The longest stop string that ends here, and its length.
    size_t stop = kNoStop;
    uint32_t stop_length = 0;
    char byte = 0;
  };

  void insert(std::string_view stop, size_t index);
  void link_suffixes();
  NodeIndex child(NodeIndex node, char byte) const;
  NodeIndex advance(NodeIndex node, char byte) const;

  std::vector<Node> nodes_;
  NodeIndex state_ = kRoot;
  std::string held_;
  std::optional<size_t> matched_;
};

}  // namespace kvern::engine
