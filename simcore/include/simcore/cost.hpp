// The cost of a routing in the hardware of a router: arithmetic, memory and feedback. Components declare the arithmetic
// next to the code that does it. Memory and messages follow from the declared memories of a network.
#pragma once

#include <string>
#include <vector>

namespace flitgym {

struct Network;

// Operations of a decision, or of an update of a learned table.
struct Operations {
  double multiplications = 0, additions = 0, comparisons = 0;
  double reads = 0;  // entries of learned tables
  Operations& operator+=(const Operations& o) {
    multiplications += o.multiplications;
    additions += o.additions;
    comparisons += o.comparisons;
    reads += o.reads;
    return *this;
  }
  Operations operator*(double n) const { return {multiplications * n, additions * n, comparisons * n, reads * n}; }
};

struct HardwareCost {
  bool counted = false;            // the routing declares its operations
  Operations decision, update;     // update: of a learned table, per feedback message
  double inputs = 0;               // numbers that a decision reads from queues and tables (features of an agent)
  double weights = 0, biases = 0;  // of a neural network
  double weight_bytes = 0;         // of weights, their scales and biases; all routers hold the same
  struct Memory {
    std::string name;
    bool learned;
    double bytes;  // per router
  };
  std::vector<Memory> memories;         // of the routing, per router
  double header_bits = 0;               // that a packet carries for the routing
  double row_bits = 0, value_bits = 0;  // of a feedback message; 0: no feedback
};

// `candidates`: mean number of candidates that a decision compares.
HardwareCost hardware_cost(const Network&, double candidates);

}  // namespace flitgym
