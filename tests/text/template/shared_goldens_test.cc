// The chat templates of nine models over fourteen conversations, byte for byte (shared data, chat/).
#include "template_support.h"

#include <filesystem>

namespace kvern {
namespace {

const std::string kFolder = std::string(KVERN_SHARED_DATA_DIR) + "/chat/";

TEST(ChatGoldens, EveryModelTemplateRendersTheReferenceBytesOrError) {
  if (!std::filesystem::exists(kFolder + "chat_goldens.json")) GTEST_SKIP() << "no shared data";
  const json::value file = boost::json::parse(read_text(kFolder + "chat_goldens.json"));
  size_t refused = 0;
  for (const auto& item : file.at("cases").as_array()) {
    const std::string name(item.at("template_file").as_string());
    const auto result = try_render(read_text(kFolder + "templates/" + name), item.at("context"));
    SCOPED_TRACE(name + " / " + std::string(item.at("conversation").as_string()));
    if (const auto* error = item.as_object().if_contains("error")) {
      ++refused;
      ASSERT_FALSE(result.has_value());
      EXPECT_EQ(result.error().message, std::string(error->as_string()));
      EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
      continue;
    }
    ASSERT_TRUE(result.has_value()) << result.error().to_string();
    EXPECT_EQ(*result, std::string(item.at("rendered").as_string()));
  }
  EXPECT_EQ(file.at("cases").as_array().size(), 126U);
  EXPECT_EQ(refused, 8U);
}

}  // namespace
}  // namespace kvern
