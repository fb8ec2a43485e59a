// A plain LogGOPS interpreter for tests: the time that a program takes on a network without congestion, in whole ns. It
// shares no code with the engine that it is compared to.
//
// Let s be the bytes of a message and s' = max(s, 1) - 1 the bytes after the first. Each processor has a clock. Each
// interface has two, one per direction. A clock holds the time at which its owner is free again.
//   calc     waits for its processor and occupies it for its own time.
//   send     waits for its processor and outgoing interface. It occupies them for o + s'O and g + s'G.
//            Its message begins to arrive o + L later.
//   message  waits for the receiver's processor and incoming interface. It occupies them for
//            o + s' max(O, G) and g + s'G. Both have the numbers that the send names, because the receive
//            may not be known yet. Then the message meets the first posted receive, or is kept.
//   receive  is due when its processor is free. Then it meets the first kept message, or is posted. It takes no time
//            itself, even if the processor has been taken since.
// Times of finish:
//   calc, eager send (s <= S)  when the processor is free again
//   receive                    when its message has left the processor
//   rendezvous send            when its message has met its receive. The clocks of the send advance to that
//                              moment, without latency.
// A rank runs one block at a time.
//
// Events run in the order of time, and at equal times in the order of creation. An event that has to wait runs again
// when its clocks are free and keeps its place in the order of creation.
//
// As in LogGOPSim, an operation releases its successors when its time of finish is known. A calc and an eager send do
// so when they begin, a receive and a rendezvous send when the message meets the receive. LogGOPSim does so for all
// successors, which then wait only for their own processor. Here successors on other processors are released at the
// finish.
//
// The operations that an event has released become events rank by rank: first the sends, then the receives, then the
// calcs. As in LogGOPSim, std::sort orders them. With GCC's library it changes the order of equal elements if there are
// more than 16 operations.
#pragma once

#include <queue>

#include "simcore/rng.hpp"
#include "support/motif_programs.hpp"

namespace loggops {

inline const char* const kPingPong = R"(num_ranks 2
rank 0 {
c: calc 4000
s: send 1000b to 1 tag 7
r: recv 1000b from 1 tag 9
s requires c
}
rank 1 {
r: recv 1000b from 0 tag 7
k: calc 500
k requires r
s: send 1000b to 0 tag 9
s requires k
}
)";

using namespace flitgym;

// Times in ns, G and O in ns per byte, S in bytes. The defaults are LogGOPSim's.
struct Model {
  u64 L = 2500, o = 1500, g = 1000, G = 6, O = 0, S = 65535;
};

struct OpId {
  u32 rank;
  u64 block;
  u32 op;
};
struct Times {
  u32 rank;
  u64 block;
  u32 op;
  u64 start, finish;
};
struct Result {
  std::vector<u64> end;    // [ranks] time at which the last processor is free
  std::vector<Times> ops;  // in the order in which ranks reached them
  u64 last() const { return *std::max_element(end.begin(), end.end()); }
};

class Reference {
 public:
  Reference(const Program& program, const Model& model) : program_(program), model_(model), ranks_(program.ranks) {}

