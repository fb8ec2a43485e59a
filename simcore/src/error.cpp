#include "simcore/error.hpp"

#include <algorithm>
#include <numeric>

namespace flitgym {

namespace {

// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions, swapped neighbours.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); i++) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); i++)
    for (std::size_t j = 1; j <= b.size(); j++) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(const std::string& given, const std::vector<std::string>& valid) {
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(2, given.size() / 2);
  for (const std::string& word : valid)
    if (const std::size_t d = distance(given, word); d < least || (d == least && !best)) {
      least = d;
      best = &word;
    }
  return best ? " (did you mean '" + *best + "'?)" : "";
}

std::string join(const std::vector<std::string>& words, const std::string& separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

}  // namespace flitgym
