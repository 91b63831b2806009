// White space control, by the rules of Jinja's documentation with trim_blocks and lstrip_blocks on.
#include "template_support.h"

namespace kvern {
namespace {

TEST(WhiteSpace, ABlockTagTakesTheNewlineBehindItAndTheSpacesBeforeIt) {
  EXPECT_EQ(render("<a>\n    {% if true %}\n        yay\n    {% endif %}\n</a>"), "<a>\n        yay\n</a>");
  EXPECT_EQ(render("x {% if true %}\ny{% endif %}"), "x y");
  EXPECT_EQ(render("{% if true %}\n\na{% endif %}"), "\na");
  EXPECT_EQ(render("{% if true %} \na{% endif %}"), " \na");
}

TEST(WhiteSpace, OutputTagsKeepWhatIsAroundThem) {
  EXPECT_EQ(render("  {{ 1 }}\n  {{ 2 }}\n."), "  1\n  2\n.");
}

TEST(WhiteSpace, MinusTakesAllWhiteSpaceOnItsSide) {
  EXPECT_EQ(render("a \n\t {{- 1 -}} \n\n b"), "a1b");
  EXPECT_EQ(render("a \n {%- if true -%} \n b \n {%- endif -%} \n c"), "abc");
  EXPECT_EQ(render("a \n {#- c -#} \n b"), "ab");
}

TEST(WhiteSpace, PlusSwitchesTheOptionsOffOnItsSide) {
  EXPECT_EQ(render("  {%+ if true %}a{% endif %}"), "  a");
  EXPECT_EQ(render("{% if true +%}\na{% endif %}"), "\na");
  EXPECT_EQ(render("{# c +#}\na"), "\na");
}

TEST(WhiteSpace, CommentsBehaveLikeBlocks) {
  EXPECT_EQ(render("  {# c #}\na\n  {# d #}\nb"), "a\nb");
  EXPECT_EQ(render("a {# c #} b"), "a  b");
}

TEST(WhiteSpace, OneTrailingNewlineOfTheTemplateIsDropped) {
  EXPECT_EQ(render("a\n"), "a");
  EXPECT_EQ(render("a\n\n"), "a\n");
  EXPECT_EQ(render("a\r\n"), "a");
}

TEST(WhiteSpace, NewlinesOfAllSystemsBecomeOneKind) { EXPECT_EQ(render("a\r\nb\rc\nd"), "a\nb\nc\nd"); }

TEST(WhiteSpace, RawBlocksKeepTheirContentAndObeyTheSigns) {
  EXPECT_EQ(render("{% raw %}{{ x }}{% endraw %}"), "{{ x }}");
  EXPECT_EQ(render("{% raw %}\n a\n {% endraw %}\nb"), "\n a\nb");
  EXPECT_EQ(render("a {%- raw -%} b {%- endraw -%} c"), "abc");
}

TEST(WhiteSpace, ATagBehindAnOutputTagIsNotAtTheStartOfALine) {
  EXPECT_EQ(render("{{ 1 }}  {% if true %}a{% endif %}"), "1  a");
  EXPECT_EQ(render("{% if true %}\n  {% if true %}a{% endif %}{% endif %}"), "a");
}

TEST(WhiteSpace, StrippingKnowsUnicodeSpaces) { EXPECT_EQ(render("a\u00a0\u2003{{- 1 }}"), "a1"); }

}  // namespace
}  // namespace kvern
