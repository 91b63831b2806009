"""Each lint tool finds what it is for, and stays silent where all is well."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
import check_sizes  # noqa: E402  (found through the line above)
import sources  # noqa: E402


class Tree(unittest.TestCase):
    """A small repository in a temporary folder."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.root = pathlib.Path(self._folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def lint(self, tool, *arguments):
        """Exit status and output of a tool on the tree."""
        done = subprocess.run([sys.executable, TOOLS / tool, "--root", self.root, *arguments],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def assert_clean(self, tool, *arguments):
        status, output = self.lint(tool, *arguments)
        self.assertEqual(status, 0, output)

    def assert_finds(self, tool, expected, *arguments):
        status, output = self.lint(tool, *arguments)
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)

    def build(self, *built):
        """A build folder that compiles some files."""
        commands = [{"directory": str(self.root), "file": str(self.root / name),
                     "command": f"c++ -I{self.root}/src -o x.o -c {self.root}/{name}"} for name in built]
        self.write("build/compile_commands.json", json.dumps(commands))
        return "--build", str(self.root / "build")


class Layers(Tree):
    TOOL = "check_layers.py"

    def test_allowed_includes_pass(self):
        self.write("src/base/a.h", "#include <vector>\n")
        self.write("src/text/b.cc", '#include "base/a.h"\n// #include "model/x.h"\n')
        self.write("tests/text/b_test.cc", '#include "support/x.h"\n#include "text/b.h"\n')
        self.assert_clean(self.TOOL)

    def test_an_include_of_a_higher_layer_is_found(self):
        self.write("src/base/a.h", '#include "text/b.h"\n')
        self.assert_finds(self.TOOL, "src/base/a.h: may not include text/b.h")

    def test_store_does_not_see_model(self):
        self.write("src/store/a.cc", '#include "model/b.h"\n')
        self.assert_finds(self.TOOL, "src/store/a.cc: may not include model/b.h")

    def test_product_code_does_not_see_test_support(self):
        self.write("src/base/a.cc", '#include "support/npy.h"\n')
        self.assert_finds(self.TOOL, "may not include support/npy.h")

    def test_a_folder_that_is_no_layer_is_found(self):
        self.write("src/misc/a.h", "")
        self.assert_finds(self.TOOL, "misc/ is no layer")

    def test_public_headers_have_no_third_party_include(self):
        self.write("include/kvern/a.h", "#include <vector>\n#include <stdint.h>\n")
        self.assert_clean(self.TOOL)
        self.write("include/kvern/b.h", "#include <fmt/format.h>\n")
        self.assert_finds(self.TOOL, "include/kvern/b.h: a public header includes fmt/format.h")

    def test_examples_see_public_headers_only(self):
        self.write("examples/a.cc", '#include "engine/load/engine.h"\n')
        self.assert_finds(self.TOOL, "examples/a.cc: may not include engine/load/engine.h")

    def test_a_circle_of_headers_is_found(self):
        self.write("src/base/a.h", '#include "base/b.h"\n')
        self.write("src/base/b.h", '#include "base/c.h"\n')
        self.write("src/base/c.h", '#include "base/a.h"\n')
        self.assert_finds(self.TOOL, "base/a.h -> base/b.h -> base/c.h -> base/a.h")

    def test_a_circle_of_parts_of_a_layer_is_found(self):
        self.write("src/compute/one/a.cc", '#include "compute/two/b.h"\n')
        self.write("src/compute/two/b.h", "")
        self.write("src/compute/two/c.cc", '#include "compute/one/d.h"\n')
        self.assert_finds(self.TOOL, "compute/one -> compute/two -> compute/one")


class Sizes(Tree):
    TOOL = "check_sizes.py"

    @staticmethod
    def function(lines):
        return "void f() {\n" + "  g();\n" * (lines - 2) + "}\n"

    def test_short_files_and_functions_pass(self):
        self.write("src/base/a.cc", self.function(60))
        self.assert_clean(self.TOOL)

    def test_a_long_function_is_found(self):
        self.write("src/base/a.cc", self.function(61))
        self.assert_finds(self.TOOL, "src/base/a.cc:1: f has 61 lines")

    def test_a_long_file_is_found(self):
        self.write("src/base/a.cc", "int x;\n" * 601)
        self.assert_finds(self.TOOL, "src/base/a.cc: 601 lines; at most 600")

    def test_an_exception_with_a_reason_passes_and_a_needless_one_does_not(self):
        self.write("src/base/a.cc", self.function(61))
        self.write("tools/size_exceptions.txt", "src/base/a.cc#f: a table\n")
        self.assert_clean(self.TOOL)
        self.write("src/base/a.cc", self.function(60))
        self.assert_finds(self.TOOL, "src/base/a.cc#f needs no exception")

    def test_functions_are_told_from_other_braces(self):
        text = """
namespace a {
class B : public C {
 public:
  B(int x) : a_{x}, b_(x) {
    if (x) { f(); }
  }
  int g() const override { return 1; }
  bool operator==(const B&) const { return true; }
  std::vector<int> v_{1, 2};
};
template <typename T = int>
auto h(T t = {}) -> std::vector<int> {
  auto l = [&](int x) {
    return x;
  };
}
const int k[] = {
    1, 2};
enum class E {
  kA
};
TEST(Some, thing) {
}
void foo(D d) HWY_ATTR {
  const char* s = "}{";  // }
}
}
"""
        found = [(name, lines) for name, _, lines in check_sizes.functions(text)]
        self.assertEqual(found, [("B", 3), ("g", 1), ("operator==", 1), ("h", 6), ("Some.thing", 2), ("foo", 3)])


