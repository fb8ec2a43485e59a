// Limits for long work outside the cycle loop. They make it interruptible and check memory before it is allocated. A
// long function (one that builds a simulation, or reads or checks a schedule) opens a LimitScope for its thread. Its
// loops call worked(), and code that is about to allocate calls claim_memory(). Without a scope both do nothing.
#pragma once

#include <chrono>
#include <functional>

#include "simcore/error.hpp"
#include "simcore/types.hpp"

namespace flitgym {

using KeepGoing = std::function<void()>;  // called from time to time; an exception ends the work

class LimitScope {
 public:
  // `keep_going` is called some 20 times a second and must outlive the scope. `max_memory_gb` limits the claimed
  // memory, in GB of 1e9 bytes; 0 means the free memory of the machine.
  explicit LimitScope(const KeepGoing& keep_going, double max_memory_gb = 0);
  explicit LimitScope(const KeepGoing&&, double = 0) = delete;  // a temporary would not outlive the scope
  ~LimitScope();
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;

  u64 claimed() const { return claimed_; }  // bytes

 private:
  friend void worked(u64 steps);
  template <class... Parts>
  friend void claim_memory(u64 bytes, const std::string& key, const Parts&... what);
  void ask();
  void claim(u64 bytes, const std::string& key, const std::string& what);

  LimitScope* const outer_;
  const KeepGoing& keep_going_;
  const double max_memory_gb_;
  u64 steps_ = 0, claimed_ = 0, free_ = 0;  // free_: free bytes of the machine, once queried
  std::chrono::steady_clock::time_point asked_;
};

namespace detail {
extern constinit thread_local LimitScope* limit_scope;
}

// Work in this scope is neither interrupted nor checked.
class Uninterrupted {
 public:
  Uninterrupted() : scope_(detail::limit_scope) { detail::limit_scope = nullptr; }
  ~Uninterrupted() { detail::limit_scope = scope_; }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  LimitScope* const scope_;
};

inline constexpr u64 kPatience = 1 << 16;  // steps (about a nanosecond each) between two readings of the clock

// Reports elementary steps of work. May throw what `keep_going` throws.
inline void worked(u64 steps = 1) {
  LimitScope* const scope = detail::limit_scope;
  if (scope && (scope->steps_ += steps) >= kPatience) scope->ask();
}

// Claims `bytes` that are about to be allocated for `what`, because of the configuration's `key`. Throws ConfigError
// with both numbers if all claims of this scope exceed the limit.
template <class... Parts>
void claim_memory(u64 bytes, const std::string& key, const Parts&... what) {
  if (detail::limit_scope) detail::limit_scope->claim(bytes, key, message({what...}));
}

// Bytes that the process can still allocate: the kernel's estimate, or less if a control group allows less.
u64 available_memory();

std::string gigabytes(double bytes);  // "0.52 GB"

}  // namespace flitgym
