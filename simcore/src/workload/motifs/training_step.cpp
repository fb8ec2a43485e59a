// A step of the training of a transformer, with data, tensor, pipeline, expert and sequence parallelism and ZeRO.
//
// b, s, h: sequences of a micro-batch, tokens of a sequence, hidden size. The activations of a micro-batch have b s h
// values.
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
#include "simcore/workload/motif.hpp"
#include "workload/motifs/training_step_plan.hpp"

namespace flitgym::workload::motifs::training_step {

constexpr u64 kMostRanks = 1 << 24;

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
  void layer() {
    attention(1);
    feed_forward(1);
  }

  void forward(const Task& task) {
    if (task.embedding) leave(activations_);
    for (u32 k = 0; k < task.layers; k++) layer();
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
    for (u32 k = 0; k < task.layers; k++) {
      if (s_.recompute) layer();
      feed_forward(2);
      attention(2);
    }
    if (task.embedding) enter(activations_);
  }
  void write(const Task& task) { task.backward ? backward(task) : forward(task); }

  const Settings& s_;
  Script& script_;
  u32 rank_, in_tensor_, in_data_, stage_;
  u64 tokens_ = 0, activations_ = 0;
};

// Ranks are numbered with the tensor group fastest, then the data group, then the pipeline stage, as in Megatron-LM
// (its order tp-cp-ep-dp-pp). Successive members of a data group form its expert groups.
struct TrainingStep : Program {
  Settings settings;
  u64 iterations = 1;

