// The two kinds of errors that users meet, and hints for misspelt names.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace flitgym {

// Makes the exception types the same on both sides of a shared library, even if its build hides all symbols.
#define FLITGYM_SHARED __attribute__((visibility("default")))

// The configuration cannot be built, or a call has an invalid argument. The message names key and value. Errors of the
// configuration are thrown before cycle 0.
struct FLITGYM_SHARED ConfigError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The simulation cannot continue (deadlock, end of time).
struct FLITGYM_SHARED CoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns " (did you mean 'x'?)" with the most similar name, or "" if none is similar.
std::string did_you_mean(const std::string& given, const std::vector<std::string>& valid);
std::string join(const std::vector<std::string>& words, const std::string& separator = ", ");

}  // namespace flitgym
