#include "server/http/router.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

using Segments = std::vector<std::string>;

Handler nothing() {
  return [](std::shared_ptr<Exchange>) {};
}

Router some_routes() {
  Router router;
  router.add("GET", "/health", nothing());
  router.add("POST", "/v1/chat/completions", nothing());
  router.add("GET", "/v1/responses/{id}", nothing());
  router.add("DELETE", "/v1/responses/{id}", nothing());
  router.add("GET", "/v1/responses/{id}/input_items", nothing());
  router.add("GET", "/v1/models", nothing());
  router.add("GET", "/v1/models/{model*}", nothing());
  router.add("GET", "/v1/models/special", nothing());
  router.add("GET", "/", nothing());
  return router;
}

std::string found(const Router& router, const std::string& method, const Segments& segments) {
  const Router::Match match = router.find(method, segments);
  return match.route == nullptr ? "none" : match.route->pattern;
}

TEST(Router, FindsRoutesByMethodAndPath) {
  const Router router = some_routes();
  EXPECT_EQ(found(router, "GET", {"health"}), "/health");
  EXPECT_EQ(found(router, "GET", {""}), "/");
  EXPECT_EQ(found(router, "POST", {"v1", "chat", "completions"}), "/v1/chat/completions");
  EXPECT_EQ(found(router, "GET", {"v1", "chat"}), "none");
  EXPECT_EQ(found(router, "GET", {"health", ""}), "none");
  EXPECT_EQ(found(router, "GET", {"Health"}), "none");
}

TEST(Router, GivesWhatTheOpenPartsTook) {
  const Router router = some_routes();
  EXPECT_EQ(router.find("GET", {"v1", "responses", "r 1"}).path_values, Segments{"r 1"});
  EXPECT_EQ(router.find("GET", {"v1", "responses", "x", "input_items"}).path_values, Segments{"x"});
  EXPECT_EQ(found(router, "GET", {"v1", "responses", ""}), "none");
}

TEST(Router, ARestTakesSlashesAndALiteralWinsOverIt) {
  const Router router = some_routes();
  EXPECT_EQ(router.find("GET", {"v1", "models", "org", "name"}).path_values, Segments{"org/name"});
  EXPECT_EQ(router.find("GET", {"v1", "models", "org/name"}).path_values, Segments{"org/name"});
  EXPECT_EQ(found(router, "GET", {"v1", "models", "special"}), "/v1/models/special");
  EXPECT_EQ(found(router, "GET", {"v1", "models", "special", "x"}), "/v1/models/{model*}");
}

TEST(Router, HeadIsAnsweredByGet) {
  EXPECT_EQ(found(some_routes(), "HEAD", {"health"}), "/health");
  EXPECT_EQ(found(some_routes(), "HEAD", {"v1", "chat", "completions"}), "none");
}

TEST(Router, SaysWhichMethodsAPathHas) {
  const Router router = some_routes();
  EXPECT_EQ(router.find("PUT", {"v1", "responses", "x"}).allowed, (Segments{"DELETE", "GET", "HEAD"}));
  EXPECT_EQ(router.find("GET", {"v1", "chat", "completions"}).allowed, Segments{"POST"});
  EXPECT_TRUE(router.find("GET", {"nothing"}).allowed.empty());
}

TEST(Router, DotsAreTextLikeAnyOther) {
  const Router router = some_routes();
  EXPECT_EQ(found(router, "GET", {"v1", "..", "health"}), "none");
  EXPECT_EQ(router.find("GET", {"v1", "responses", ".."}).path_values, Segments{".."});
}

TEST(RouterDeathTest, TheSameRouteTwiceIsAMistakeOfTheProgram) {
  Router router = some_routes();
  EXPECT_DEATH(router.add("GET", "/v1/responses/{other}", nothing()), "");
  EXPECT_DEATH(router.add("GET", "no-slash", nothing()), "");
}

}  // namespace
}  // namespace kvern::server
