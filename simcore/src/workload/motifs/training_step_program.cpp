// Writes the blocks of a training step. b, s, h: sequences of a micro-batch, tokens of a sequence, hidden size. The
// activations of a micro-batch have b s h values.
//
// Tensor parallelism: two allreduces of the activations per layer and direction (Narayanan et al., SC 2021, 3.2).
// Sequence parallelism: an allgather and a reduce_scatter instead of each allreduce (Korthikanti et al., MLSys 2023).
// Pipeline: activations to the next stage, their gradients to the previous one (Narayanan et al., 3.2).
// Experts: two alltoalls of top_k b s h values per layer and direction (GShard: Lepikhin et al., ICLR 2021, 3.3).
// Data: an allreduce of the gradients, or the collectives of ZeRO (Rajbhandari et al., SC 2020, section 7).
//
// Tensor parallelism splits the vocabulary, too, as in Megatron-LM (core/tensor_parallel). The input embedding adds an
// allreduce forward, and the output layer one backward. The loss adds three, of b s numbers of 4 bytes.
//
// Assumptions: tokens spread evenly over experts. The optimizer's computation, norms, biases and dropout take no time.
// Messages occupy a processor of their own (processor 1), as NCCL's kernels and proxies do next to the computation.
#include "workload/motifs/training_step_program.hpp"

#include <algorithm>
#include <cmath>

namespace flitgym::workload::motifs::training_step {

namespace {

// Bases of tags.
constexpr i32 kTensor = 0, kExpert = kCollectiveTags, kData = 2 * kCollectiveTags, kActivations = 3 * kCollectiveTags,
              kGradients = 4 * kCollectiveTags;
constexpr u32 kLossBytes = 4;  // the loss is computed in 32 bits

u64 cut(u64 whole, u64 parts) { return (whole + parts - 1) / parts; }

class Writer {
 public:
  Writer(const Settings& s, u32 rank, Script& script)
      : s_(s), script_(script), rank_(rank), in_tensor_(rank % s.tensor), in_data_(rank / s.tensor % s.data),
        stage_(rank / (s.tensor * s.data)) {
    script_.use_processor(1);
    tokens_ = u64{s.micro_batch} * s.model.sequence;
    activations_ = tokens_ * s.model.hidden * s.value_bytes;
  }

  void write(const Plan& plan) {
    for (const Exchange& exchange : plan.before) write(script_, exchange);
    Script background = script_.strand(), transfers = script_.strand();
    const u32 stride = s_.tensor * s_.data, ranks = s_.ranks();
    const u32 next = (rank_ + stride) % ranks, previous = (rank_ + ranks - stride) % ranks;
    if (plan.receives_activations) transfers.ireceive(previous, transfer_bytes(), kActivations);
    if (plan.receives_gradients) transfers.ireceive(next, transfer_bytes(), kGradients);
    for (const Exchange& exchange : plan.background) write(background, exchange);
    for (const Task& task : plan.tasks) {
      write(task);
      if (!task.sends) continue;
      Script output = script_.strand();
      output.isend(task.backward ? previous : next, transfer_bytes(), task.backward ? kGradients : kActivations);
    }
  }

 private:
  bool dispatches() const { return s_.expert > 1; }
  u64 transfer_bytes() const { return s_.sequence_parallel ? activations_ / s_.tensor : activations_; }

  // Every member of a group has the same place in the other dimensions.
  Communicator group(u32 first, u32 step, u32 count, u32 me) const {
    Communicator comm{{}, me, first, step, count};
    const u32 in_node = std::max(1u, s_.ranks_per_node / step);
    if (s_.ranks_per_node % step == 0 && count % in_node == 0) comm.ranks_per_node = in_node;
    else if (count * step <= s_.ranks_per_node) comm.ranks_per_node = count;
    return comm;
  }
  u32 rank(u32 tensor, u32 data) const { return tensor + s_.tensor * (data + s_.data * stage_); }
  Communicator tensor_group() const { return group(rank(0, in_data_), 1, s_.tensor, in_tensor_); }
  Communicator data_group() const { return group(rank(in_tensor_, 0), s_.tensor, s_.data, in_data_); }
  Communicator expert_group() const {
    return group(rank(in_tensor_, in_data_ / s_.expert * s_.expert), s_.tensor, s_.expert, in_data_ % s_.expert);
  }
  // The ranks that hold the same experts.
  Communicator replica_group() const {
    return group(rank(in_tensor_, in_data_ % s_.expert), s_.tensor * s_.expert, s_.data / s_.expert,
                 in_data_ / s_.expert);
  }
  Communicator embedding_group() const {
    const u32 place = rank_ % (s_.tensor * s_.data);
    return {{place, place + s_.tensor * s_.data * (s_.pipeline - 1)}, stage_ == 0 ? 0u : 1u};
  }