  Result run() {
    for (u32 rank = 0; rank < program_.ranks; rank++) enter_next_block(rank);
    create_released();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      if (event.kind == Kind::kFinish) finish(event.task);
      else if (event.kind == Kind::kMessage) message(event);
      else if (tasks_[event.task].op.kind == OpKind::kCalc) calc(event);
      else if (tasks_[event.task].op.kind == OpKind::kSend) send(event);
      else receive(event.task);
      create_released();
    }
    for (const Task& task : tasks_) {
      if (!task.finished)
        throw std::runtime_error("operation " + std::to_string(task.id.op) + " of block " +
                                 std::to_string(task.id.block) + " of rank " + std::to_string(task.id.rank) +
                                 " never finishes");
      result_.ops.push_back({task.id.rank, task.id.block, task.id.op, task.start, task.finish});
    }
    for (const Rank& rank : ranks_) {
      u64 end = 0;
      for (const u64 free : rank.cpu) end = std::max(end, free);
      result_.end.push_back(end);
    }
    return std::move(result_);
  }

 private:
  enum class Kind : u8 { kStart, kMessage, kFinish };
  struct Event {
    u64 time, number;
    Kind kind;
    u32 task;  // of a message: its send
    // Reversed: std::priority_queue takes the largest first.
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };
  struct Task {
    OpId id;
    Op op;
    u32 waits = 0;
    std::vector<u32> after_finish, after_start;
    u64 start = 0, finish = 0;
    u64 cpu_free = 0;  // time at which the processor of a send is free
    u32 cpu = kNone;   // processor whose successors have been released before the finish
    bool finished = false;
  };
  struct Kept {
    u32 send;
    u64 cpu_free;  // time at which the receiver's processor has handled the message
  };
  struct Rank {
    std::vector<u64> cpu = std::vector<u64>(256), out = cpu, in = cpu;  // times at which they are free
    std::vector<u32> posted;
    std::vector<Kept> kept;
    u64 next_block = 0;
    u32 open = 0;  // unfinished operations of the current block
  };

  void create(u64 time, Kind kind, u32 task) { events_.push({time, created_++, kind, task}); }

  // ---- blocks and dependencies ----

  void enter_next_block(u32 rank) {
    Rank& r = ranks_[rank];
    while (r.open == 0 && r.next_block < program_.blocks(rank)) {
      Block block;
      program_.block(rank, r.next_block, block);
      const u32 first = static_cast<u32>(tasks_.size());
      for (u32 op = 0; op < block.ops.size(); op++) {
        tasks_.emplace_back();
        tasks_.back().id = {rank, r.next_block, op};
        tasks_.back().op = block.ops[op];
      }
      for (const Dependency& d : block.dependencies) {
        tasks_[first + d.after].waits++;
        (d.on_start ? tasks_[first + d.before].after_start : tasks_[first + d.before].after_finish)
            .push_back(first + d.after);
      }
      r.next_block++;
      r.open = static_cast<u32>(block.ops.size());
      for (u32 task = first; task < tasks_.size(); task++)
        if (tasks_[task].waits == 0) released_[rank].push_back(task);
    }
  }

  void create_released() {
    for (auto& [rank, tasks] : released_) {
      const auto place = [&](u32 task) {
        const OpKind kind = tasks_[task].op.kind;
        return kind == OpKind::kSend ? 1 : kind == OpKind::kReceive ? 2 : 3;
      };
      std::sort(tasks.begin(), tasks.end(), [&](u32 a, u32 b) { return place(a) < place(b); });
      for (const u32 task : tasks) {
        const Op& op = tasks_[task].op;
        u64 time = std::max(now_, ranks_[rank].cpu[op.cpu]);
        if (op.kind == OpKind::kSend) time = std::max(time, ranks_[rank].out[op.nic]);
        create(time, Kind::kStart, task);
      }
    }
    released_.clear();
  }
  void meet(const std::vector<u32>& successors, u32 cpu, bool on_this_cpu) {
    for (const u32 task : successors)
      if ((tasks_[task].op.cpu == cpu) == on_this_cpu && --tasks_[task].waits == 0)
        released_[tasks_[task].id.rank].push_back(task);
  }
  void started(u32 task) {
    tasks_[task].start = now_;
    for (const u32 next : tasks_[task].after_start)
      if (--tasks_[next].waits == 0) released_[tasks_[next].id.rank].push_back(next);
  }
  // The finish has become known. The last work for the task is that of processor `cpu`.
  void ends(u32 task, u32 cpu) {
    tasks_[task].cpu = cpu;
    meet(tasks_[task].after_finish, cpu, true);
  }
  void finish(u32 task) {
    tasks_[task].finished = true;
    tasks_[task].finish = now_;
    const u32 rank = tasks_[task].id.rank;
    meet(tasks_[task].after_finish, tasks_[task].cpu, false);
    if (--ranks_[rank].open == 0) enter_next_block(rank);
  }

  // ---- the four kinds of events ----

  bool has_to_wait(Event event, u64 cpu_free, u64 nic_free) {
    const u64 time = std::max(cpu_free, nic_free);
    if (time <= now_) return false;
    event.time = time;
    events_.push(event);
    return true;
  }
  static u64 behind_first(const Op& op) { return std::max(op.size, u64{1}) - 1; }

  void calc(const Event& event) {
    const Task& task = tasks_[event.task];
    u64& cpu = ranks_[task.id.rank].cpu[task.op.cpu];
    if (has_to_wait(event, cpu, 0)) return;
    cpu = now_ + task.op.size;
    create(cpu, Kind::kFinish, event.task);
    started(event.task);
    ends(event.task, task.op.cpu);
  }
  void send(const Event& event) {
    Task& task = tasks_[event.task];
    u64& cpu = ranks_[task.id.rank].cpu[task.op.cpu];
    u64& out = ranks_[task.id.rank].out[task.op.nic];
    if (has_to_wait(event, cpu, out)) return;
    task.cpu_free = cpu = now_ + model_.o + behind_first(task.op) * model_.O;
    out = now_ + model_.g + behind_first(task.op) * model_.G;
    create(now_ + model_.o + model_.L, Kind::kMessage, event.task);
    const bool eager = task.op.size <= model_.S;
    if (eager) create(cpu, Kind::kFinish, event.task);
    started(event.task);
    if (eager) ends(event.task, task.op.cpu);
  }
  void message(const Event& event) {
    const Task& sent = tasks_[event.task];
    Rank& r = ranks_[sent.op.peer];
    u64 &cpu = r.cpu[sent.op.cpu], &in = r.in[sent.op.nic];
    if (has_to_wait(event, cpu, in)) return;
    cpu = now_ + model_.o + behind_first(sent.op) * std::max(model_.O, model_.G);
    in = now_ + model_.g + behind_first(sent.op) * model_.G;
    for (std::size_t k = 0; k < r.posted.size(); k++)
      if (fits(r.posted[k], event.task)) {
        const u32 task = r.posted[k];
        r.posted.erase(r.posted.begin() + static_cast<std::ptrdiff_t>(k));
        return met(task, event.task, cpu);
      }
    r.kept.push_back({event.task, cpu});
  }
  void receive(u32 task) {
    started(task);
    Rank& r = ranks_[tasks_[task].id.rank];
    for (std::size_t k = 0; k < r.kept.size(); k++)
      if (fits(task, r.kept[k].send)) {
        const Kept kept = r.kept[k];
        r.kept.erase(r.kept.begin() + static_cast<std::ptrdiff_t>(k));
        return met(task, kept.send, kept.cpu_free);
      }
    r.posted.push_back(task);
  }

  bool fits(u32 receives, u32 sends) const {
    const Op& wanted = tasks_[receives].op;
    const Task& sent = tasks_[sends];
    return (wanted.peer == kAnySource || wanted.peer == sent.id.rank) &&
           (wanted.tag == kAnyTag || wanted.tag == sent.op.tag);
  }
  void met(u32 receives, u32 sends, u64 cpu_free) {
    const Task& sent = tasks_[sends];
    if (sent.op.size > model_.S) {
      Rank& sender = ranks_[sent.id.rank];
      for (u64* clock : {&sender.cpu[sent.op.cpu], &sender.out[sent.op.nic]}) *clock = std::max(*clock, now_);
      create(std::max(now_, sent.cpu_free), Kind::kFinish, sends);
      ends(sends, sent.op.cpu);
    }
    create(std::max(now_, cpu_free), Kind::kFinish, receives);
    ends(receives, sent.op.cpu);
  }

  const Program& program_;
  const Model model_;
  u64 now_ = 0, created_ = 0;
  std::vector<Rank> ranks_;
  std::vector<Task> tasks_;
  std::priority_queue<Event> events_;
  std::map<u32, std::vector<u32>> released_;  // by rank, by the present event
  Result result_;
};

