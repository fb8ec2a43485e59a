#include "simcore/error.hpp"

#include "simcore/limits.hpp"

namespace flitgym {

// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions, swapped neighbours. A
// result above `most` only means "more than `most`", because only cells within `most` of the diagonal are computed.
static std::size_t distance(const std::string& a, const std::string& b, std::size_t most) {
  const std::size_t n = a.size(), m = b.size(), far = most + 1;
  if (n > m + most || m > n + most) return far;
  std::vector<std::size_t> last(m + 1), row(m + 1), before(m + 1);  // rows i - 2, i, i - 1
  for (std::size_t j = 0; j <= m; j++) before[j] = std::min(j, far);
  for (std::size_t i = 1; i <= n; i++) {
    const std::size_t from = i > most ? i - most : 1, to = std::min(m, i + most);
    row.assign(m + 1, far);
    if (i <= most) row[0] = i;
    std::size_t least = row[0];
    for (std::size_t j = from; j <= to; j++) {
      std::size_t d = std::min({before[j] + 1, row[j - 1] + 1, before[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d = std::min(d, last[j - 2] + 1);
      row[j] = std::min(d, far);
      least = std::min(least, row[j]);
    }
    if (least > most) return far;
    last.swap(before);
    before.swap(row);
  }
  return before[m];
}

constexpr std::size_t kLongestWord = 200;     // longer words are not misspelt names
constexpr std::size_t kMostLooked = 1 << 26;  // letters compared in total; later names are ignored

std::string did_you_mean(const std::string& given, const std::vector<std::string>& valid) {
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(2, given.size() / 2);
  if (given.size() > kLongestWord) return "";
  std::size_t looked = 0;
  for (const std::string& word : valid) {
    if (word.size() > kLongestWord) continue;
    worked(given.size() * word.size());
    if ((looked += given.size() * (word.size() + 1)) > kMostLooked) break;
    if (const std::size_t d = distance(given, word, least); d < least || (d == least && !best)) {
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
