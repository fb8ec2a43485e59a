#include "simcore/error.hpp"

#include <cstdio>
#include <cstdlib>

#include "simcore/limits.hpp"

namespace flitgym {

static std::string_view written(double number, char (&digits)[32]) {
  for (int count = 6;; count++) {
    std::snprintf(digits, sizeof digits, "%.*g", count, number);
    if (count == 17 || std::strtod(digits, nullptr) == number) return digits;
  }
}

Part::Part(double number) : text(written(number, digits)) {}

std::string message(std::initializer_list<Part> parts) {
  std::string text;
  for (const Part& part : parts) text += part.text;
  return text;
}

// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions, swapped neighbours.
static std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> last, before(b.size() + 1), row(before);  // rows i - 2, i - 1, i
  std::iota(row.begin(), row.end(), 0u);
  for (std::size_t i = 1; i <= a.size(); i++) {
    last = std::exchange(before, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); j++) {
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], last[j - 2] + 1);
    }
  }
  return row.back();
}

constexpr std::size_t kLongestWord = 200;  // longer words are not misspelt names

std::string did_you_mean(const std::string& given, const std::vector<std::string>& valid) {
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(2, given.size() / 2);
  for (const std::string& word : valid) {
    if (std::max(given.size(), word.size()) > kLongestWord) continue;
    worked(given.size() * word.size());
    if (const std::size_t d = distance(given, word); d < least || (d == least && !best)) {
      least = d;
      best = &word;
    }
  }
  return best ? " (did you mean '" + *best + "'?)" : "";
}

std::string join(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

}  // namespace flitgym