class Tests(Tree):
    TOOL = "check_tests.py"

    def test_a_source_with_a_built_test_passes(self):
        self.write("src/base/x/a.cc", "")
        self.write("tests/base/x/a_test.cc", "")
        self.assert_clean(self.TOOL, *self.build("src/base/x/a.cc", "tests/base/x/a_test.cc"))

    def test_a_source_without_a_test_is_found(self):
        self.write("src/base/a.cc", "")
        build = self.build("src/base/a.cc")
        self.assert_finds(self.TOOL, "src/base/a.cc: has no tests/base/a_test.cc", *build)
        self.write("tests/base/b_test.cc", "")
        build = self.build("src/base/a.cc", "tests/base/b_test.cc")
        self.write("tools/untested.txt", "src/base/a*: tests/base/b_test.cc, which calls it\n")
        self.assert_clean(self.TOOL, *build)

    def test_an_entry_must_be_needed_and_name_a_test(self):
        self.write("src/base/a.cc", "")
        build = self.build("src/base/a.cc")
        self.write("tools/untested.txt", "src/base/a.cc: by hand\n")
        self.assert_finds(self.TOOL, "src/base/a.cc: name a file of tests/", *build)
        self.write("tools/untested.txt", "src/base/a.cc: tests/base/gone_test.cc\n")
        self.assert_finds(self.TOOL, "src/base/a.cc: name a file of tests/", *build)
        self.write("tests/base/a_test.cc", "")
        build = self.build("src/base/a.cc", "tests/base/a_test.cc")
        self.write("tools/untested.txt", "src/base/a.cc: tests/base/a_test.cc\n")
        self.assert_finds(self.TOOL, "src/base/a.cc needs no entry", *build)
        self.write("tools/untested.txt", "src/base/a.cc\n")
        self.assert_finds(self.TOOL, "expected `name: reason`", *build)

    def test_files_that_are_not_built_are_found(self):
        self.write("src/base/a.cc", "")
        self.write("tests/base/a_test.cc", "")
        build = self.build()
        self.assert_finds(self.TOOL, "src/base/a.cc: is not built", *build)
        self.assert_finds(self.TOOL, "tests/base/a_test.cc: is not built", *build)


class Headers(Tree):
    TOOL = "check_headers.py"

    def test_a_header_that_needs_another_is_found(self):
        self.write("src/base/a.h", "#pragma once\ninline int a() { return 1; }\n")
        self.write("src/base/a.cc", '#include "base/a.h"\n')
        self.write("src/base/b.h", "#pragma once\n#include <string>\ninline std::string b() { return {}; }\n")
        build = self.build("src/base/a.cc")
        self.assert_clean(self.TOOL, *build)
        self.write("src/base/c.h", "#pragma once\ninline std::string c() { return {}; }\n")
        self.assert_finds(self.TOOL, "src/base/c.h does not compile alone", *build)


class Parity(Tree):
    TOOL = "check_parity.py"

    def table(self, *rows):
        self.write("tests/state/ring_test.cc", "TEST(Ring, GoesRound) {}\nTEST_P(Every,\n       Layout) {}\n// NotATest\n")
        self.write("docs/parity.md", "# Parity\n\n| a | b |\n| --- | --- |\n" + "".join(row + "\n" for row in rows))

    def test_tests_that_exist_and_open_rows_pass(self):
        self.table("| x | `state/ring_test.cc::GoesRound`, `state/ring_test.cc::Layout` |", "| y | open: to come |",
                   "| z | `state/ring_test.cc` |")
        self.assert_clean(self.TOOL)

    def test_a_test_that_does_not_exist_is_found(self):
        self.table("| x | `state/ring_test.cc::NotATest` |")
        self.assert_finds(self.TOOL, "parity.md:5: state/ring_test.cc has no NotATest")
        self.table("| x | `state/rings_test.cc::GoesRound` |")
        self.assert_finds(self.TOOL, "there is no state/rings_test.cc")

    def test_a_row_without_a_test_or_a_reason_is_found(self):
        self.table("| `state/ring_test.cc` | later |")
        self.assert_finds(self.TOOL, "names no test and is not open")
        self.table("| x | open: |")
        self.assert_finds(self.TOOL, "names no test and is not open")


class Sources(unittest.TestCase):
    def test_comments_and_strings_are_blanked_and_lines_stay(self):
        text = 'a /* { */ "}" \'{\' 1\'000 R"x(\n})x" // {\nb'
        blanked = sources.blank_comments_and_strings(text)
        self.assertNotIn("{", blanked)
        self.assertNotIn("}", blanked)
        self.assertIn("1'000", blanked)
        self.assertEqual(blanked.count("\n"), text.count("\n"))


if __name__ == "__main__":
    unittest.main()
