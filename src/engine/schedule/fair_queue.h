// Whose turn it is: first in, first out within a client; between clients by what each has been served.
//
// The rule is the Virtual Token Counter of Sheng et al., "Fairness in Serving Large Language Models" (OSDI
// 2024), with its bound; docs/scheduling.md says it in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvern::engine {

/// Names something that waits; unique among what waits at a time.
using QueueItem = uint64_t;

/// What was done for a client.
struct Service {
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
};

/// A generated token costs a step of its own, a prompt token shares one: the paper's weights.
inline constexpr int64_t kPromptWeight = 1;
inline constexpr int64_t kGeneratedWeight = 2;

/// One thread.
///
/// The client that waits and has been served least is next. Of two clients that wait during the same time,
/// neither is served by more than 2 * max(kPromptWeight * P, kGeneratedWeight * G) more than the other, where
/// P is the longest prompt and G the most tokens that the running rows of one client can generate before all
/// of them have ended (Theorem 4.4 of the paper, with its M taken as G).
class FairQueue {
 public:
  /// At the end of its client's line. A client that has nothing waiting is lifted to the least counter of
  /// those that have, or to that of the client that was last to have: time without requests earns nothing.
  void push(std::string_view client, QueueItem item);
  /// What is served next: the first of the client with the least counter; at a tie, of the one whose first
  /// item has waited longest. Nothing when nothing waits.
  std::optional<QueueItem> next() const;
  /// Takes an item out, wherever it stands; false when it does not wait.
  bool remove(std::string_view client, QueueItem item);
  /// Counts service, whether the client waits for more or not.
  void charge(std::string_view client, const Service& service);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// What waits, in the order of arrival within each client.
  std::vector<QueueItem> items() const;
  /// The weighted service of a client, what it was lifted by included; 0 for one that is not known.
  int64_t counter(std::string_view client) const;
  /// Clients that are remembered: those that wait, and some that do not.
  size_t clients() const { return clients_.size(); }

 private:
  struct Waiting {
    QueueItem item = 0;
    uint64_t arrival = 0;
  };
  struct Client {
    int64_t counter = 0;
    std::deque<Waiting> line;
  };

  const Client* least() const;
  Client& known(std::string_view name);
  void forget_idle();

  std::unordered_map<std::string, Client> clients_;  // pointers to its values stay valid
  std::vector<const Client*> waiting_;               // those with a line
  size_t size_ = 0;
  uint64_t arrivals_ = 0;
  std::string last_left_;  // the client that was the last to leave the queue
};

}  // namespace kvern::engine
