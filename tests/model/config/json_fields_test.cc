#include "model/config/json_fields.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace kvern::model {
namespace {

class Fields : public testing::Test {
 protected:
  void SetUp() override {
    auto value = parse_json(R"({"i":7,"f":2.5,"b":true,"s":"x","n":null,"list":["a","b"],"nums":[1,2.5],)"
                            R"("o":{"k":"v"},"mixed":["a",1]})",
                            "c.json");
    ASSERT_OK(value);
    value_ = *value;
    fields_.emplace(value_.get_object(), path_);
  }
  const std::string path_ = "c.json";
  json::value value_;
  std::optional<JsonFields> fields_;
};

TEST_F(Fields, give_typed_values) {
  EXPECT_EQ(fields_->integer("i").value(), 7);
  EXPECT_EQ(fields_->number("i").value(), 7.0);
  EXPECT_EQ(fields_->number("f").value(), 2.5);
  EXPECT_EQ(fields_->boolean("b").value(), true);
  EXPECT_EQ(fields_->text("s").value(), "x");
  EXPECT_THAT(fields_->texts("list").value().value(), testing::ElementsAre("a", "b"));
  EXPECT_THAT(fields_->numbers("nums").value().value(), testing::ElementsAre(1.0, 2.5));
  ASSERT_OK_AND_ASSIGN(const auto object, fields_->object("o"));
  EXPECT_EQ(object->text("k").value(), "v");
}

TEST_F(Fields, count_null_as_absent) {
  EXPECT_FALSE(fields_->has("n"));
  EXPECT_EQ(fields_->integer("n").value(), std::nullopt);
  EXPECT_ERROR(fields_->required_integer("n"), kCorrupt, "c.json: key 'n': is missing");
  EXPECT_ERROR(fields_->required_number("absent"), kCorrupt, "key 'absent': is missing");
}

TEST_F(Fields, name_file_and_key_of_wrong_types) {
  EXPECT_ERROR(fields_->integer("f"), kCorrupt, "c.json: key 'f': must be an integer, but is");
  EXPECT_ERROR(fields_->number("s"), kCorrupt, "key 's': must be a finite number");
  EXPECT_ERROR(fields_->boolean("i"), kCorrupt, "key 'i': must be true or false, but is '7'");
  EXPECT_ERROR(fields_->text("i"), kCorrupt, "key 'i': must be a string");
  EXPECT_ERROR(fields_->texts("mixed"), kCorrupt, "key 'mixed': must be a list of strings");
  EXPECT_ERROR(fields_->numbers("mixed"), kCorrupt, "key 'mixed': must be a list of finite numbers");
  EXPECT_ERROR(fields_->object("list"), kCorrupt, "key 'list': must be an object");
  ASSERT_OK_AND_ASSIGN(const auto object, fields_->object("o"));
  EXPECT_ERROR(object->integer("k"), kCorrupt, "key 'o.k': must be an integer");
}

}  // namespace
}  // namespace kvern::model
