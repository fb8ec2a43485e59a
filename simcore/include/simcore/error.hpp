// The two kinds of errors that users meet, and hints for misspelt names.
#pragma once

#include <charconv>
#include <concepts>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace flitgym {

// Makes the exception types the same on both sides of a shared library, even if its build hides all symbols.
#define FLITGYM_SHARED __attribute__((visibility("default")))

// A part of a message: text or a number. It refers to the text that it was made from.
struct Part {
  char digits[32];  // of a number
  std::string_view text;
  Part(const char* words) : text(words) {}
  Part(std::string_view words) : text(words) {}
  Part(const std::string& words) : text(words) {}
  Part(char letter) : text(digits, 1) { digits[0] = letter; }
  Part(std::integral auto number)
      : text(digits, static_cast<std::size_t>(std::to_chars(digits, std::end(digits), number).ptr - digits)) {}
  Part(double number);  // six digits, or as many more as it takes to be read as the same number
  Part(const Part&) = delete;
};
std::string message(std::initializer_list<Part> parts);

// The configuration cannot be built, or a call has an invalid argument. The message names key and value. Errors of the
// configuration are thrown before cycle 0.
struct FLITGYM_SHARED ConfigError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
  template <class One, class Two, class... Parts>
  ConfigError(const One& one, const Two& two, const Parts&... parts)
      : invalid_argument(message({one, two, parts...})) {}
};

// The simulation cannot continue (deadlock, end of time).
struct FLITGYM_SHARED CoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
  template <class One, class Two, class... Parts>
  CoreError(const One& one, const Two& two, const Parts&... parts) : runtime_error(message({one, two, parts...})) {}
};

// Returns " (did you mean 'x'?)" with the most similar name, or "" if none is similar.
std::string did_you_mean(const std::string& given, const std::vector<std::string>& valid);
std::string join(const std::vector<std::string>& words, const std::string& separator = ", ");

}  // namespace flitgym
