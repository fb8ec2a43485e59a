#include "simcore/text.hpp"

#include <charconv>

#include "simcore/error.hpp"
#include "simcore/limits.hpp"

namespace flitgym::text {

std::string shown(std::string_view word) {
  constexpr std::size_t kMost = 80;
  std::size_t length = std::min(word.size(), kMost);
  while (length < word.size() && length > 0 && (word[length] & 0xc0) == 0x80) length--;  // whole characters
  return "'" + std::string(word.substr(0, length)) + (length < word.size() ? "..." : "") + "'";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  while (!(line = trimmed(line)).empty()) {
    found.push_back(line.substr(0, line.find_first_of(" \t")));
    line.remove_prefix(found.back().size());
  }
  return found;
}

bool starts_with_word(std::string_view line, std::string_view word) {
  if (line.substr(0, word.size()) != word) return false;
  const char next = line.size() > word.size() ? line[word.size()] : ' ';
  return !(next == '_' || (next >= '0' && next <= '9') || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z'));
}

bool Lines::next() {
  if (rest_.empty()) return false;
  std::size_t end = std::min(rest_.find('\n'), rest_.size());
  end = std::min(rest_.substr(0, end).find('\r'), end);
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + (rest_.substr(end, 2) == "\r\n" ? 2 : 1), rest_.size()));
  number_++;
  worked(32 + line_.size());
  return true;
}

u32 whole_number(const Source& source, u32 line, const std::string& what, std::string_view text, u32 least, u32 most) {
  u64 value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (end != last || error == std::errc::invalid_argument)
    fail(source, line, shown(text), " is not a number for ", what, "; expected ", least, " .. ", most);
  if (error != std::errc() || value < least || value > most)
    fail(source, line, text.substr(0, 40), " is out of range for ", what, "; expected ", least, " .. ", most);
  return static_cast<u32>(value);
}

double real_number(const Source& source, u32 line, const std::string& what, std::string_view text, double least,
                   double most) {
  double value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  const bool known = end == last && error == std::errc() && std::isfinite(value);
  if (known && value >= least && value <= most) return value;
  fail(source, line, shown(text), known ? " is out of range for " : " is not a number for ", what, "; expected ", least,
       " .. ", most);
}

}  // namespace flitgym::text
