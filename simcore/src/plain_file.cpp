#include "plain_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "simcore/error.hpp"
#include "simcore/limits.hpp"

namespace flitgym {

namespace {

struct Handle {
  int number;
  ~Handle() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

std::string read_plain_file(const std::string& path, const std::string& who, const std::string& expected, u32 copies) {
  const auto refused = [&](const std::string& why) { return ConfigError(who + ": " + why + expected); };
  // Without O_NONBLOCK, open() of a pipe waits for a writer.
  const Handle file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  struct stat facts{};
  if (file.number < 0 || ::fstat(file.number, &facts) != 0) throw refused(std::strerror(errno));
  // A device may have no end.
  if (!S_ISREG(facts.st_mode)) throw refused("not a plain file");
  const u64 size = static_cast<u64>(facts.st_size);
  claim_memory(copies * size, who, std::to_string(size) + " bytes");

  constexpr u64 kPiece = 1 << 20;  // bytes
  std::string text;
  text.reserve(size + 1);
  for (u64 length = 0;;) {
    text.resize(length + kPiece);
    const ssize_t got = ::read(file.number, text.data() + length, kPiece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw refused(std::strerror(errno));
    length += static_cast<u64>(got);
    text.resize(length);
    if (got == 0) return text;
    worked(static_cast<u64>(got));
  }
}

}  // namespace flitgym
