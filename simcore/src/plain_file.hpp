// Reads files that a user names.
#pragma once

#include <string>

#include "simcore/types.hpp"

namespace flitgym {

// Reads a whole file. `who` starts every message and `expected` ends it. Claims memory for `copies` copies of the file.
// Throws ConfigError if the file does not exist or cannot be read, or is a folder, a device or a pipe.
std::string read_plain_file(const std::string& path, const std::string& who, const std::string& expected, u32 copies);

}  // namespace flitgym
