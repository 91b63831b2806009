#include "server/auth/api_keys.h"

#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/memory_files.h"
#include "support/result_matchers.h"

namespace kvern::server {
namespace {

class ApiKeysTest : public testing::Test {
 protected:
  void write(const std::string& text) {
    ASSERT_OK(write_file_atomically(*files_, "keys", std::as_bytes(std::span(text.data(), text.size()))));
  }
  static HttpRequest with(const std::string& name, const std::string& value) {
    HttpRequest request;
    request.headers = {{name, value}};
    return request;
  }
  static HttpRequest bearer(const std::string& key) { return with("Authorization", "Bearer " + key); }

  const std::unique_ptr<Files> files_ = make_memory_files();
};

TEST_F(ApiKeysTest, WithoutSourcesNobodyNeedsAKey) {
  ASSERT_OK_AND_ASSIGN(const auto keys, ApiKeys::load(*files_, {}));
  EXPECT_FALSE(keys->required());
  EXPECT_FALSE(keys->client_of(bearer("anything")));
}

TEST_F(ApiKeysTest, KeysComeInEitherHeaderAndGiveTheirName) {
  ASSERT_OK_AND_ASSIGN(const auto keys,
                       ApiKeys::load(*files_, {.keys = {"alice:secret-1", "secret-2"}, .file = {}}));
  EXPECT_TRUE(keys->required());
  EXPECT_EQ(keys->client_of(bearer("secret-1")), "alice");
  EXPECT_EQ(keys->client_of(with("authorization", "bearer   secret-1 ")), "alice");
  EXPECT_EQ(keys->client_of(with("X-API-Key", "secret-1")), "alice");
  EXPECT_EQ(keys->client_of(bearer("secret-2")), "key-f4b6bb65");
}

TEST_F(ApiKeysTest, OnlyTheWholeKeyCounts) {
  ASSERT_OK_AND_ASSIGN(const auto keys, ApiKeys::load(*files_, {.keys = {"alice:secret-1"}, .file = {}}));
  for (const char* wrong : {"", "secret-", "secret-12", "Secret-1", "alice", "alice:secret-1"})
    EXPECT_FALSE(keys->client_of(bearer(wrong))) << wrong;
  EXPECT_FALSE(keys->client_of(with("Authorization", "Basic secret-1")));
  EXPECT_FALSE(keys->client_of(with("Authorization", "secret-1")));
  EXPECT_FALSE(keys->client_of(HttpRequest{}));
}

TEST_F(ApiKeysTest, AFileHasOneKeyALine) {
  write("# team\nalice: secret-1\r\n\n  bob:sk:with:colons\nsecret~3:x\n");
  ASSERT_OK_AND_ASSIGN(const auto keys, ApiKeys::load(*files_, {.keys = {}, .file = "keys"}));
  EXPECT_EQ(keys->size(), 3U);
  EXPECT_EQ(keys->client_of(bearer("secret-1")), "alice");
  EXPECT_EQ(keys->client_of(bearer("sk:with:colons")), "bob");
  EXPECT_TRUE(keys->client_of(bearer("secret~3:x"))) << "what is no name belongs to the key";
}

TEST_F(ApiKeysTest, ErrorsNameTheLineAndNeverTheKey) {
  write("alice:one\nbob:\n");
  EXPECT_ERROR(ApiKeys::load(*files_, {.keys = {}, .file = "keys"}), kInvalidArgument,
               "keys:2: the key is empty");
  write("alice:one two\n");
  EXPECT_ERROR(ApiKeys::load(*files_, {.keys = {}, .file = "keys"}), kInvalidArgument, "keys:1");
  write("alice:one\nalice:two\n");
  EXPECT_ERROR(ApiKeys::load(*files_, {.keys = {}, .file = "keys"}), kInvalidArgument, "'alice'");
  write("alice:one\nbob:one\n");
  const auto twice = ApiKeys::load(*files_, {.keys = {}, .file = "keys"});
  EXPECT_ERROR(twice, kInvalidArgument, "the key of 'bob' is there twice");
  write("# nothing\n");
  EXPECT_ERROR(ApiKeys::load(*files_, {.keys = {}, .file = "keys"}), kInvalidArgument, "holds no key");
  EXPECT_ERROR(ApiKeys::load(*files_, {.keys = {}, .file = "missing"}), kNotFound, "missing");
  EXPECT_ERROR(ApiKeys::load(*files_, {.keys = {"a:x", "b:x"}, .file = {}}), kInvalidArgument, "twice");
}

TEST_F(ApiKeysTest, KeysRotateWithoutARestart) {
  write("alice:old\n");
  ASSERT_OK_AND_ASSIGN(const auto keys, ApiKeys::load(*files_, {.keys = {"root:fixed"}, .file = "keys"}));
  ASSERT_OK_AND_ASSIGN(const bool same, keys->reload());
  EXPECT_FALSE(same);
  write("alice:new\n");
  ASSERT_OK_AND_ASSIGN(const bool changed, keys->reload());
  EXPECT_TRUE(changed);
  EXPECT_FALSE(keys->client_of(bearer("old")));
  EXPECT_EQ(keys->client_of(bearer("new")), "alice");
  EXPECT_EQ(keys->client_of(bearer("fixed")), "root");
}

TEST_F(ApiKeysTest, AWrongFileKeepsTheOldKeys) {
  write("alice:old\n");
  ASSERT_OK_AND_ASSIGN(const auto keys, ApiKeys::load(*files_, {.keys = {}, .file = "keys"}));
  write("alice:\n");
  EXPECT_ERROR(keys->reload(), kInvalidArgument, "keys:1");
  EXPECT_EQ(keys->client_of(bearer("old")), "alice");
  ASSERT_OK(files_->remove("keys"));
  EXPECT_ERROR(keys->reload(), kNotFound, "keys");
  EXPECT_EQ(keys->client_of(bearer("old")), "alice");
}

TEST_F(ApiKeysTest, MayRotateWhileRequestsCome) {
  write("alice:one\n");
  ASSERT_OK_AND_ASSIGN(const auto keys, ApiKeys::load(*files_, {.keys = {"root:fixed"}, .file = "keys"}));
  std::thread rotates([&] {
    for (int i = 0; i < 200; ++i) {
      write(i % 2 == 0 ? "alice:two\n" : "alice:one\n");
      EXPECT_OK(keys->reload());
    }
  });
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(keys->client_of(bearer("fixed")), "root");
  rotates.join();
}

}  // namespace
}  // namespace kvern::server
