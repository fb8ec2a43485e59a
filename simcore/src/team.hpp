// Threads that do one piece of work together, again and again. The pieces are some microseconds long, so a thread that
// waits looks for a while before it sleeps.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "simcore/types.hpp"

namespace flitgym {

// Threads beyond the cores gain nothing, and each takes memory. A few are always allowed, so that one core can test
// many.
inline u32 most_threads(u32 wanted) { return std::min(wanted, std::max(16u, std::thread::hardware_concurrency())); }

class Team {
 public:
  // A team has fewer than `wanted` threads where there are fewer cores, or the system gives no more threads.
  explicit Team(u32 wanted) : errors_(wanted) {
    try {
      for (u32 i = 1; i < most_threads(wanted); i++) threads_.emplace_back([this, i] { serve(i); });
    } catch (const std::system_error&) {
    }
  }
  ~Team() {
    if (!here()) {
      new std::vector<std::thread>(std::move(threads_));  // left alone: no thread is there to wait for
      return;
    }
    work_ = nullptr;
    begin();
    for (std::thread& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // In a process that was forked off its threads are missing.
  bool here() const { return process_ == getpid(); }
  u32 size() const { return static_cast<u32>(threads_.size()) + 1; }
  u32 wanted() const { return static_cast<u32>(errors_.size()); }

  // work(0) here and work(1) .. work(size-1) elsewhere; returns when all have. Rethrows what the first of them threw.
  void run(const std::function<void(u32)>& work) {
    work_ = &work;
    busy_.store(static_cast<u32>(threads_.size()), std::memory_order_relaxed);
    begin();
    attempt(0);
    await(busy_, [](u32 busy) { return busy == 0; });
    std::exception_ptr first;
    for (std::exception_ptr& error : errors_)
      if (auto one = std::exchange(error, nullptr); one && !first) first = one;
    if (first) std::rethrow_exception(first);
  }

 private:
  static constexpr int kLooks = 512;  // some 20 us

  template <class Done>
  static void await(const std::atomic<u32>& value, Done done) {
    for (int look = 0;; look++) {
      const u32 seen = value.load(std::memory_order_acquire);
      if (done(seen)) return;
      if (look >= kLooks) value.wait(seen, std::memory_order_acquire);
#if defined(__x86_64__)
      else __builtin_ia32_pause();
#endif
    }
  }

  void begin() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  void attempt(u32 i) {
    try {
      (*work_)(i);
    } catch (...) {
      errors_[i] = std::current_exception();
    }
  }

  void serve(u32 i) {
    for (u32 round = 0;; round++) {
      await(round_, [round](u32 now) { return now != round; });
      if (!work_) return;
      attempt(i);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  alignas(64) std::atomic<u32> round_{0};
  alignas(64) std::atomic<u32> busy_{0};
  const std::function<void(u32)>* work_ = nullptr;
  const pid_t process_ = getpid();
  std::vector<std::exception_ptr> errors_;
  std::vector<std::thread> threads_;
};

}  // namespace flitgym
