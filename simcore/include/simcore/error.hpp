// The two kinds of error a user can meet, and the sentence that helps with a misspelt name.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace flitgym {

// Both are known by one name on either side of a shared library, whatever else its build hides.
#define FLITGYM_SHARED __attribute__((visibility("default")))

// The configuration cannot be built or a call was given a wrong argument. Thrown before cycle 0, names key and value.
struct FLITGYM_SHARED ConfigError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// The simulation itself cannot go on (deadlock, end of time).
struct FLITGYM_SHARED CoreError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// " (did you mean 'x'?)" for the nearest spelling, or "" when nothing is near.
std::string did_you_mean(const std::string& given, const std::vector<std::string>& valid);
std::string join(const std::vector<std::string>& words, const std::string& separator = ", ");

}  // namespace flitgym
