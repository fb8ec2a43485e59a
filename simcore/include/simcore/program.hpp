// Program: the operations of the ranks of a job. A rank runs its blocks in sequence; a block is a DAG of send, receive
// and compute operations (GOAL: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language", ICPP 2009).
//
// A block is generated when a rank reaches it. So a loop of 7,200 iterations keeps only one block in memory.
#pragma once

#include "simcore/types.hpp"

namespace flitgym {

enum class OpKind : u8 { kCalc, kSend, kReceive };
inline constexpr u32 kAnySource = kNone;
inline constexpr i32 kAnyTag = -1;

struct Network;

struct Op {  // 24 bytes
  u64 size;  // bytes of a message, nanoseconds of a computation
  u32 peer;  // rank of the same job; a receive may take kAnySource
  i32 tag;   // a receive may take kAnyTag
  OpKind kind;
  u8 cpu, nic;      // processor and network interface of the rank (GOAL's `cpu` and `nic`)
  bool collective;  // part of a collective of a motif
  u8 reserved[4];
};
static_assert(sizeof(Op) == 24);

// `after` may start when `before` has finished or, with on_start, when `before` has started.
struct Dependency {
  u32 before, after;
  bool on_start;
};

struct Block {
  std::vector<Op> ops;
  std::vector<Dependency> dependencies;

  void clear() { ops.clear(), dependencies.clear(); }
  u32 add(const Op& op) {
    ops.push_back(op);
    return static_cast<u32>(ops.size()) - 1;
  }
  u32 calc(u64 ns, u8 cpu = 0) { return add({ns, 0, 0, OpKind::kCalc, cpu, 0, false, {}}); }
  u32 send(u32 to, u64 bytes, i32 tag = 0) { return add({bytes, to, tag, OpKind::kSend, 0, 0, false, {}}); }
  u32 receive(u32 from, u64 bytes, i32 tag = 0) { return add({bytes, from, tag, OpKind::kReceive, 0, 0, false, {}}); }
  void require(u32 after, u32 before, bool on_start = false) { dependencies.push_back({before, after, on_start}); }
};

// A message that its receiver does not wait for, as those of traffic=flows.
struct Flow {
  u64 bytes;
  u32 to;    // rank of the same job, another than the sender
  i32 kind;  // class, 0 or above
};
inline constexpr u64 kNoFlow = ~u64{0};

struct Program {
  u32 ranks = 0;
  virtual ~Program() = default;
  virtual u64 blocks(u32 rank) const = 0;
  // Fills `out`, which is empty. The same arguments always give the same block.
  virtual void block(u32 rank, u64 index, Block& out) const = 0;
  // The number of successive blocks, starting with block `index`, that differ only in their peers. Code that counts
  // operations and bytes looks only at the first of these blocks.
  virtual u64 repeats(u32 /*rank*/, u64 /*index*/) const { return 1; }
  // A rank without blocks may send flows, each at a time of its own. Sets `number` to the first flow from this number
  // on and returns its time in ps, or kNoFlow. `before` is the time of the flow before.
  virtual u64 flow_time(u32 /*rank*/, u64& /*number*/, u64 /*before*/) const { return kNoFlow; }
  virtual Flow flow(const Network&, u32 /*rank*/, u64 /*number*/) const { return {}; }
  // Source position of an operation for messages, such as "tree.goal:12", or "".
  virtual std::string where(u32 /*rank*/, u64 /*block*/, u32 /*op*/) const { return ""; }
};

struct FlowProgram : Program {  // flows only
  u64 blocks(u32) const override { return 0; }
  void block(u32, u64, Block&) const override {}
};

}  // namespace flitgym
