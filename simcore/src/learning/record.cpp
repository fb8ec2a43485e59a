// Record of a decision. It is opened when the decision is made, and closed when the packet reaches its next decision or
// is delivered. The record becomes a transition when the feedback reaches the router that decided. Feedback takes the
// time of an empty path back.
#include "simcore/graph.hpp"
#include "simcore/learning.hpp"
#include "simcore/routing/choice.hpp"
#include "simcore/workload.hpp"

namespace flitgym {

constexpr u64 kNoDecision = ~u64{0};

static u32 new_entry(const Seam& seam, State& s) {
  if (!s.part.free_decisions.empty()) {
    const u32 id = s.part.free_decisions.back();
    s.part.free_decisions.pop_back();
    return id;
  }
  const u32 id = static_cast<u32>(s.open_decisions.size());
  s.open_decisions.emplace_back();
  for (auto* rows : {&s.open_observation, &s.open_next_observation}) rows->resize(rows->size() + seam.width);
  for (auto* rows : {&s.open_mask, &s.open_next_mask}) rows->resize(rows->size() + seam.slots);
  return id;
}

// Sends the feedback of record `id` from router `here` to the router that decided. A record that is due beyond the span
// of the wheel is pushed again later.
static void send_news(const Network& net, State& s, u32 id, u32 here) {
  OpenDecision& open = s.open_decisions[id];
  open.due = s.part.totals.now + 1 +
             static_cast<Cycle>(flight(net, graph_now(net, s), here, open.router) / net.cycle_ns + 0.5);
  s.part.news.push(std::min(open.due, s.part.totals.now + s.part.news.longest()), id);
}

// Time from the last router until the tail has arrived at the terminal.
static float last_hop_ns(const Network& net, const Packet& p) {
  const u32 port = net.port(net.terminal_router[p.destination], net.terminal_port[p.destination]);
  return net.seam->hop_ns[port] + static_cast<float>((p.flits - 1) * net.channels[port].flit_cycles * net.cycle_ns);
}

static void close(const Network& net, State& s, u32 id, u32 packet, u32 here, bool delivered) {
  const Packet& p = s.packets[packet];
  OpenDecision& open = s.open_decisions[id];
  Closing closing{p, open.decided, s.part.totals.now, 0};
  // Up to here the reward field holds the path time from the decision to the destination (open_record).
  if (net.seam->reward->tolled)
    closing.way_ns = delivered
                         ? open.reward + last_hop_ns(net, p)
                         : open.reward - flight(net, graph_now(net, s), here, waypoint(net, s, packet, here, kNone),
                                                net.terminal_router[p.destination]);
  open.reward = net.seam->reward->reward(net, s, closing);
  open.done = delivered;
}

void shape_record(const Network& net, State& s, Shaper& make) {
  const Seam& seam = *net.seam;
  const std::size_t n = seam.capacity;
  make(s.weights, seam.policy.size, 0.0f);
  make(s.part.news, 1023);
  make(s.delivered_from, net.terminals, Delivered{});
  for (auto* rows : {&s.ring_observation, &s.ring_next_observation}) make(*rows, n * seam.width, 0.0f);
  for (auto* rows : {&s.ring_mask, &s.ring_next_mask}) make(*rows, n * seam.slots, u8{0});
  for (auto* column : {&s.ring_reward, &s.ring_log_probability}) make(*column, n, 0.0f);
  for (auto* column : {&s.ring_decision, &s.ring_next_decision}) make(*column, n, u64{0});
  for (auto* column : {&s.ring_router, &s.ring_decided, &s.ring_job}) make(*column, n, 0u);
  make(s.ring_action, n, i64{0});
  make(s.ring_done, n, u8{0});
}

void start_record(const Network& net, State& s) {
  const Seam& seam = *net.seam;
  std::copy(seam.weights.begin(), seam.weights.end(), s.weights.begin());
  s.part.learning.epsilon = seam.epsilon;
  s.part.learning.temperature = seam.temperature;
}

void open_record(const Network& net, State& s, const Batch& b, u32 j) {
  const Seam& seam = *net.seam;
  const Decisions& d = b.decisions;
  const u32 i = d.request[j], packet = b.packet[i];
  const Packet& p = s.packets[packet];
  if (seam.record_part < 1 && unit(draw(net.seed, u64{p.source} << 32 | p.sequence, kDrawRecord)) >= seam.record_part)
    return;
  if (packet >= s.last_decision.size()) s.last_decision.resize(s.packets.size(), kNone);

  const u32 id = new_entry(seam, s), before = s.last_decision[packet];
  const u64 number = s.part.learning.decisions + j;
  s.part.learning.recorded++;
  const float* const row = d.observation.data() + std::size_t{j} * seam.width;
  const u8* const mask = d.mask.data() + std::size_t{j} * seam.slots;
  OpenDecision& open = s.open_decisions[id];
  open = {
      .number = number,
      .next = kNoDecision,
      .decided = s.part.totals.now,
      .due = 0,
      .router = b.router[i],
      .previous = kNone,
      .reward = 0,
      .log_probability = d.log_probability[j],
      .action = static_cast<u16>(d.chosen[j]),
      .done = 0,
      .job = p.job,
  };
  if (seam.reward->tolled) {
    const u32 local = d.ports[std::size_t{j} * seam.slots + d.chosen[j]], port = net.port(b.router[i], local);
    open.reward =
        seam.hop_ns[port] + flight(net, graph_now(net, s), seam.next_router[port],
                                   waypoint(net, s, packet, b.router[i], local), net.terminal_router[p.destination]);
  }
  std::copy_n(row, seam.width, &s.open_observation[std::size_t{id} * seam.width]);
  std::copy_n(mask, seam.slots, &s.open_mask[std::size_t{id} * seam.slots]);
  s.last_decision[packet] = id;
  if (before == kNone) return;

  OpenDecision& earlier = s.open_decisions[before];
  earlier.next = number;
  if (!seam.reward->at_next_decision) {
    open.previous = before;
    return;
  }
  std::copy_n(row, seam.width, &s.open_next_observation[std::size_t{before} * seam.width]);
  std::copy_n(mask, seam.slots, &s.open_next_mask[std::size_t{before} * seam.slots]);
  close(net, s, before, packet, b.router[i], false);
  send_news(net, s, before, b.router[i]);
}

void close_on_delivery(const Network& net, State& s, u32 packet) {
  const Packet& p = s.packets[packet];
  const u32 here = net.terminal_router[p.destination];
  const RewardSpec& reward = *net.seam->reward;
  if (reward.delivered) reward.delivered(net, s, p);
  if (packet >= s.last_decision.size()) return;
  for (u32 id = s.last_decision[packet]; id != kNone;) {
    const u32 previous = s.open_decisions[id].previous;
    close(net, s, id, packet, here, true);
    send_news(net, s, id, here);
    id = previous;
  }
  s.last_decision[packet] = kNone;
}

void file_transitions(const Network& net, State& s, std::vector<u32>& scratch) {
  const Seam& seam = *net.seam;
  const Cycle now = s.part.totals.now;
  if (!s.part.news.due(now)) return;
  scratch.clear();
  s.part.news.take(now, scratch);
  for (const u32 id : scratch) {
    const OpenDecision& open = s.open_decisions[id];
    if (open.due > now) {
      s.part.news.push(std::min(open.due, now + s.part.news.longest()), id);
      continue;
    }
    const std::size_t row = s.part.learning.transitions++ % seam.capacity;
    const auto copy = [&](auto& to, const auto& from, u32 width) {
      std::copy_n(&from[std::size_t{id} * width], width, &to[row * width]);
    };
    copy(s.ring_observation, s.open_observation, seam.width);
    copy(s.ring_mask, s.open_mask, seam.slots);
    if (open.done) {
      std::fill_n(&s.ring_next_observation[row * seam.width], seam.width, 0.0f);
      std::fill_n(&s.ring_next_mask[row * seam.slots], seam.slots, u8{0});
    } else {  // the packet's next decision has closed this record, which holds the observation of that decision
      copy(s.ring_next_observation, s.open_next_observation, seam.width);
      copy(s.ring_next_mask, s.open_next_mask, seam.slots);
    }
    s.ring_action[row] = open.action;
    s.ring_reward[row] = open.reward;
    s.ring_done[row] = static_cast<u8>(open.done);
    s.ring_log_probability[row] = open.log_probability;
    s.ring_decision[row] = open.number;
    s.ring_next_decision[row] = open.next;
    s.ring_router[row] = open.router;
    s.ring_decided[row] = open.decided;
    s.ring_job[row] = open.job;
    s.part.free_decisions.push_back(id);
  }
}

}  // namespace flitgym
