// Numbers are written and read with a point, and letters are those of ASCII, under a locale that
// has others: what setlocale does to the process must not change what a program means.
#include <clocale>
#include <cstdlib>
#include <locale>

#include "source_archives.h"
#include "values/plain_text.h"
#include "values/schema.h"

using namespace test;

namespace {

// One with a comma, of those that are installed; else one that is made here. False: there is none.
bool set_foreign_locale() {
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8", "German"}) {
    if (setlocale(LC_ALL, name)) return true;
  }
#if defined(_WIN32)
  return false;
#else
  char folder[] = "/tmp/scriptlang_locale_XXXXXX";
  if (!mkdtemp(folder)) return false;
  std::string made = std::string(folder) + "/de_DE.UTF-8";
  std::string command = "localedef -i de_DE -f UTF-8 " + made + " >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  setenv("LOCPATH", folder, 1);
  const bool good = status == 0 && setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  unsetenv("LOCPATH");
  return std::system(("rm -r " + std::string(folder)).c_str()) == 0 && good;
#endif
}

struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

}  // namespace

TEST(the_locale_has_another_point) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%.1f", 0.5);
  CHECK_EQ(std::string(digits), "0,5");
  CHECK_EQ(show(12345), "12.345");
}

TEST(code_and_schemas_are_read_with_points) {
  CHECK_EQ(run(") -> float", "return 0.625", {}).as_double(), 0.625);
  CHECK_EQ(run(") -> float", "return 1.25e-3", {}).as_double(), 1.25e-3);
  CHECK_EQ(parse_schema("my::f(float x=0.625, float y=1e-05) -> float")
               .arguments[0]
               .default_value.as_double(),
           0.625);
  CHECK_EQ(run(", s: str) -> float", "return float(s)", {Value(std::string(" 12.75"))}).as_double(),
           12.75);
  CHECK_EQ(
      run(", s: str) -> float", "return float(s)", {Value(std::string("0.1234567890123456789e1"))})
          .as_double(),
      1.234567890123456789);
  CHECK_RAISES(RuntimeError, "could not convert string to float: '0,5'",
               run(", s: str) -> float", "return float(s)", {Value(std::string("0,5"))}));
}

TEST(numbers_are_written_with_points) {
  const std::string value = text(run(", x: float) -> str", "return str(x)", {Value(0.1)}));
  CHECK_EQ(value.substr(0, 3), "0.1");
  CHECK_EQ(text(run(", x: float) -> str", "return torch.percentFormat(\"%f|%e\", (x, x))",
                    {Value(2.5)})),
           "2.500000|2.500000e+00");
  CHECK_EQ(text(run(", x: int) -> str", "return str(x)", {Value(1234567)})), "1234567");
  const std::string tensor = text(run(") -> str", "return str(torch.full([2], 0.5))", {}));
  CHECK_EQ(tensor.find(','), tensor.find(",\xff"));  // no comma in it
  CHECK(tensor.find("0.5") != std::string::npos);
}

TEST(errors_are_written_with_points) {
  CHECK_EQ(concat("a ", 0.5, " b ", 1234567, " ", size_t(7654321), ' ', -1e10),
           "a 0.5 b 1234567 7654321 -1e+10");
}

TEST(letters_are_those_of_ascii) {
  for (int c = 0; c < 256; ++c) {
    CHECK_EQ(is_ascii_word(c), c < 128 && std::isalnum(char(c), std::locale::classic()));
  }
}

int main(int count, char** arguments) {
  if (!set_foreign_locale()) {
    std::printf("there is no locale with a comma, and localedef makes none\n");
    return 77;
  }
  std::locale::global(std::locale(std::locale(), new Commas));
  return test::main(count, arguments);
}
