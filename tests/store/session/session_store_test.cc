// Names for saved prefixes.
#include "store/session/session_store.h"

#include <gtest/gtest.h>

#include "base/faulty_files.h"
#include "base/memory_files.h"
#include "store/samples.h"
#include "support/result_matchers.h"

namespace kvern::store {
namespace {

const Sha256Digest kMine = test::digest_of("mine");
const Sha256Digest kOther = test::digest_of("other");

Session session(const std::string& name, const Sha256Digest& root = kMine) {
  return {.name = name, .root = root, .created_seconds = 1'800'000'000, .tokens = {1, -2, 300000}};
}

struct Sessions : testing::Test {
  std::unique_ptr<Files> files = make_memory_files();
  SessionStore store{*files, "kv"};
  void SetUp() override { ASSERT_OK(files->make_directory("kv")); }
};

TEST_F(Sessions, AreFoundByNameAndOwner) {
  EXPECT_TRUE(store.list(kMine)->empty());
  ASSERT_OK(store.put(session("zoo")));
  ASSERT_OK(store.put(session("été ../../x")));
  ASSERT_OK(store.put(session("zoo", kOther)));
  EXPECT_EQ(**store.find(kMine, "zoo"), session("zoo"));
  EXPECT_FALSE(store.find(kMine, "none")->has_value());
  ASSERT_OK_AND_ASSIGN(const auto mine, store.list(kMine));
  ASSERT_EQ(mine.size(), 2U);
  EXPECT_EQ(mine[0].name, "zoo");
  Session changed = session("zoo");
  changed.tokens = {7};
  ASSERT_OK(store.put(changed));
  EXPECT_EQ((*store.find(kMine, "zoo"))->tokens, std::vector<int32_t>{7});
  ASSERT_OK(store.erase(kMine, "zoo"));
  EXPECT_ERROR(store.erase(kMine, "zoo"), kNotFound, "no session of this name");
  EXPECT_TRUE(store.find(kOther, "zoo")->has_value());
  // Files lie in one folder, whatever the names are.
  EXPECT_EQ(files->list("kv/sessions")->size(), 2U);
}

TEST_F(Sessions, HaveNamesThatCanBeShown) {
  for (const std::string& name : {std::string(), std::string(201, 'x'), std::string("a\nb"),
                                  std::string("\xff"), std::string("\x7f")}) {
    EXPECT_FALSE(is_session_name(name));
    EXPECT_ERROR(store.put(session(name)), kInvalidArgument, "name");
  }
  EXPECT_TRUE(is_session_name(std::string(200, 'x')));
  Session empty = session("a");
  empty.tokens.clear();
  EXPECT_ERROR(store.put(empty), kInvalidArgument, "tokens");
}

TEST_F(Sessions, ThatAreDamagedAreErrorsAndNotListed) {
  const std::string good = encode_session(session("a"));
  ASSERT_OK_AND_ASSIGN(const Session again, decode_session(good, "x"));
  EXPECT_EQ(again, session("a"));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(decode_session(good.substr(0, size), "x").has_value()) << size;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return decode_session(text, "x");
  };
  EXPECT_ERROR(with("\"version\":1", "\"version\":2"), kUnsupported, "format 2");
  EXPECT_ERROR(with("\"a\"", "\"\""), kCorrupt, "name");
  EXPECT_ERROR(with("300000", "3000000000"), kCorrupt, "token");
  EXPECT_ERROR(with("300000", "\"x\""), kCorrupt, "token");
  EXPECT_ERROR(with(to_hex(kMine), "12"), kCorrupt, "whose");
  ASSERT_OK(store.put(session("a")));
  ASSERT_OK(store.put(session("b")));
  const std::string file = "kv/sessions/" + files->list("kv/sessions")->front().name;
  ASSERT_OK(write_file_atomically(*files, file, std::as_bytes(std::span(std::string_view("{}")))));
  EXPECT_EQ(store.list(kMine)->size(), 1U);
  const bool a_is_damaged = !store.find(kMine, "a").has_value();
  EXPECT_ERROR(store.find(kMine, a_is_damaged ? "a" : "b"), kCorrupt, "not a session");
}

TEST_F(Sessions, AreOldOrNewWheneverThePowerGoes) {
  for (uint64_t at = 0;; ++at) {
    FaultyFiles faulty(*files);
    SessionStore unsafe(faulty, "kv");
    ASSERT_OK(store.put(session("a")));
    Session changed = session("a");
    changed.tokens = {7};
    faulty.set_plan({.at = at, .stays_down = true});
    const auto put = unsafe.put(changed);
    const bool hit = faulty.operations() > at;
    ASSERT_OK(faulty.lose_unsynced());
    ASSERT_OK_AND_ASSIGN(const auto found, store.find(kMine, "a"));
    ASSERT_TRUE(found.has_value());
    EXPECT_TRUE(*found == changed || (!put && *found == session("a")));
    if (!hit) break;
  }
}

}  // namespace
}  // namespace kvern::store
