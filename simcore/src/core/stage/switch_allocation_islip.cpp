// Switch allocation by one iteration of iSLIP (McKeown, IEEE/ACM Trans. Networking 7(2), 1999), for output VCs and for
// the switch, as in BookSim2 (iq_router.cpp, islip.cpp). Every output grants one request, and every input accepts one
// grant. Both choose the first candidate from their pointer on. Only an accepted grant moves the two pointers, behind
// the partner. An output whose grant is not accepted stays idle, so the matching need not be maximal.
#include "core/stage/switch.hpp"

namespace flitgym {

namespace {

using namespace switching;

// `value` counted from `pointer` on.
inline u32 turn(u32 value, u32 pointer, u32 size) { return (value - pointer) & (size - 1); }

template <Shape kShape>
class Islip {
 public:
  Islip(const Router<kShape>& at, u16* memory) : at_(at), memory_(memory) {}

  void allocate() {
    allocate_vcs();
    propose();
    accept();
  }

  // At the end of a flit time, each input sends its oldest credit. Returns whether any credit still waits.
  bool send_credits() {
    bool wait = false;
    for (u32 k = 0; k < x_.net.radix; k++) {
      const IslipPort port = of(k);
      if (port.credits() == 0) continue;
      if (edge(x_.f, x_.now) == x_.now) {
        const u32 credit = port.pop_credit();
        const Channel& back = at_.channels[k];
        x_.credit_lines[back.credit_line].push(
            {back.peer << x_.vc_shift | credit % kMaxVcs, 1, static_cast<u16>(credit >> IslipPort::kVcBits)});
      }
      wait |= port.credits() > 0;
    }
    return wait;
  }

 private:
  IslipPort of(u32 port) const { return islip_port(x_.net, memory_, at_.first_port | port); }
  u32 port_of(u32 bit) const { return bit >> x_.vc_shift; }
  u32 vc_of(u32 bit) const { return bit & ((1u << x_.vc_shift) - 1); }

  // Each head without an output VC requests all free VCs of its class.
  void allocate_vcs() {
    at_.each_asked(0, [&](u32 out_port) {
      const u32 first = at_.first_vc | out_port << x_.vc_shift;
      u32* const owners = &x_.owners[first];
      const u32 classes = at_.channels[out_port].kind == PortKind::kTerminal ? 1 : x_.net.routing_facts.classes;
      u32 heads[kMaxRadix * kMaxVcs], count = 0;
      at_.each_request(out_port, [&](u32 bit) {
        const InputVc& in = at_.inputs[bit];
        if (in.sent == 0 && owners[in.out_vc] != (at_.first_vc | bit)) heads[count++] = bit;
      });
      if (count == 0) return;
      u32 granted[kMaxVcs];  // bit of the input VC to which each output VC grants
      for (u32 vc = 0; vc < vcs_; vc++) {
        granted[vc] = kNone;
        if (owners[vc] != kNone) continue;
        const u32 from = of(out_port).output_vc(vc);
        for (u32 k = 0; k < count; k++)
          if (at_.inputs[heads[k]].out_vc % classes == vc % classes &&
              (granted[vc] == kNone || turn(heads[k], from, bits_) < turn(granted[vc], from, bits_)))
            granted[vc] = heads[k];
      }
      for (u32 k = 0; k < count; k++) {
        const u32 bit = heads[k];
        u16& pointer = of(port_of(bit)).accepts(vc_of(bit));
        u32 best = kNone;
        for (u32 vc = 0; vc < vcs_; vc++) {
          const u32 output_vc = out_port << x_.vc_shift | vc;
          if (granted[vc] == bit && (best == kNone || turn(output_vc, pointer, bits_) < turn(best, pointer, bits_)))
            best = output_vc;
        }
        if (best == kNone) continue;
        const u32 vc = vc_of(best);
        at_.inputs[bit].out_vc = static_cast<u16>(vc);
        owners[vc] = at_.first_vc | bit;
        x_.s.owned_since[first | vc] = x_.now;
        of(out_port).output_vc(vc) = static_cast<u16>((bit + 1) & (bits_ - 1));
        pointer = static_cast<u16>((best + 1) & (bits_ - 1));
      }
    });
  }

