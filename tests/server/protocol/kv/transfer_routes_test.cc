#include "server/protocol/kv/transfer_routes.h"

#include <condition_variable>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tiers/prefix_spaces.h"
#include "server/http/target.h"
#include "server/protocol/kv/routes.h"
#include "server/protocol/support/protocol_world.h"
#include "server/protocol/thread_executor.h"
#include "store/entries.h"
#include "support/result_matchers.h"

namespace kvern::server::kv {
namespace {

using store::test::tokens_of;

constexpr size_t kMost = 2;

/// A client that takes nothing until it is told to.
class SlowClient : public Exchange {
 public:
  explicit SlowClient(HttpRequest request) : request_(std::move(request)) {}

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override { finish(response.status, response.body); }
  void start_stream(HttpResponse head) override {
    const MutexLock lock(mutex_);
    status_ = head.status;
  }
  void write(std::string bytes) override {
    const MutexLock lock(mutex_);
    body_ += bytes;
    ++pieces_;
  }
  void end() override { finish(status_, ""); }
  void on_close(std::function<void()> /*callback*/) override {}
  size_t wait_for_room() override {
    const MutexLock lock(mutex_);
    waited_for_ = true;
    changed_.notify_all();
    while (!reads_) changed_.wait(mutex_);
    return gone_ ? 0 : 1000;
  }

  void wait_until_waited_for() {
    const MutexLock lock(mutex_);
    while (!waited_for_) changed_.wait(mutex_);
  }
  void read() {
    const MutexLock lock(mutex_);
    reads_ = true;
    changed_.notify_all();
  }
  void leave() {
    const MutexLock lock(mutex_);
    reads_ = gone_ = true;
    changed_.notify_all();
  }
  /// The whole body.
  std::string read_all() {
    read();
    const MutexLock lock(mutex_);
    while (!ended_) changed_.wait(mutex_);
    return body_;
  }
  int status() const {
    const MutexLock lock(mutex_);
    return status_;
  }
  int pieces() const {
    const MutexLock lock(mutex_);
    return pieces_;
  }

 private:
  void finish(int status, const std::string& body) {
    const MutexLock lock(mutex_);
    status_ = status;
    body_ += body;
    ended_ = true;
    changed_.notify_all();
  }

  const HttpRequest request_;
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  int status_ KVERN_GUARDED_BY(mutex_) = 0;
  int pieces_ KVERN_GUARDED_BY(mutex_) = 0;
  std::string body_ KVERN_GUARDED_BY(mutex_);
  bool waited_for_ KVERN_GUARDED_BY(mutex_) = false;
  bool reads_ KVERN_GUARDED_BY(mutex_) = false;
  bool gone_ KVERN_GUARDED_BY(mutex_) = false;
  bool ended_ KVERN_GUARDED_BY(mutex_) = false;
};

class TransferRoutesTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(store_, place_.open());
    const auto& engine = test::bundled_engine();
    ASSERT_OK_AND_ASSIGN(
        saved_,
        engine::SavedPrefixes::create(
            {.store = *store_, .files = *place_.files, .clock = place_.clock, .directory = "kv"}, engine));
    store::PrefixIdentity identity = *engine::prefix_identity(engine);
    identity.tenant = ProtocolContext::name_space({}, "");
    const auto space =
        std::make_shared<const store::PrefixSpace>(store::make_prefix_space(std::move(identity)));
    std::vector<int32_t> tokens = tokens_of(200, 1);
    for (int32_t& token : tokens) token %= 4000;  // those that the model has
    ASSERT_OK(store_->put(store::test::make_entry(space, tokens)));
    ASSERT_OK_AND_ASSIGN(const auto prefixes, saved_->list(ProtocolContext::name_space({}, "")));
    name_ = prefixes.at(0).name;
    world_.context.saved = saved_.get();
    world_.context.limits.max_exports = kMost;
    add_routes(router_, world_.context, {.patient = world_.executor, .transfers = transfers_});
  }

  std::shared_ptr<SlowClient> ask(const std::string& method, const std::string& path, std::string body = {}) {
    const auto target = parse_target(path);
    const Router::Match match = router_.find(method, target->segments);
    auto client = std::make_shared<SlowClient>(HttpRequest{.method = method,
                                                           .path = target->path,
                                                           .query = target->query,
                                                           .body = std::move(body),
                                                           .path_values = match.path_values});
    match.route->handler(client);
    return client;
  }
  std::shared_ptr<SlowClient> begin_export() { return ask("GET", "/v1/kv/prefixes/" + name_ + "/export"); }
  /// For which a place may still have to become free, when the one before has just ended.
  std::shared_ptr<SlowClient> export_when_possible() {
    for (;;) {
      auto client = begin_export();
      client->read_all();
      if (client->status() != 503) return client;
      std::this_thread::yield();
    }
  }

  store::test::Place place_;
  std::unique_ptr<store::DiskStore> store_;
  std::unique_ptr<engine::SavedPrefixes> saved_;
  std::string name_;
  test::ProtocolWorld world_;
  Router router_;
  store::test::MemoryLog log_;
  ThreadExecutor transfers_{kMost, log_};
};

TEST_F(TransferRoutesTest, a_client_that_does_not_read_keeps_nobody_waiting) {
  const auto slow = begin_export();
  slow->wait_until_waited_for();
  const auto quick = begin_export();
  const std::string file = quick->read_all();
  EXPECT_EQ(quick->status(), 200);
  EXPECT_GT(file.size(), 1000U);
  const auto import = ask("POST", "/v1/kv/import", file);
  EXPECT_THAT(import->read_all(), testing::HasSubstr("\"there\":1"));
  EXPECT_EQ(import->status(), 200);
  EXPECT_EQ(slow->pieces(), 0);
  EXPECT_EQ(slow->read_all(), file);
}

TEST_F(TransferRoutesTest, only_so_many_files_are_sent_at_a_time) {
  std::vector<std::shared_ptr<SlowClient>> slow;
  for (size_t i = 0; i < kMost; ++i) slow.push_back(begin_export());
  for (const auto& client : slow) client->wait_until_waited_for();
  const auto refused = begin_export();
  EXPECT_THAT(refused->read_all(), testing::HasSubstr("too_many_exports"));
  EXPECT_EQ(refused->status(), 503);
  // One goes, one is done: both make room.
  slow[0]->leave();
  const auto next = export_when_possible();
  EXPECT_EQ(next->status(), 200);
  const std::string file = slow[1]->read_all();
  EXPECT_EQ(file, next->read_all());
  EXPECT_EQ(export_when_possible()->read_all(), file);
}

TEST_F(TransferRoutesTest, what_is_not_there_takes_no_place) {
  for (size_t i = 0; i < 3 * kMost; ++i) {
    const auto missing = ask("GET", "/v1/kv/sessions/none/export");
    EXPECT_THAT(missing->read_all(), testing::HasSubstr("no session"));
    while (missing.use_count() > 1) std::this_thread::yield();
  }
  EXPECT_EQ(export_when_possible()->status(), 200);
}

}  // namespace
}  // namespace kvern::server::kv