inline Result run(const Program& program, const Model& model = {}) { return Reference(program, model).run(); }

// ---- random programs ----

// A program of about `ops` operations. Every message has a receive, and no operation waits for itself. Operations are
// added one by one, each receive right after its send. They depend only on earlier operations, so the program can
// finish, also with rendezvous. With one processor, all operations of a rank are in one block.
class RandomProgram {
 public:
  RandomProgram(u64 seed, u32 ranks, u32 ops, const Model& model, u32 cpus)
      : seed_(seed), model_(model), cpus_(cpus), program_(std::make_shared<testing::Written>(ranks)) {
    for (auto& blocks : program_->of) blocks.resize(1);
    for (u32 made = 0; made < ops;) made += add(below(ranks));
  }
  std::shared_ptr<const Program> program() const { return program_; }

 private:
  static constexpr u32 kNics = 4;

  u32 below(u32 n) { return flitgym::below(draw(seed_, 0, drawn_++), n); }
  bool chance(u32 percent) { return below(100) < percent; }
  u8 cpu() { return static_cast<u8>(below(cpus_)); }

  u32 add(u32 rank) {
    if (cpus_ > 1 && chance(4) && !program_->of[rank].back().ops.empty()) program_->of[rank].emplace_back();
    if (chance(60)) {
      const u64 ns = chance(10) ? 0 : chance(50) ? 1000 : 1 + below(30000);
      add(rank, {ns, 0, 0, OpKind::kCalc, cpu(), 0, false, {}}, 0);
      return 1;
    }
    // Each message has a unique tag, so it meets its own receive in any order of arrival. Some sizes are close to S, on
    // both sides.
    const u32 to = chance(3) ? rank : below(program_->ranks);
    const u64 size = chance(5) ? 0 : chance(10) ? model_.S - 50 + below(100) : 1 + below(600);
    Op made{size, to, ++tag_, OpKind::kSend, cpu(), static_cast<u8>(below(kNics)), false, {}};
    add(rank, made, 0);
    made.kind = OpKind::kReceive;
    made.peer = chance(15) ? kAnySource : rank;
    add(to, made, to == rank);
    return 2;
  }
  // Adds an operation that depends on up to two earlier operations of the block, but on none of the last `spared`. In a
  // rendezvous of a rank with itself, the receive must not wait for the send.
  void add(u32 rank, const Op& made, u32 spared) {
    Block& mine = program_->of[rank].back();
    const u32 index = mine.add(made), earlier = index - std::min(index, spared);
    if (earlier == 0 || chance(30)) return;
    mine.require(index, chance(70) ? earlier - 1 : below(earlier), chance(15));
    if (chance(30)) mine.require(index, below(earlier), chance(15));
  }

  const u64 seed_;
  const Model model_;
  const u32 cpus_;
  u64 drawn_ = 0;
  i32 tag_ = 0;
  std::shared_ptr<testing::Written> program_;
};

inline std::shared_ptr<const Program> random_program(u64 seed, u32 ranks, u32 ops, const Model& model = {},
                                                     u32 cpus = 6) {
  return RandomProgram(seed, ranks, ops, model, cpus).program();
}

}  // namespace loggops
