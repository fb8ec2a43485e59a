// State of a congestion control: the flows of the sources, and the acknowledgements on their way.
#pragma once

#include "simcore/wheel.hpp"

namespace flitgym {

// The packets of a source to a destination, or to several destinations (congestion_control.flows).
struct SenderFlow {
  float window;              // flits that may be in flight; with Control::pace: part of the rate of the link
  u32 in_flight;             // flits sent and not yet acknowledged
  u32 acknowledged, marked;  // flits of the present round; of `dcqcn`: its own counts
  float average, target;     // a control's own
  Cycle since, next;         // begin of the present round or of the last cut; first cycle of the next packet
};
static_assert(sizeof(SenderFlow) == 32);

struct Acknowledgement {
  u32 source, destination;  // of the acknowledged packet
  // Cycles from the acceptance by the NIC to the return of the acknowledgement; without queueing. In a packet: cycle of
  // this acceptance; cycles without queueing up to the receiver.
  u32 delay, idle;
  u32 grant;  // flits that the receiver lets the source have in flight
  u16 flits;  // 0: a notice of a router, which acknowledges nothing
  u16 marked;
};
static_assert(sizeof(Acknowledgement) == 24);

struct SentAcknowledgement {  // to another partition, within a partition window
  Acknowledgement content;
  Cycle sent, due;
};

struct ControlTotals {  // sums over the acknowledgements that came back in the measurement window
  u64 packets = 0, marked = 0;
  double window = 0;  // of SenderFlow::window
};

// The acknowledgements that come back to the sources of a partition.
#define FLITGYM_ACKNOWLEDGEMENTS(X)                                                                   \
  X(ControlTotals, totals)                  /* scalars */                                             \
  X(Wheel<Acknowledgement>, due)            /* from destinations of this partition */                 \
  X(Wheel<Acknowledgement>, far_due)        /* from other partitions */                               \
  X(std::vector<SentAcknowledgement>, sent) /* to other partitions, since the present window began */ \
  X(Wheel<u32>, paced)                      /* sources that are tried again */                        \
  X(std::vector<u32>, asking)               /* flows whose round has ended; with Control::period */

struct alignas(64) Acknowledgements {
  FLITGYM_ACKNOWLEDGEMENTS(FLITGYM_DECLARE)
};

}  // namespace flitgym