  TrainingStep(const Settings& given, u64 count) : settings(given), iterations(count) {
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

  u64 blocks(u32 rank) const override { return iterations * of(rank).plans.size(); }
  u64 repeats(u32 rank, u64 index) const override { return of(rank).alike[index % of(rank).plans.size()]; }
  void block(u32 rank, u64 index, Block& out) const override {
    Script script(out);
    const Stage& stage = of(rank);
    Writer(settings, rank, script).write(stage.plans[index % stage.plans.size()]);
  }
  std::string where(u32 rank, u64 index, u32) const override {
    const u64 each = of(rank).plans.size();
    return "iteration " + std::to_string(index / each) + ", block " + std::to_string(index % each) + " of " +
           std::to_string(each);
  }

 private:
  struct Stage {
    std::vector<Plan> plans;
    std::vector<u32> alike;  // number of equal plans from this one on
  };
  const Stage& of(u32 rank) const { return stages_[rank / (settings.tensor * settings.data)]; }

  std::vector<Stage> stages_;
};

template <class... Parts>
[[noreturn]] void refuse(const std::string& key, const Parts&... what) {
  throw ConfigError("motif.training_step.", key, ": ", what...);
}

void divides(const std::string& key, u32 parts, u32 whole, const std::string& what) {
  if (whole % parts != 0) refuse(key, parts, " does not divide the ", whole, " ", what, "; use a divisor");
}

// Values that are 0 are those of the published model.
Model model_of(const Params& params) {
  Model m = model_named(params.text("model"));
  const auto given = [&](std::initializer_list<std::pair<const char*, u32*>> sizes) {
    for (const auto& [key, value] : sizes)
      if (params.count(key)) *value = params.count(key);
  };
  const u32 hidden = m.hidden, heads = m.heads;
  given({{"layers", &m.layers}, {"hidden", &m.hidden}, {"heads", &m.heads}});
  if (m.heads != heads) m.kv_heads = m.heads;
  if (m.hidden != hidden) m.intermediate = static_cast<u32>(u64{m.intermediate} * m.hidden / hidden);
  given({{"kv_heads", &m.kv_heads}, {"intermediate", &m.intermediate}, {"sequence", &m.sequence}});
  given({{"vocabulary", &m.vocabulary}, {"experts", &m.experts}, {"top_k", &m.top_k}});
  divides("heads", m.heads, m.hidden, "values of hidden");
  if (m.kv_heads > m.heads) refuse("kv_heads", m.kv_heads, " exceeds the ", m.heads, " heads");
  if (m.top_k > m.experts) refuse("top_k", m.top_k, " exceeds the ", m.experts, " experts");
  return m;
}

// Keeps products of sizes within 64 bits, and the list of blocks in memory.
void check_sizes(const Settings& s) {
  constexpr double kMostValues = 1e15;
  constexpr u64 kMostPasses = 1 << 22;
  const Model& m = s.model;
  const double block = 3.0 * m.hidden * m.intermediate * m.experts, attention = 4.0 * m.hidden * m.hidden;
  if (m.layers * (block + attention + 1.0 * m.hidden * m.experts) + 2.0 * m.vocabulary * m.hidden > kMostValues)
    refuse("hidden", "the model has more than 10^15 values; use fewer layers, experts or smaller sizes");
  if (8.0 * s.micro_batch * m.sequence * m.hidden * m.top_k > kMostValues)
    refuse("micro_batch", "the activations of a micro-batch exceed 10^15 bytes; use a smaller micro_batch or sequence");
  if (u64{s.micro_batches} * m.layers > kMostPasses)
    refuse("micro_batches", s.micro_batches, " micro-batches of ", m.layers, " layers exceed ", kMostPasses,
           " passes; use fewer micro-batches");
}

void check(const Settings& s) {
  check_sizes(s);
  divides("tensor", s.tensor, s.model.hidden, "values of hidden");
  divides("tensor", s.tensor, s.model.heads, "heads");
  if (s.model.layers % (s.pipeline * s.virtual_stages) != 0)
    refuse("pipeline", s.pipeline, " stages with ", s.virtual_stages, " virtual stages do not divide the ",
           s.model.layers, " layers");
  if (s.virtual_stages > 1 && (s.pipeline == 1 || s.micro_batches % s.pipeline != 0))
    refuse("virtual_stages",
           "the interleaved schedule needs pipeline > 1 and a number of micro_batches that is a multiple of pipeline; "
           "got pipeline=",
           s.pipeline, ", micro_batches=", s.micro_batches);
  if (s.zero >= 2 && s.pipeline > 1)
    refuse("zero",
           "ZeRO-2 and 3 do not work with a pipeline, because every micro-batch would reduce its gradients; "
           "use zero=0 or 1, or pipeline=1");
  divides("expert", s.expert, s.model.experts, "experts of a layer");
  divides("expert", s.expert, s.data, "data-parallel ranks");
  if (s.expert > 1 && s.tensor > 1 && !s.sequence_parallel)
    refuse("sequence_parallel",
           "expert parallelism with tensor > 1 needs sequence_parallel=true, because otherwise "
           "all ranks of a tensor group dispatch the same tokens");
}

std::shared_ptr<const Program> build(const Params& params, u32 ranks, double scale) {
  Settings s{};
  s.model = model_of(params);
  s.tensor = params.count("tensor");
  s.pipeline = params.count("pipeline");
  s.expert = params.count("expert");
  s.virtual_stages = params.count("virtual_stages");
  const u64 replica = u64{s.tensor} * s.pipeline;
  const u64 fewest = replica * s.expert;
  if (fewest > kMostRanks) refuse("tensor", "tensor x pipeline x expert = ", fewest, " exceeds ", kMostRanks, " ranks");
  if (ranks == 0) ranks = static_cast<u32>(fewest * std::max<u64>(1, 16 / fewest));
  if (ranks % replica != 0) refuse("tensor", "tensor x pipeline = ", replica, " does not divide the ", ranks, " ranks");
  s.data = static_cast<u32>(ranks / replica);
  s.sequence_parallel = params.boolean("sequence_parallel") && s.tensor > 1;
  s.zero = params.count("zero");
  s.overlap = params.boolean("overlap");
  s.recompute = params.boolean("recompute");
  s.micro_batch = params.count("micro_batch");
  s.micro_batches = params.count("micro_batches");
  s.value_bytes = params.count("bytes_per_value");
  s.gradient_bytes = params.count("bytes_per_gradient");
  s.bucket_bytes = static_cast<u64>(params.integer("bucket_bytes"));
  s.tflops = params.real("tflops");
  s.algorithm = algorithm_named(params.text("algorithm"));
  s.alltoall = algorithm_named(params.text("alltoall"));
  s.pipelining = {static_cast<u64>(params.integer("chunk_bytes")), params.count("channels")};
  s.ranks_per_node = params.count("ranks_per_node");
  check(s);
  return std::make_shared<TrainingStep>(s, scaled(params.count("iterations"), scale));
}

std::vector<ParamSpec> params() {
  const auto size = [](const char* key, i64 most, const char* unit, const std::string& doc) {
    return integer(key, 0, 0, most, unit, doc + "; 0 = that of the model");
  };
  return {
      choice(
          "model", "small", model_names(),
          "sizes of the transformer. gpt_13b, gpt_175b: Brown et al. 2020; llama_7b, llama_65b: Touvron et al. 2023; "
          "llama2_70b: Touvron et al. 2023b; mixtral_8x7b: Jiang et al. 2024; small: 4 layers of 256 values, for first "
          "runs"),
      size("layers", 1 << 16, "", "transformer layers"),
      size("hidden", 1 << 20, "", "hidden size h; the inner size of feed-forward blocks grows with it"),
      size("heads", 1 << 16, "", "attention heads"),
      size("kv_heads", 1 << 16, "", "heads of keys and values"),
      size("intermediate", 1 << 24, "", "inner size of a feed-forward block"),
      size("vocabulary", 1 << 24, "", "size of the vocabulary"),
      size("sequence", 1 << 24, "tokens", "length of a sequence"),
      size("experts", 1 << 16, "", "feed-forward blocks of a layer; 1 = dense"),
      size("top_k", 1 << 16, "", "experts that each token uses"),
      integer("tensor", 1, 1, 1 << 16, "ranks", "tensor-parallel ranks, which split every matrix"),
      integer("pipeline", 1, 1, 1 << 16, "stages",
              "pipeline stages. ranks / (tensor x pipeline) ranks are data-parallel"),
      integer("virtual_stages", 1, 1, 1 << 10, "",
              "chunks of layers of a pipeline stage; 1 = 1F1B, more = interleaved 1F1B"),
      integer("expert", 1, 1, 1 << 16, "ranks", "expert-parallel ranks, a part of the data-parallel ranks"),
      flag("sequence_parallel", false, "split the activations between the tensor-parallel parts, too"),
      integer("zero", 0, 0, 3, "",
              "ZeRO stage: 0 = allreduce of gradients; 1 = reduce_scatter of gradients, allgather of values; 2 = the "
              "same, gradients after every micro-batch; 3 = also allgather of values before every pass of a layer"),
      flag("overlap", true, "data-parallel communication runs at the same time as computation, bucket after bucket"),
      flag("recompute", false, "the backward pass of a layer repeats its forward pass, with its communication"),
      integer("micro_batch", 1, 1, 1 << 16, "sequences", "sequences of a micro-batch"),
      integer("micro_batches", 4, 1, 1 << 16, "",
              "micro-batches of a data-parallel rank per step (global batch / micro_batch / data-parallel ranks)"),
      integer("bytes_per_value", 2, 1, 8, "B", "size of a weight and of an activation"),
      integer("bytes_per_gradient", 2, 1, 8, "B", "size of a gradient in its reduction (Megatron-LM often uses 4)"),
      integer("bucket_bytes", 80000000, 1, 1ll << 40, "B",
              "gradients of successive layers are reduced together from this size on (Megatron-LM: 40 million values)"),
      real("tflops", 140, 1e-6, 1e6, "TFLOP/s",
           "computation of one accelerator that is reached (A100: 135 to 163, Narayanan et al. 2021, table 1)"),
      choice("algorithm", "ring", {"ring", "halving_doubling", "hierarchical", "auto"},
             "algorithm of allreduce, allgather and reduce_scatter"),
      choice("alltoall", "pairwise", {"pairwise", "linear", "bruck", "hierarchical", "auto"},
             "algorithm of the alltoall between experts"),
      integer("chunk_bytes", 0, 0, 1ll << 40, "B", "size of the chunks of a ring; 0 = whole messages"),
      integer("channels", 1, 1, kMostChannels, "", "parts of a collective's data, each in another order of the ranks"),
      integer("ranks_per_node", 1, 1, 1 << 20, "", "successive ranks that share a node, for algorithm=hierarchical"),
      integer("iterations", 1, 1, 1 << 30, "", "number of steps"),
  };
}

const Register<MotifSpec> registration{{
    .name = "training_step",
    .summary = "training of a transformer with data, tensor, pipeline, expert and sequence parallelism",
    .params = params(),
    .build = build,
}};

}  // namespace flitgym::workload::motifs::training_step
