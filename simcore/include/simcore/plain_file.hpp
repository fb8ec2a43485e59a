// Reads files that a user names.
#pragma once

#include "simcore/types.hpp"

namespace flitgym {

// Reads a whole file. `who` starts every message and `expected` ends it. Claims memory for `copies` copies of the file.
// Throws ConfigError if the file does not exist or cannot be read, or is a folder, a device or a pipe.
std::string read_plain_file(const std::string& path, const std::string& who, const std::string& expected, u32 copies);

// A plain file in memory, whose pages the system reads on their first use and may drop. The file must not become
// shorter while it is mapped: the system ends a process that reads a page that no longer exists.
class MappedFile {
 public:
  // Throws ConfigError "who: reason" and `expected`.
  MappedFile(const std::string& path, const std::string& who, const std::string& expected);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const u8* data() const { return data_; }
  u64 size() const { return size_; }

 private:
  const u8* data_ = nullptr;
  u64 size_ = 0;
};

}  // namespace flitgym
