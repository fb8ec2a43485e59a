// The bytes of a file that a user names.
#pragma once

#include <string>

#include "simcore/types.hpp"

namespace flitgym {

// Reads a whole file. `who` begins every message and `expected` ends it. `copies` times the size of the file is claimed
// as memory. Throws ConfigError: there is no such file, it cannot be read, or it is a folder, a device or a pipe.
std::string read_plain_file(const std::string& path, const std::string& who, const std::string& expected, u32 copies);

}  // namespace flitgym
