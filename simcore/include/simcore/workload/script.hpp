// Writes a block in terms of MPI. Blocking calls follow each other. Requests run concurrently until they are waited
// for.
#pragma once

#include "simcore/limits.hpp"
#include "simcore/program.hpp"

namespace flitgym::workload {

class Script {
 public:
  using Request = u32;  // index of its operation in the block

  explicit Script(Block& block) : block_(block) {}

  void compute(u64 ns) {
    if (ns > 0) block([&] { return block_.calc(ns); });
  }
  Request send(u32 to, u64 bytes, i32 tag = 0) {
    return block([&] { return message(block_.send(to, bytes, tag)); });
  }
  Request receive(u32 from, u64 bytes, i32 tag = 0) {
    return block([&] { return message(block_.receive(from, bytes, tag)); });
  }
  Request isend(u32 to, u64 bytes, i32 tag = 0) {
    return begin([&] { return message(block_.send(to, bytes, tag)); });
  }
  Request ireceive(u32 from, u64 bytes, i32 tag = 0) {
    return begin([&] { return message(block_.receive(from, bytes, tag)); });
  }
  void wait(Request request) { done_.push_back(request); }
  void wait_all(const std::vector<Request>& requests) {
    for (const Request request : requests) wait(request);  // insert() would cause a false overflow warning of GCC 12
  }

  // A script of the same block that begins after everything waited for so far. Both continue concurrently.
  Script strand() {
    collect();
    return *this;
  }
  // Waits for everything that another script of the block waits for.
  void join(const Script& other) {
    for (const u32 request : other.done_)
      if (std::find(done_.begin(), done_.end(), request) == done_.end()) done_.push_back(request);
  }
  // The processor of the rank that works for messages. Computations always occupy processor 0.
  void use_processor(u8 cpu) { cpu_ = cpu; }
  // Marks the messages of a collective while it exists.
  struct Collectively {
    explicit Collectively(Script& script) : own(script), before(script.collective_) { own.collective_ = true; }
    ~Collectively() { own.collective_ = before; }
    Script& own;
    const bool before;
  };

 private:
  // Joins everything waited for, so that each of many successors names one predecessor.
  void collect() {
    if (done_.size() <= 1) return;
    const u32 all = block_.calc(0, cpu_);
    for (const u32 before : done_) block_.require(all, before);
    done_.assign(1, all);
  }
  u32 message(u32 op) {
    block_.ops[op].cpu = cpu_;
    block_.ops[op].collective = collective_;
    return op;
  }
  // The next operation depends on everything waited for since the previous one.
  template <class Add>
  u32 begin(Add add) {
    worked(8);
    collect();
    const u32 op = add();
    for (const u32 before : done_) block_.require(op, before);
    return op;
  }
  template <class Add>
  u32 block(Add add) {
    const u32 op = begin(add);
    done_.assign(1, op);
    return op;
  }

  Block& block_;
  std::vector<u32> done_;
  u8 cpu_ = 0;
  bool collective_ = false;
};

// A group of ranks of a job, in the order of the collective. `me` is the caller's position. Without a list the ranks
// are first, first + step, ..., so that a job of millions of ranks needs no lists.
struct Communicator {
  std::vector<u32> ranks;
  u32 me;
  u32 first = 0, step = 1, count = 0;
  u32 ranks_per_node = 1;  // successive ranks that share a node
  u32 size() const { return ranks.empty() ? count : static_cast<u32>(ranks.size()); }
  u32 rank(u32 place) const { return ranks.empty() ? first + place * step : ranks[place]; }
};

}  // namespace flitgym::workload
