// What work outside the cycle loop owes its user: it can be interrupted, and it says what memory it needs before it
// takes it. Whoever starts such work (building a simulation, reading a schedule, checking one) opens a LimitScope; the
// loops of the work call worked(), and whoever is about to allocate calls claim_memory(). Without a scope neither does
// anything. A scope holds for its thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "simcore/types.hpp"

namespace flitgym {

using KeepGoing = std::function<void()>;  // asked now and then; throws what ends the work

class LimitScope {
 public:
  // `keep_going` is asked some twenty times a second and must outlive the scope. `max_memory_gb` bounds what is
  // claimed, in GB of 1e9 bytes; 0 leaves it to what the machine has free.
  explicit LimitScope(const KeepGoing& keep_going, double max_memory_gb = 0);
  explicit LimitScope(const KeepGoing&&, double = 0) = delete;  // it would not outlive the scope
  ~LimitScope();
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;

  u64 claimed() const { return claimed_; }  // bytes

 private:
  friend void worked(u64 steps);
  friend void claim_memory(u64 bytes, const std::string& key, const std::string& what);
  void ask();
  void claim(u64 bytes, const std::string& key, const std::string& what);

  LimitScope* const outer_;
  const KeepGoing& keep_going_;
  const double max_memory_gb_;
  u64 steps_ = 0, claimed_ = 0, free_ = 0;  // free_: of the machine, once it was asked
  std::chrono::steady_clock::time_point asked_;
};

namespace detail {
extern constinit thread_local LimitScope* limit_scope;
}

// A part of the work that is done as a whole: nothing in it is interrupted or claimed.
class Uninterrupted {
 public:
  Uninterrupted() : scope_(detail::limit_scope) { detail::limit_scope = nullptr; }
  ~Uninterrupted() { detail::limit_scope = scope_; }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

 private:
  LimitScope* const scope_;
};

inline constexpr u64 kPatience = 1 << 16;  // steps (of nanoseconds each) between two looks at the clock

// So many elementary steps have been done. May throw what `keep_going` throws.
inline void worked(u64 steps = 1) {
  LimitScope* const scope = detail::limit_scope;
  if (scope && (scope->steps_ += steps) >= kPatience) scope->ask();
}

// `bytes` more are about to be allocated for `what`, because of the configuration's `key`. Throws ConfigError with both
// numbers where all that was claimed in this scope is more than may be used.
inline void claim_memory(u64 bytes, const std::string& key, const std::string& what) {
  if (detail::limit_scope) detail::limit_scope->claim(bytes, key, what);
}

// Bytes that a process can still take: what the kernel calls available, or less where a control group allows less.
u64 available_memory();

std::string gigabytes(double bytes);  // "0.52 GB"

}  // namespace flitgym
