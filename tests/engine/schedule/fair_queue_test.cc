#include "engine/schedule/fair_queue.h"

#include <algorithm>
#include <array>
#include <deque>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvern::engine {
namespace {

using testing::ElementsAre;

TEST(FairQueue, is_first_in_first_out_for_one_client) {
  FairQueue queue;
  for (const QueueItem item : {5, 3, 9}) queue.push("a", item);
  EXPECT_THAT(queue.items(), ElementsAre(5, 3, 9));
  EXPECT_EQ(queue.next(), 5U);
  EXPECT_TRUE(queue.remove("a", 3));  // cancelled
  EXPECT_FALSE(queue.remove("a", 3));
  EXPECT_FALSE(queue.remove("b", 9));
  EXPECT_TRUE(queue.remove("a", 5));
  EXPECT_EQ(queue.next(), 9U);
  EXPECT_EQ(queue.size(), 1U);
}

TEST(FairQueue, serves_the_client_that_was_served_least) {
  FairQueue queue;
  for (QueueItem item = 0; item < 4; ++item) queue.push("greedy", item);
  queue.push("small", 4);
  EXPECT_EQ(queue.next(), 0U);  // both have nothing: who came first
  queue.remove("greedy", 0);
  queue.charge("greedy", {.prompt_tokens = 10});
  EXPECT_EQ(queue.next(), 4U);
  queue.charge("small", {.generated_tokens = 6});
  EXPECT_EQ(queue.counter("small"), 12);
  EXPECT_EQ(queue.next(), 1U);
}

TEST(FairQueue, gives_nothing_for_time_without_requests) {
  FairQueue queue;
  queue.push("busy", 1);
  queue.charge("busy", {.prompt_tokens = 1000});
  queue.push("late", 2);  // lifted to the only one that waits
  EXPECT_EQ(queue.counter("late"), 1000);
  queue.remove("busy", 1);
  queue.remove("late", 2);
  queue.charge("late", {.prompt_tokens = 500});
  queue.push("later", 3);  // nobody waits: lifted to who was the last to
  EXPECT_EQ(queue.counter("later"), 1500);
}

TEST(FairQueue, forgets_clients_that_do_not_come_back) {
  FairQueue queue;
  for (QueueItem item = 0; item < 100'000; ++item) {
    const std::string client = std::to_string(item);
    queue.push(client, item);
    queue.remove(client, item);
    queue.charge(client, {.prompt_tokens = 1});
  }
  EXPECT_LT(queue.clients(), 5000U);
}

/// A server of some places: a request takes one step for its prompt and one for each token.
struct Simulation {
  struct Request {
    size_t client = 0;
    int64_t prompt = 0;
    int64_t tokens = 0;
  };
  static constexpr size_t kPlaces = 8;

  explicit Simulation(size_t clients) : served(clients, 0), order(clients) {}

  void arrive(const Request& request) {
    requests.push_back(request);
    queue.push(name(request.client), requests.size() - 1);
    order[request.client].push_back(requests.size() - 1);
  }
  void step() {
    while (running.size() < kPlaces && !queue.empty()) {
      const size_t id = queue.next().value();
      const Request& request = requests[id];
      // Order within a client is that of arrival.
      ASSERT_EQ(order[request.client].front(), id);
      order[request.client].pop_front();
      ASSERT_TRUE(queue.remove(name(request.client), id));
      charge(request.client, {.prompt_tokens = request.prompt});
      running.push_back(id);
    }
    for (const size_t id : running) {
      charge(requests[id].client, {.generated_tokens = 1});
      --requests[id].tokens;
    }
    ended += static_cast<size_t>(std::erase_if(running, [&](size_t id) { return requests[id].tokens == 0; }));
    ++now;
  }
  void charge(size_t client, const Service& service) {
    queue.charge(name(client), service);
    served[client] += kPromptWeight * service.prompt_tokens + kGeneratedWeight * service.generated_tokens;
  }
  static std::string name(size_t client) { return "client " + std::to_string(client); }

