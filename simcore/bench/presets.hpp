// The router presets of configs/router, which CMake compiles into the benchmark and the tests.
#pragma once

#include <charconv>
#include <sstream>
#include <string>

#include "simcore/params.hpp"

namespace flitgym::bench {

// The values of configs/router/NAME.yaml. Every line is `key: value # comment`; values are numbers or words. A preset
// that extends another one begins with `defaults: [OTHER]`.
inline Values router_preset(const std::string& name) {
  static const std::map<std::string, std::string> kFiles = {
#include "router_presets.inc"
  };
  const auto file = kFiles.find(name);
  if (file == kFiles.end()) throw ConfigError("no router preset '" + name + "'");
  Values values;
  std::istringstream lines(file->second);
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find('#'));
    const std::size_t colon = line.find(": "), end = line.find_last_not_of(' ');
    if (colon == std::string::npos) continue;
    const std::string text = line.substr(colon + 2, end - colon - 1);
    if (line.starts_with("defaults")) {
      const std::string other = text.substr(1, text.size() - 2);
      if (kFiles.contains(other)) values = router_preset(other);
      continue;
    }
    double number = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && rest == text.data() + text.size()) values[line.substr(0, colon)] = number;
    else values[line.substr(0, colon)] = text;
  }
  return values;
}

}  // namespace flitgym::bench
