// Mutated input for the readers of the core. A reader may return or refuse (ConfigError, CoreError). Any other
// exception, a sanitizer's report or a mutation that takes over 20 s fails the case. `make test` tries a fixed list of
// `runs` mutations. With FLITGYM_FUZZ_SECONDS=n in the environment (`make fuzz`), a case tries mutations for n seconds.
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>

#include "simcore/error.hpp"
#include "simcore/rng.hpp"
#include "test.hpp"

namespace testing {

// The words of a text, separated by '~'.
inline std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c == '~') words.emplace_back();
    else words.back() += c;
  return words;
}

// Makes one to eight changes. A change flips a bit, replaces a byte, removes, doubles or moves a part, inserts a word,
// cuts off the end, or writes a number.
inline std::string mutated(const std::vector<std::string>& corpus, const std::vector<std::string>& words,
                           flitgym::u64 seed) {
  using flitgym::u32, flitgym::u64;
  u64 counter = 0;
  const auto pick = [&](std::size_t n) {
    return n ? static_cast<std::size_t>(flitgym::below(flitgym::draw(seed, 7, counter++), static_cast<u32>(n))) : 0;
  };
  std::string text = corpus[pick(corpus.size())];
  for (std::size_t changes = 1 + pick(8); changes > 0; changes--) {
    const std::size_t at = pick(text.size() + 1), length = std::min(text.size() - at, 1 + pick(pick(2) ? 8 : 256));
    const std::string& other = corpus[pick(corpus.size())];
    switch (pick(8)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << pick(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(pick(256));
        break;
      case 2: text.erase(at, length); break;
      case 3: text.insert(at, text.substr(at, length)); break;
      case 4: {
        const std::size_t from = pick(other.size() + 1);
        text.insert(at, other.substr(from, length));
        break;
      }
      case 5:
        if (!words.empty()) text.insert(at, words[pick(words.size())]);
        break;
      case 6: text.resize(at); break;
      default: {  // a number of 1, 2, 4 or 8 bytes at an end of its range
        static const u64 ends[] = {0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, ~u64{0} >> 1, ~u64{0}};
        const u64 value = ends[pick(std::size(ends))];
        for (std::size_t k = 0, width = std::size_t{1} << pick(4); k < width && at + k < text.size(); k++)
          text[at + k] = static_cast<char>(value >> 8 * k);
      }
    }
  }
  return text;
}

// Calls `read` with make(seed) for successive seeds.
inline void fuzz(const std::function<std::string(flitgym::u64)>& make, flitgym::u32 runs,
                 const std::function<void(const std::string&)>& read) {
  using Clock = std::chrono::steady_clock;
  const char* const given = std::getenv("FLITGYM_FUZZ_SECONDS");
  const auto end = Clock::now() + std::chrono::seconds(given ? std::atol(given) : 0);
  for (flitgym::u64 seed = 0; given ? Clock::now() < end : seed < runs; seed++) {
    const std::string text = make(seed);
    const auto begin = Clock::now();
    try {
      read(text);
    } catch (const flitgym::ConfigError&) {
    } catch (const flitgym::CoreError&) {
    } catch (const std::exception& error) {
      fail(__FILE__, __LINE__, "mutation " + std::to_string(seed) + " ends in " + error.what());
    }
    if (Clock::now() - begin > std::chrono::seconds(20))
      fail(__FILE__, __LINE__, "mutation " + std::to_string(seed) + " takes more than 20 s");
  }
}

// Calls `read` with mutations of `corpus`, which must be readable itself. `words` are the keywords of the format.
inline void fuzz(const std::vector<std::string>& corpus, const std::vector<std::string>& words, flitgym::u32 runs,
                 const std::function<void(const std::string&)>& read) {
  for (const std::string& whole : corpus) read(whole);
  fuzz([&](flitgym::u64 seed) { return mutated(corpus, words, seed); }, runs, read);
}

}  // namespace testing