  FairQueue queue;
  std::vector<Request> requests;
  std::vector<size_t> running;
  std::vector<int64_t> served;
  std::vector<std::deque<size_t>> order;  // what waits, by client
  int64_t now = 0;
  size_t ended = 0;
};

// 10^5 arrivals of twelve clients: two that always have requests waiting, one with huge ones and one with
// tiny ones; the others come and go in bursts.
TEST(FairQueue, bounds_the_difference_in_service_and_starves_nobody) {
  constexpr size_t kClients = 12;
  constexpr size_t kArrivals = 100'000;
  constexpr int64_t kLongestPrompt = 400, kMostTokens = 60;
  // The bound of the paper's Theorem 4.4: 2 max(w_p L_input, w_q M), M being what one client's running rows
  // can generate.
  constexpr int64_t kBound =
      2 * std::max(kPromptWeight * kLongestPrompt,
                   kGeneratedWeight * kMostTokens * static_cast<int64_t>(Simulation::kPlaces));
  Simulation simulation(kClients);
  std::mt19937 random(7);
  const auto up_to = [&](int64_t most) {
    return static_cast<int64_t>(1 + random() % static_cast<uint64_t>(most));
  };
  int64_t least_lead = 0, most_lead = 0, smallest = 0, largest = 0;
  size_t arrivals = 0;
  while (arrivals < kArrivals) {
    for (const size_t client : {size_t{0}, size_t{1}}) {
      while (simulation.order[client].size() < 2 * Simulation::kPlaces) {
        simulation.arrive({.client = client,
                           .prompt = client == 0 ? kLongestPrompt : up_to(8),
                           .tokens = client == 0 ? up_to(kMostTokens) : up_to(3)});
        ++arrivals;
      }
    }
    if (random() % 16 == 0) {
      const size_t client = 2 + random() % (kClients - 2);
      for (int64_t i = up_to(12); i > 0; --i, ++arrivals) {
        simulation.arrive({.client = client, .prompt = up_to(kLongestPrompt), .tokens = up_to(kMostTokens)});
      }
    }
    simulation.step();
    const int64_t lead = simulation.served[0] - simulation.served[1];
    least_lead = std::min(least_lead, lead);
    most_lead = std::max(most_lead, lead);
    smallest = std::min(simulation.served[0], simulation.served[1]);
    largest = std::max(simulation.served[0], simulation.served[1]);
  }
  // Over every interval, as both wait all the time.
  EXPECT_LE(most_lead - least_lead, kBound);
  EXPECT_GT(smallest, 20 * kBound);  // the control: without the rule the tiny requests would get far less
  EXPECT_LT(largest - smallest, kBound);
  while (simulation.ended < simulation.requests.size()) simulation.step();
  EXPECT_TRUE(simulation.queue.empty());
}

TEST(FairQueue, gives_a_lone_request_its_turn_within_the_bound) {
  Simulation simulation(2);
  for (int i = 0; i < 2000; ++i) simulation.arrive({.client = 0, .prompt = 100, .tokens = 20});
  for (int i = 0; i < 500; ++i) simulation.step();
  simulation.arrive({.client = 1, .prompt = 100, .tokens = 20});
  const int64_t arrived = simulation.now;
  while (!simulation.order[1].empty()) simulation.step();
  EXPECT_LE(simulation.now - arrived, 21);  // as soon as any running request ends
}

TEST(FairQueue, serves_three_backlogged_clients_alike_whatever_they_ask) {
  Simulation simulation(3);
  const std::array<Simulation::Request, 3> kinds = {{{.client = 0, .prompt = 500, .tokens = 1},
                                                     {.client = 1, .prompt = 1, .tokens = 50},
                                                     {.client = 2, .prompt = 30, .tokens = 30}}};
  for (int step = 0; step < 20'000; ++step) {
    for (const auto& kind : kinds) {
      while (simulation.order[kind.client].size() < 2 * Simulation::kPlaces) simulation.arrive(kind);
    }
    simulation.step();
  }
  const auto [least, most] = std::ranges::minmax(simulation.served);
  EXPECT_LE(most - least, 2 * kGeneratedWeight * 50 * static_cast<int64_t>(Simulation::kPlaces));
}

}  // namespace
}  // namespace kvern::engine
