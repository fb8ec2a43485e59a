// What becomes of a decision: the packet in front of an input VC has a route, and asks for the switch.
#pragma once

#include <algorithm>

#include "stage/stage.hpp"

namespace flitgym {

// A class owns the VCs c, c + classes, ...: take the one with the most room.
inline u32 roomiest(const Network& net, const OutputVc* own, u32 first, u32 step) {
  u32 best = first;
  int most = -1;
  for (u32 vc = first; vc < net.vcs; vc += step) {
    const OutputVc& out = own[vc];
    const int room = out.owner == kNone ? int{out.credits} - int{out.count} + 65536 : 0;
    if (room > most) {
      most = room;
      best = vc;
    }
  }
  return best;
}
// The same where State keeps how full they are (Network::sensed), and none can be held by a packet.
inline u32 emptiest(const Network& net, const u16* own, u32 first, u32 step) {
  u32 best = first, least = own[first << net.sensed.column_shift];
  for (u32 vc = first + step; vc < net.vcs; vc += step) {
    const u32 flits = own[vc << net.sensed.column_shift];
    best = flits < least ? vc : best;
    least = std::min(flits, least);
  }
  return best;
}

// Nobody looks on (kPlain), a router's input VCs fill so many mask words (kWords, 0: any number), and switch allocation asks
// how long ports are busy (kBusyPorts). The arrays are fetched once per cycle.
template <bool kPlain, u32 kWords, bool kBusyPorts>
class Apply {
 public:
  explicit Apply(Frame& frame)
      : f(frame),
        net(frame.net),
        input_vcs(frame.s.input_vcs.data()),
        output_vcs(frame.s.output_vcs.data()),
        ports(frame.s.ports.data()),
        requests(frame.s.requests.data()),
        asked(frame.s.outputs_asked.data()),
        active(frame.active),
        packets(frame.s.packets.data()),
        filled(never_held(net) && net.sensed.parts == Occupancy::kBoth ? frame.sensed : nullptr),
        vcs(net.vcs),
        classes(net.routing_facts.classes),
        radix_shift(net.radix_shift),
        vc_shift(net.vc_shift),
        shift(radix_shift + vc_shift),
        words(kWords ? kWords : net.request_words),
        asked_words(kWords ? 1 : net.asked_words),
        first_router(frame.range.first_router),
        request_mask(net.request_mask),
        by_age(net.router.arbiter == Arbiter::kAge) {}

  // Of input VC `v`, at whose front is packet `id`: its router-local output port and VC class.
  __attribute__((always_inline)) void operator()(u32 v, u32 id, u32 out_port, u32 vc_class) const {
    const u32 router = v >> shift, bit = v & ((1u << shift) - 1), output = router << radix_shift | out_port;
    InputVc& in = input_vcs[v];
    in.out_port = static_cast<u16>(out_port);
    const bool any = vc_class == kAnyClass;
    const u32 first = any ? 0 : vc_class, step = any ? 1 : classes;
    const u32 vc = first + step >= vcs ? first  // the class has no other
                   : filled ? emptiest(net, &filled[net.sensed.at(output, 0)], first, step)
                            : roomiest(net, &output_vcs[output << vc_shift], first, step);
    in.out_vc = static_cast<u16>(vc);
    in.routed = 1;
    if (by_age) in.served = packets[id].generated;
    if (!kPlain && net.accounted_jobs) account_routed(f, v, output);
    // Switch allocation comes next and looks at both ports and at the output VC.
    if (kBusyPorts) {
      __builtin_prefetch(&ports[output], 1);
      __builtin_prefetch(&output_vcs[output << vc_shift | vc], 1);
      __builtin_prefetch(&ports[v >> vc_shift], 1);
    }
    // set_request() with its arrays at hand. Two words are 128 bits of v.
    const u32 asks = out_port & request_mask, at = router << radix_shift | asks;
    if (kWords == 1) requests[at] |= u64{1} << bit;
    else if (kWords == 2) requests[at * 2 + (v >> 6 & 1)] |= u64{1} << (v & 63);
    else requests[std::size_t{at} * words + bit / 64] |= u64{1} << (bit % 64);
    if (kWords) asked[router] |= u64{1} << asks;
    else asked[router * asked_words + asks / 64] |= u64{1} << (asks % 64);
    const u32 own = router - first_router;
    active[own / 64] |= u64{1} << (own % 64);
    if (!kPlain && (in.front & kWatched)) [[unlikely]]
      watch(f, in.front | kHead | (net.most_packet_flits == 1 ? kTail : 0), "is routed to", output, vc);
  }

 private:
  static bool never_held(const Network& net) { return net.most_packet_flits == 1 && !net.router.separate_vc_allocation; }

  Frame& f;
  const Network& net;
  InputVc* const input_vcs;
  const OutputVc* const output_vcs;
  const Port* const ports;
  u64* const requests;
  u64* const asked;
  u64* const active;
  const Packet* const packets;
  const u16* const filled;
  const u32 vcs, classes, radix_shift, vc_shift, shift, words, asked_words, first_router, request_mask;
  const bool by_age;
};

// make<kWords, kBusyPorts>() of the code made for what is known of a network.
template <class Make>
inline void for_shape(const Network& net, Make&& make) {
  const bool busy_ports = net.router.multi_cycle_switch;
  const u32 words = net.asked_words == 1 ? net.request_words : 0;
  if (words == 1) busy_ports ? make.template operator()<1, true>() : make.template operator()<1, false>();
  else if (words == 2) busy_ports ? make.template operator()<2, true>() : make.template operator()<2, false>();
  else make.template operator()<0, true>();
}

}  // namespace flitgym
