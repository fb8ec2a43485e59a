// A temporary file that lasts as long as the object.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "test.hpp"

namespace fabrics {

struct File {
  std::filesystem::path path;
  explicit File(const std::string& text, const std::string& end = ".txt") {
    static unsigned count = 0;
    path = std::filesystem::temp_directory_path() /
           ("flitgym_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++) + end);
    write(text);
  }
  ~File() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  void write(const std::string& text) const { CHECK((std::ofstream(path, std::ios::binary) << text).flush().good()); }
};

}  // namespace fabrics