  // A collective over data of `whole` bytes. Shares of an allgather and parts of a reduce_scatter are padded to equal
  // sizes, as ZeRO does.
  void over(Script& script, const Communicator& comm, Collective which, u64 whole, i32 tag) const {
    if (comm.size() == 1 || whole == 0) return;
    const u64 share = cut(whole, comm.size());
    const u64 bytes = which == Collective::kAllgather       ? share
                      : which == Collective::kReduceScatter ? share * comm.size()
                                                            : whole;
    workload::collective(script, comm, which, bytes, s_.algorithm, tag, s_.pipelining);
  }
  void write(Script& script, const Exchange& exchange) const {
    const u64 each = exchange.which == Collective::kAllgather ? s_.value_bytes : s_.gradient_bytes;
    if (exchange.of_embedding)
      return over(script, embedding_group(), exchange.which, exchange.values.dense * each, kData);
    over(script, data_group(), exchange.which, exchange.values.dense * each, kData);
    over(script, replica_group(), exchange.which, exchange.values.expert * each, kData);
  }

  void compute(double flops) {
    const double ns = flops / s_.tensor / (s_.tflops * 1000);  // 1 TFLOP/s is 1,000 per ns
    script_.compute(static_cast<u64>(std::llround(std::min(ns, 9e18))));
  }
  // Before and after a part that tensor parallelism splits. An allreduce sums the result. With sequence parallelism, an
  // allgather collects the input, and a reduce_scatter distributes the sum.
  void enter(u64 bytes) {
    if (s_.sequence_parallel) over(script_, tensor_group(), Collective::kAllgather, bytes, kTensor);
  }
  void leave(u64 bytes) {
    over(script_, tensor_group(), s_.sequence_parallel ? Collective::kReduceScatter : Collective::kAllreduce, bytes,
         kTensor);
  }
  void split(u64 bytes, double flops) {
    enter(bytes);
    compute(flops);
    leave(bytes);
  }
  void dispatch() {
    if (!dispatches()) return;
    const u64 own = cut(s_.model.top_k * activations_, s_.sequence_parallel ? s_.tensor : 1);
    workload::collective(script_, expert_group(), Collective::kAlltoall, cut(own, s_.expert), s_.alltoall, kExpert,
                         {0, s_.pipelining.channels});
  }
  void attention(double passes) { split(activations_, passes * s_.model.attention_flops(s_.micro_batch)); }
  void feed_forward(double passes) {
    dispatch();
    split((dispatches() ? s_.model.top_k : 1) * activations_, passes * s_.model.feed_forward_flops(s_.micro_batch));
    dispatch();
  }

  void forward(const Task& task) {
    if (task.embedding) leave(activations_);
    for (u32 layer = 0; layer < task.layers; layer++) attention(1), feed_forward(1);
    if (!task.head) return;
    enter(activations_);
    compute(s_.model.head_flops(s_.micro_batch));
    for (u32 sum = 0; sum < 3; sum++)
      over(script_, tensor_group(), Collective::kAllreduce, tokens_ * kLossBytes, kTensor);
  }
  void backward(const Task& task) {
    if (task.head) {
      compute(2 * s_.model.head_flops(s_.micro_batch));
      leave(activations_);
    }
    for (u32 layer = 0; layer < task.layers; layer++) {
      if (s_.recompute) attention(1), feed_forward(1);
      feed_forward(2), attention(2);
    }
    if (task.embedding) enter(activations_);
  }
  void write(const Task& task) { task.backward ? backward(task) : forward(task); }

  const Settings& s_;
  Script& script_;
  u32 rank_, in_tensor_, in_data_, stage_;
  u64 tokens_ = 0, activations_ = 0;
};

}  // namespace

TrainingStep::TrainingStep(const Settings& given, u64 count) : settings(given), iterations(count) {
  ranks = settings.ranks();
  for (u32 stage = 0; stage < settings.pipeline; stage++) {
    Stage& made = stages_.emplace_back();
    made.plans = plans(settings, stage);
    made.alike.assign(made.plans.size(), 1);
    for (std::size_t k = made.plans.size(); k-- > 1;)
      if (made.plans[k - 1] == made.plans[k]) made.alike[k - 1] = made.alike[k] + 1;
    worked(made.plans.size());
  }
}

void TrainingStep::block(u32 rank, u64 index, Block& out) const {
  Script script(out);
  const Stage& stage = of(rank);
  Writer(settings, rank, script).write(stage.plans[index % stage.plans.size()]);
}

std::string TrainingStep::where(u32 rank, u64 index, u32) const {
  const u64 each = of(rank).plans.size();
  return "iteration " + std::to_string(index / each) + ", block " + std::to_string(index % each) + " of " +
         std::to_string(each);
}

}  // namespace flitgym::workload::motifs::training_step
