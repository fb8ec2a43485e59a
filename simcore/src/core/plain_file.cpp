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

// An open plain file. Throws ConfigError "who: reason" and `expected`.
class Opened {
 public:
  u64 size = 0;

  Opened(const std::string& path, const std::string& who, const std::string& expected)
      // Without O_NONBLOCK, open() of a pipe waits for a writer.
      : handle_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), who_(who), expected_(expected) {
    struct stat facts{};
    std::string why;
    if (handle_ < 0 || ::fstat(handle_, &facts) != 0) why = std::strerror(errno);
    else if (!S_ISREG(facts.st_mode)) why = "not a plain file";  // a device may have no end
    size = static_cast<u64>(facts.st_size);
    if (why.empty()) return;
    close();
    fail(why);
  }
  ~Opened() { close(); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  // Reads up to `most` bytes. Returns 0 at the end of the file.
  std::size_t read(char* to, std::size_t most) const {
    for (;;) {
      const ssize_t got = ::read(handle_, to, most);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) fail(std::strerror(errno));
    }
  }
  void* map() const {
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, handle_, 0);
    if (at == MAP_FAILED) fail(std::strerror(errno));
    return at;
  }

 private:
  void close() const {
    if (handle_ >= 0) ::close(handle_);
  }
  [[noreturn]] void fail(const std::string& why) const { throw ConfigError(who_ + ": " + why + expected_); }

  const int handle_;
  const std::string &who_, &expected_;
};

std::string read_plain_file(const std::string& path, const std::string& who, const std::string& expected, u32 copies) {
  const Opened file(path, who, expected);
  claim_memory(copies * file.size, who, std::to_string(file.size) + " bytes");

  constexpr std::size_t kPiece = 1 << 20;  // bytes
  std::string text;
  text.reserve(file.size + 1);
  for (std::size_t length = 0;;) {
    text.resize(length + kPiece);
    const std::size_t got = file.read(text.data() + length, kPiece);
    length += got;
    text.resize(length);
    if (got == 0) return text;
    worked(got);
  }
}

std::string read_plain_begin(const std::string& path, const std::string& expected, std::size_t most) {
  const Opened file(path, path, expected);
  std::string text(most, '\0');
  text.resize(file.read(text.data(), most));
  return text;
}

MappedFile::MappedFile(const std::string& path, const std::string& expected) {
  const Opened file(path, path, expected);
  size_ = file.size;
  // A mapping of 0 bytes is an error.
  if (size_ > 0) data_ = static_cast<const u8*>(file.map());
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<u8*>(data_), size_);
}

}  // namespace flitgym
