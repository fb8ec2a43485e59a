// Text files that users give: lines, words, numbers, and messages that name file and line.
#pragma once

#include <string_view>

#include "simcore/error.hpp"
#include "simcore/types.hpp"

namespace flitgym::text {

struct Source {
  std::string path, text;
};

template <class... Parts>
[[noreturn]] void fail(const Source& source, u32 line, const Parts&... what) {
  throw ConfigError(source.path, line > 0 ? ":" + std::to_string(line) : "", ": ", what...);
}
std::string shown(std::string_view word);  // in quotes, for a message; a long word is cut
std::string_view trimmed(std::string_view text);
std::vector<std::string_view> words(std::string_view line);           // separated by blanks
bool starts_with_word(std::string_view line, std::string_view word);  // no letter, digit or _ may follow the word

// The lines of a text, without their ends (\n, \r\n or \r).
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  bool next();
  std::string_view line() const { return line_; }
  u32 number() const { return number_; }  // from 1 on

 private:
  std::string_view rest_, line_;
  u32 number_ = 0;
};

// Read a whole decimal number or a real number. Any other text, or a number out of range, is an error that names
// `what`.
u32 whole_number(const Source& source, u32 line, const std::string& what, std::string_view text, u32 least, u32 most);
double real_number(const Source& source, u32 line, const std::string& what, std::string_view text, double least,
                   double most);

}  // namespace flitgym::text
