#include "simcore/plain_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "simcore/error.hpp"
#include "simcore/limits.hpp"

namespace flitgym {

std::string read_plain_file(const std::string& path, const std::string& who, const std::string& expected, u32 copies) {
  const MappedFile file(path, who, expected);
  claim_memory(copies * file.size(), who, file.size(), " bytes");
  return {file.data(), file.data() + file.size()};
}

MappedFile::MappedFile(const std::string& path, const std::string& who, const std::string& expected) {
  // Without O_NONBLOCK, open() of a pipe waits for a writer.
  const int handle = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat facts{};
  std::string why;
  if (handle < 0 || ::fstat(handle, &facts) != 0) why = std::strerror(errno);
  else if (!S_ISREG(facts.st_mode)) why = "not a plain file";  // a device may have no end
  size_ = static_cast<u64>(facts.st_size);
  if (why.empty() && size_ > 0) {  // a mapping of 0 bytes is an error
    void* const at = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, handle, 0);
    if (at == MAP_FAILED) why = std::strerror(errno);
    else data_ = static_cast<const u8*>(at);
  }
  if (handle >= 0) ::close(handle);
  if (!why.empty()) throw ConfigError(who, ": ", why, expected);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<u8*>(data_), size_);
}

}  // namespace flitgym
