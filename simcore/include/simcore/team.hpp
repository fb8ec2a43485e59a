// A team of threads that repeatedly does a piece of work together. A piece takes microseconds to milliseconds, so a
// waiting thread polls for a while before it sleeps.
#pragma once

#include <unistd.h>

#include <atomic>
#include <exception>
#include <functional>
#include <system_error>
#include <thread>

#include "simcore/types.hpp"

namespace flitgym {

class Team {
 public:
  // The team has fewer than `wanted` threads if the system refuses more threads, or if the machine has fewer cores. Up
  // to 16 are always allowed, so that tests with several threads work on any machine.
  explicit Team(u32 wanted) : errors_(wanted) {
    try {
      const u32 most = std::min(wanted, std::max(16u, std::thread::hardware_concurrency()));
      for (u32 i = 1; i < most; i++) threads_.emplace_back([this, i] { serve(i); });
    } catch (const std::system_error&) {
    }
  }
  ~Team() {
    if (!here()) {
      new std::vector<std::thread>(std::move(threads_));  // leaked, because the threads do not exist in this process
      return;
    }
    work_ = nullptr;
    begin();
    for (std::thread& thread : threads_) thread.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // False in a forked process, which has none of the threads.
  bool here() const { return process_ == getpid(); }
  u32 size() const { return static_cast<u32>(threads_.size()) + 1; }
  u32 wanted() const { return static_cast<u32>(errors_.size()); }

  // Calls work(0) on this thread and work(1) .. work(size-1) on the others, and waits for all. Rethrows the exception
  // of the lowest number.
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
  // About 20 us, then about 1 ms on idle cores in which a thread yields between polls. Most waits are shorter, and a
  // thread that sleeps wakes up late.
  static constexpr int kPolls = 512, kYields = 2000;

  template <class Done>
  static void await(const std::atomic<u32>& value, Done done) {
    for (int poll = 0;; poll++) {
      const u32 seen = value.load(std::memory_order_acquire);
      if (done(seen)) return;
      if (poll >= kPolls + kYields) value.wait(seen, std::memory_order_acquire);
      else if (poll >= kPolls) std::this_thread::yield();
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
