// One-sided accesses of all ranks to the memory of rank 0, as the congestors of GPCNeT (SC 2019; netbench/GPCNET,
// congestors.c): puts are an incast, and gets a broadcast. A rank begins `window` accesses and waits until they are
// complete. Rank 0 acknowledges the puts of a window with one empty message, and answers each get. Its processor works
// for both as the host model says, where a real NIC works alone.
#include "simcore/workload/motif.hpp"

namespace flitgym::workload::motifs::one_sided {

struct OneSided : Loop {
  u64 bytes = 0;
  u32 window = 1;
  bool put = true;

  void iteration(u32 rank, u64, Script& script) const override {
    // A put moves `bytes` to rank 0, and a get from it. The other message is empty: one per window, or one per get.
    const u32 received = put ? window : 1, answers = put ? 1 : window;
    const u64 to_target = put ? bytes : 0, from_target = put ? 0 : bytes;
    std::vector<Script::Request> requests;
    if (rank > 0) {
      for (u32 m = 0; m < answers; m++) requests.push_back(script.ireceive(0, from_target));
      for (u32 m = 0; m < window; m++) requests.push_back(script.isend(0, to_target));
      return script.wait_all(requests);
    }
    const Script begin = script;
    for (u32 source = 1; source < ranks; source++)
      for (u32 m = 0; m < answers; m++, requests.clear()) {
        Script own = begin;
        for (u32 k = 0; k < received; k++) requests.push_back(own.ireceive(source, to_target));
        own.wait_all(requests);
        own.send(source, from_target);
      }
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = repeated<OneSided>(params, ranks ? ranks : 16, scale);
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->window = params.count("window");
  program->put = params.text("operation") == "put";
  return program;
}

const Register<MotifSpec> registration{{
    .name = "one_sided",
    .summary = "all ranks write to rank 0, an incast, or read from it (GPCNeT)",
    .params =
        {
            integer("bytes", 4096, 0, 1ll << 40, "B", "size of one access"),
            integer("window", 8, 1, 1 << 16, "", "number of accesses of a rank at a time"),
            integer("iterations", 100, 1, 1 << 30, "", "number of windows"),
            choice("operation", "put", {"put", "get"}, "put = write to rank 0, get = read from it"),
        },
    .build = build,
}};

}  // namespace flitgym::workload::motifs::one_sided
