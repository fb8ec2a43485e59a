// Pipeline parallelism (GPipe; Huang et al., NeurIPS 2019): each rank holds some layers of a
// neural network. A batch is cut into micro-batches. All of them pass the ranks forward, and
// then backward. With s ranks, m micro-batches and messages without cost, an iteration takes
// 2 (m + s - 1) computations of one step. A rank waits during 2 (s - 1) of them (the bubble).
#include "simcore/workload/motif.hpp"

namespace flitgym::workload::motifs::pipeline {

namespace {

struct Pipeline : Loop {
  u32 micro_batches = 1;
  u64 bytes = 0, compute_ns = 0;

  void iteration(u32 rank, u64, Script& script) const override {
    pass(script, rank > 0 ? rank - 1 : kNone, rank + 1 < ranks ? rank + 1 : kNone,
         1);  // activations
    pass(script, rank + 1 < ranks ? rank + 1 : kNone, rank > 0 ? rank - 1 : kNone,
         2);  // gradients
  }
  void pass(Script& script, u32 from, u32 to, i32 tag) const {
    std::vector<Script::Request> sent;
    for (u32 k = 0; k < micro_batches; k++) {
      if (from != kNone) script.receive(from, bytes, tag);
      script.compute(compute_ns);
      if (to != kNone) sent.push_back(script.isend(to, bytes, tag));
    }
    script.wait_all(sent);
  }
};

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  auto program = std::make_shared<Pipeline>();
  program->ranks = ranks ? ranks : 8;
  program->iterations = scaled(params.count("iterations"), scale);
  program->micro_batches = params.count("micro_batches");
  program->bytes = static_cast<u64>(params.integer("bytes"));
  program->compute_ns = static_cast<u64>(params.integer("compute_ns"));
  return program;
}

const Register<MotifSpec> registration{
    {"pipeline",
     "micro-batches pass all ranks, forward and backward (GPipe)",
     {
         integer("bytes", 262144, 0, 1ll << 40, "B", "activations of a micro-batch"),
         integer("micro_batches", 8, 1, 1 << 16, "per iteration", "micro-batches of a batch"),
         integer("compute_ns", 10000, 0, 1ll << 50, "ns", "time of a rank per micro-batch"),
         integer("iterations", 10, 1, 1 << 30, "", "number of batches"),
     },
     build}};

}  // namespace

}  // namespace flitgym::workload::motifs::pipeline
