// Memory of the arbiter kIslip for a port (Network::islip): the pointers of iSLIP, and the credits that wait at the
// input. A channel carries one credit per flit time (BookSim2, iq_router.cpp: _SendCredits), but with a speedup an
// input frees several slots in this time.
#pragma once

#include "simcore/state.hpp"

namespace flitgym {

struct IslipPort {
  u16* own;
  u32 vcs, slots;  // slots: all flits of the port's buffers; 0 if no credit waits

  static u32 columns(u32 vcs, u32 slots) { return 5 + 2 * vcs + slots; }
  u16& output() const { return own[0]; }                    // next input port to which the output grants
  u16& input() const { return own[1]; }                     // next output port that the input accepts
  u16& input_vc() const { return own[2]; }                  // next VC of the input
  u16& first_credit() const { return own[3]; }              // index of the oldest credit that waits
  u16& credits() const { return own[4]; }                   // their number
  u16& output_vc(u32 vc) const { return own[5 + vc]; }      // next input VC (bit) to which an output VC grants
  u16& accepts(u32 vc) const { return own[5 + vcs + vc]; }  // next output VC of the router that an input VC accepts
  u16& credit(u32 k) const { return own[5 + 2 * vcs + (first_credit() + k) % slots]; }  // VC | job << kVcBits

  static constexpr u32 kVcBits = 5;
  static_assert(kMaxVcs == 1u << kVcBits);
  void push_credit(u32 vc, u32 job) const {
    credit(credits()) = static_cast<u16>(vc | job << kVcBits);
    credits()++;
  }
  u32 pop_credit() const {
    const u32 oldest = credit(0);
    first_credit() = static_cast<u16>((first_credit() + 1) % slots);
    credits()--;
    return oldest;
  }
};

inline u32 waiting_credits(const Network& net) {
  return net.router.edge_mask > 0 ? net.vcs * net.router.input_depth : 0;
}

inline IslipPort islip_port(const Network& net, u16* memory, u32 port) {
  const u32 slots = waiting_credits(net);
  return {memory + std::size_t{port} * IslipPort::columns(net.vcs, slots), net.vcs, slots};
}

}  // namespace flitgym
