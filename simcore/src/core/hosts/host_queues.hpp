// Queues for a processor, or for one direction of a NIC, of a LogGOPS host.
#pragma once

#include "core/hosts/engine.hpp"

namespace flitgym::workload {

class HostQueues {
 public:
  static constexpr u32 kNoNic = kNone;
  static u32 way(u32 nic_number, bool receive) { return nic_number * 2 + receive; }

  HostQueues(const Workload& workload, State& state, Hosts& hosts) : w_(workload), s_(state), hosts_(hosts) {}

  // Time and order of the current event.
  void begin(u64 now, u64 turn) { now_ = now, turn_ = turn; }

  // Returns true if the operation must wait, and schedules its next attempt. In LogGOPS, an operation may need a
  // processor and a NIC at the same time. It holds neither until both are free, and keeps its place in the order
  // meanwhile. An MPI host has no such gap, so its operations never wait here.
  //
  // When a resource becomes free, only the first operation that waits for it is tried again, because later operations
  // would find it busy. `kNoNic`: only a processor is needed.
  bool comes_again(u32 rank, u32 cpu_number, u32 nic_way, HostAction action, u32 id) {
    if (w_.host.kind != HostKind::kLogGops) return false;
    const std::size_t first = std::size_t{rank} * (w_.cpus + 2 * w_.nics), of_cpu = first + cpu_number;
    const std::size_t of_nic = nic_way == kNoNic ? of_cpu : first + w_.cpus + nic_way;
    const u64 cpu_free = s_.cpu_free[std::size_t{rank} * w_.cpus + cpu_number];
    const u64 nic_free = nic_way == kNoNic ? 0 : s_.nic_free[std::size_t{rank} * w_.nics * 2 + nic_way];
    const u64 free = std::max(cpu_free, nic_free);
    if (free <= now_) {
      leave(of_cpu, id);
      if (of_nic != of_cpu) leave(of_nic, id);
      return false;
    }
    const std::size_t blocked = cpu_free >= nic_free ? of_cpu : of_nic;
    if (of_nic != of_cpu) leave(blocked == of_cpu ? of_nic : of_cpu, id);
    HostQueue& queue = s_.host_queues[blocked];
    const bool in_front = queue.front == id && queue.order == turn_;
    // If operations wait and none is in front, ask_next() will put the first of them in front.
    const bool first_in_turn = turn_ < queue.order && (queue.front != kNone || queue.waiting == kNone ||
                                                       turn_ < hosts_.waiting[queue.waiting].order);
    if (!in_front && !first_in_turn) {
      wait(queue, action, id);
      return true;
    }
    queue.front = id;
    queue.order = turn_;
    put_event(hosts_, {free, turn_, static_cast<u32>(action), id});
    return true;
  }

  // Call after the event that took a resource, because only then the time is known at which the resource becomes free.
  void ask_next() {
    if (gone_.empty()) return;
    for (const std::size_t index : gone_) {
      HostQueue& queue = s_.host_queues[index];
      if (queue.front != kNone || queue.waiting == kNone) continue;
      const u32 entry = queue.waiting;
      const HostWaiting next = hosts_.waiting[entry];
      queue.waiting = merged_children(next.child);
      hosts_.free_waiting.push_back(entry);
      queue.front = next.id;
      queue.order = next.order;
      put_event(hosts_, {std::max(now_, free_of(index)), next.order, next.action, next.id});
    }
    gone_.clear();
  }

 private:
  // The operation in front got its resource, or now waits for another one. The next operation in the queue is tried as
  // soon as possible.
  void leave(std::size_t index, u32 id) {
    HostQueue& queue = s_.host_queues[index];
    if (queue.front != id || queue.order != turn_) return;
    queue.front = kNone;
    queue.order = ~u64{0};
    if (queue.waiting != kNone) gone_.push_back(index);
  }

  u64 free_of(std::size_t index) const {
    const std::size_t each = w_.cpus + 2 * w_.nics, rank = index / each, k = index % each;
    return k < w_.cpus ? s_.cpu_free[rank * w_.cpus + k] : s_.nic_free[rank * w_.nics * 2 + k - w_.cpus];
  }

  // ---- pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986), lowest order on top ----

  void wait(HostQueue& queue, HostAction action, u32 id) {
    const u32 entry = take(hosts_.waiting, hosts_.free_waiting);
    hosts_.waiting[entry] = {turn_, queue.came++, static_cast<u32>(action), id, kNone, kNone, 0};
    queue.waiting = merged(queue.waiting, entry);
  }
  u32 merged(u32 a, u32 b) {
    if (a == kNone || b == kNone) return a == kNone ? b : a;
    HostWaiting &x = hosts_.waiting[a], &y = hosts_.waiting[b];
    const bool a_first = x.order != y.order ? x.order < y.order : x.number < y.number;
    HostWaiting &above = a_first ? x : y, &below = a_first ? y : x;
    below.sibling = above.child;
    above.child = a_first ? b : a;
    return a_first ? a : b;
  }
  // Merges in pairs from the left, then into one from the right.
  u32 merged_children(u32 child) {
    u32 pairs = kNone;
    while (child != kNone) {
      const u32 one = child, two = hosts_.waiting[one].sibling;
      child = two == kNone ? kNone : hosts_.waiting[two].sibling;
      hosts_.waiting[one].sibling = kNone;
      if (two != kNone) hosts_.waiting[two].sibling = kNone;
      const u32 pair = merged(one, two);
      hosts_.waiting[pair].sibling = pairs;
      pairs = pair;
    }
    u32 all = kNone;
    while (pairs != kNone) {
      const u32 next = hosts_.waiting[pairs].sibling;
      hosts_.waiting[pairs].sibling = kNone;
      all = merged(all, pairs);
      pairs = next;
    }
    return all;
  }

  const Workload& w_;
  State& s_;
  Hosts& hosts_;
  u64 now_ = 0, turn_ = 0;
  std::vector<std::size_t> gone_;  // queues that the current event has left
};

}  // namespace flitgym::workload
