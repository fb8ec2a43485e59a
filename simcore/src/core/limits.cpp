#include "simcore/limits.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "simcore/error.hpp"

namespace flitgym {

namespace detail {
constinit thread_local LimitScope* limit_scope = nullptr;
}

constexpr auto kPause = std::chrono::milliseconds(50);
constexpr u64 kAlwaysThere = 64 << 20;  // bytes that are granted without asking the system
constexpr u64 kUnknown = std::numeric_limits<u64>::max();

// Returns the number after `key` in a file with lines "key number ...", or the file's first word if the key is empty.
static u64 number_in(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    u64 value = 0;
    if (!key.empty() && (!(words >> name) || name != key)) continue;
    return words >> value ? value : kUnknown;  // "max" is not a number
  }
  return kUnknown;
}

// Memory that a control group leaves. File pages count as used there, but can be reclaimed.
static u64 room_of_group(const std::string& folder, bool unified) {
  const u64 limit = number_in(folder + (unified ? "/memory.max" : "/memory.limit_in_bytes"), "");
  const u64 used = number_in(folder + (unified ? "/memory.current" : "/memory.usage_in_bytes"), "");
  if (limit == kUnknown || used == kUnknown) return kUnknown;
  u64 files = 0;
  for (const char* key : {"inactive_file", "active_file"}) {
    const u64 bytes = number_in(folder + "/memory.stat", unified ? key : std::string("total_") + key);
    if (bytes != kUnknown) files += bytes;
  }
  const u64 held = used - std::min(used, files);
  return limit - std::min(limit, held);
}

// The minimum over the control groups of this process, from its own group up to the root.
static u64 room_of_groups() {
  u64 room = kUnknown;
  std::ifstream in("/proc/self/cgroup");  // number:controllers:path
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",memory,") == controllers.npos) continue;
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (std::string path = line.substr(second + 1);; path.resize(path.rfind('/'))) {
      if (path == "/") path.clear();
      room = std::min(room, room_of_group(root + path, unified));
      if (path.find('/') == path.npos) break;
    }
  }
  return room;
}

LimitScope::LimitScope(const KeepGoing& keep_going, double max_memory_gb)
    : outer_(detail::limit_scope), keep_going_(keep_going), max_memory_gb_(max_memory_gb) {
  detail::limit_scope = this;
}

LimitScope::~LimitScope() { detail::limit_scope = outer_; }

void LimitScope::ask() {
  steps_ = 0;
  if (!keep_going_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < kPause) return;
  asked_ = now;
  keep_going_();
}

void LimitScope::claim(u64 bytes, const std::string& key, const std::string& what) {
  worked(kPatience);  // checks for interruption before work that may take long
  claimed_ = bytes > kUnknown - claimed_ ? kUnknown : claimed_ + bytes;
  const auto fail = [&](const std::string& most) {
    throw ConfigError(key, ": ", what, " take ", gigabytes(static_cast<double>(bytes)), " of memory, ",
                      gigabytes(static_cast<double>(claimed_)), " with the rest of the simulation; ", most);
  };
  if (max_memory_gb_ > 0 && static_cast<double>(claimed_) > max_memory_gb_ * 1e9)
    fail("max_memory_gb allows " + gigabytes(max_memory_gb_ * 1e9));
  if (claimed_ <= kAlwaysThere) return;
  if (free_ == 0) free_ = std::max<u64>(1, available_memory());
  if (claimed_ > free_) fail("this machine has " + gigabytes(static_cast<double>(free_)) + " free");
}

u64 available_memory() {
  const u64 free_kb = number_in("/proc/meminfo", "MemAvailable:");
  return std::min(free_kb == kUnknown ? kUnknown : free_kb * 1024, room_of_groups());
}

std::string gigabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 1e7 ? "%.2g GB" : "%.3g GB", bytes / 1e9);
  return text;
}

}  // namespace flitgym
