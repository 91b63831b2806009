#include "server/app/cors.h"

#include <string>

#include <gtest/gtest.h>

namespace kvern::server {
namespace {

HttpRequest request(const std::string& method, const std::string& origin, HttpHeaders more = {}) {
  HttpRequest made{.method = method};
  if (!origin.empty()) made.headers.emplace_back("Origin", origin);
  made.headers.insert(made.headers.end(), more.begin(), more.end());
  return made;
}

std::string allowed_origin(const HttpHeaders& headers) {
  for (const auto& [name, value] : headers)
    if (name == "Access-Control-Allow-Origin") return value;
  return "none";
}

TEST(Cors, IsOffUnlessAskedFor) {
  const CorsPolicy off({});
  EXPECT_TRUE(off.headers_for(request("GET", "https://a.example")).empty());
  EXPECT_FALSE(
      off.preflight(request("OPTIONS", "https://a.example", {{"Access-Control-Request-Method", "POST"}})));
}

TEST(Cors, AllowsTheNamedOriginsOnly) {
  const CorsPolicy policy({"https://a.example", "https://b.example"});
  EXPECT_EQ(allowed_origin(policy.headers_for(request("GET", "https://b.example"))), "https://b.example");
  EXPECT_EQ(allowed_origin(policy.headers_for(request("GET", "https://c.example"))), "none");
  EXPECT_EQ(allowed_origin(policy.headers_for(request("GET", "https://b.example.evil"))), "none");
  EXPECT_EQ(allowed_origin(policy.headers_for(request("GET", ""))), "none");
  EXPECT_EQ(policy.headers_for(request("GET", "")).front(),
            (std::pair<std::string, std::string>("Vary", "Origin")));
}

TEST(Cors, AStarAllowsAll) {
  EXPECT_EQ(allowed_origin(CorsPolicy({"*"}).headers_for(request("GET", "null"))), "null");
}

TEST(Cors, APreflightNeedsOriginAndMethod) {
  const CorsPolicy policy({"https://a.example"});
  const HttpHeaders asks{{"Access-Control-Request-Method", "POST"},
                         {"Access-Control-Request-Headers", "authorization, x-stainless-os"}};
  const auto answer = policy.preflight(request("OPTIONS", "https://a.example", asks));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 204);
  bool echoed = false;
  for (const auto& [name, value] : answer->headers)
    echoed |= name == "Access-Control-Allow-Headers" && value == "authorization, x-stainless-os";
  EXPECT_TRUE(echoed);
  EXPECT_FALSE(policy.preflight(request("OPTIONS", "https://a.example")));
  EXPECT_FALSE(policy.preflight(request("GET", "https://a.example", asks)));
  EXPECT_FALSE(policy.preflight(request("OPTIONS", "https://c.example", asks)));
}

}  // namespace
}  // namespace kvern::server