  // Each input proposes one VC to each output, and each output grants one input.
  void propose() {
    at_.each_asked(0, [&](u32 out_port) {
      if (at_.busy(at_.ports[out_port].output_busy_until)) return;
      const u32 from = of(out_port).output();
      u32 best = kNone;
      at_.each_request(out_port, [&](u32 bit) {
        const u32 in_port = port_of(bit);
        if (at_.busy(at_.ports[in_port].input_busy_until) || !has_room(at_, Request(at_, out_port, bit))) return;
        if (best != kNone && port_of(best) == in_port) {
          const u32 next = of(in_port).input_vc();
          if ((vc_of(bit) + vcs_ - next) % vcs_ < (vc_of(best) + vcs_ - next) % vcs_) best = bit;
        } else if (best == kNone || turn(in_port, from, ports_) < turn(port_of(best), from, ports_)) {
          best = bit;
        }
      });
      if (best != kNone) grants_[grant_count_++] = best << kPortBits | out_port;
    });
  }

  void accept() {
    for (u32 k = 0; k < grant_count_; k++) {
      const u32 bit = grants_[k] >> kPortBits, in_port = port_of(bit), out_port = grants_[k] & kPortMask;
      const u32 from = of(in_port).input();
      const bool best = std::none_of(grants_, grants_ + grant_count_, [&](u32 other) {
        return port_of(other >> kPortBits) == in_port &&
               turn(other & kPortMask, from, ports_) < turn(out_port, from, ports_);
      });
      if (best) winners_[winner_count_++] = grants_[k];
    }
    for (u32 k = 0; k < winner_count_; k++) {
      const u32 bit = winners_[k] >> kPortBits, out_port = winners_[k] & kPortMask, in_port = port_of(bit);
      of(out_port).output() = static_cast<u16>((in_port + 1) & (ports_ - 1));
      of(in_port).input() = static_cast<u16>((out_port + 1) & (ports_ - 1));
      of(in_port).input_vc() = static_cast<u16>((vc_of(bit) + 1) % vcs_);
      grant(at_, Request(at_, out_port, bit));
    }
  }

  const Router<kShape>& at_;
  u16* const memory_;
  const Fabric& x_ = at_.x;
  const u32 vcs_ = x_.net.vcs, ports_ = 1u << x_.radix_shift, bits_ = ports_ << x_.vc_shift;
  u32 grants_[kMaxRadix], winners_[kMaxRadix], grant_count_ = 0, winner_count_ = 0;
};

template <Shape kShape>
void allocate_by_islip(Frame& f) {
  const Fabric x(f);
  u16* const memory = f.net.islip.of(f.s);
  for (u32 word = 0; word < f.range.words; word++)
    for (u64 bits = f.active[word]; bits; bits &= bits - 1) {
      const Router<kShape> at(x, f.range.first_router + word * 64 + static_cast<u32>(__builtin_ctzll(bits)));
      Islip<kShape> islip(at, memory);
      islip.allocate();
      const bool wait = kShape.queued_credits && islip.send_credits();
      if (!wait && !at.any_asked()) f.active[word] &= ~(bits & -bits);
    }
}

}  // namespace

void switch_allocation_islip(Frame& f) {
  const RouterParams& router = f.net.router;
  if (router.edge_mask > 0) allocate_by_islip<Shape{.output_buffers = true, .queued_credits = true}>(f);
  else if (router.output_depth > 0) allocate_by_islip<Shape{.output_buffers = true}>(f);
  else allocate_by_islip<Shape{}>(f);
}

}  // namespace flitgym
