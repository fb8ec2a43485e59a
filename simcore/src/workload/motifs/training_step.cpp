// A step of the training of a transformer, with data, tensor, pipeline, expert and sequence parallelism and ZeRO.
// training_step_program.cpp has the messages and their sources.
#include "simcore/workload/motif.hpp"
#include "workload/motifs/training_step_program.hpp"

namespace flitgym::workload::motifs::training_step {

namespace {

constexpr u64 kMostRanks = 1 << 24;

[[noreturn]] void refuse(const std::string& key, const std::string& what) {
  throw ConfigError("motif.training_step." + key + ": " + what);
}
std::string text(u64 number) { return std::to_string(number); }

void divides(const std::string& key, u32 parts, u32 whole, const std::string& what) {
  if (whole % parts != 0)
    refuse(key, text(parts) + " does not divide the " + text(whole) + " " + what + "; use a divisor");
}

// Values that are 0 are those of the published model.
Model model_of(const Params& params) {
  Model m = model_named(params.text("model"));
  const auto given = [&](const char* key, u32& value) {
    if (params.count(key)) value = params.count(key);
  };
  const u32 hidden = m.hidden, heads = m.heads;
  given("layers", m.layers), given("hidden", m.hidden), given("heads", m.heads);
  if (m.heads != heads) m.kv_heads = m.heads;
  if (m.hidden != hidden) m.intermediate = static_cast<u32>(u64{m.intermediate} * m.hidden / hidden);
  given("kv_heads", m.kv_heads), given("intermediate", m.intermediate), given("sequence", m.sequence);
  given("vocabulary", m.vocabulary), given("experts", m.experts), given("top_k", m.top_k);
  divides("heads", m.heads, m.hidden, "values of hidden");
  if (m.kv_heads > m.heads) refuse("kv_heads", text(m.kv_heads) + " exceeds the " + text(m.heads) + " heads");
  if (m.top_k > m.experts) refuse("top_k", text(m.top_k) + " exceeds the " + text(m.experts) + " experts");
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
    refuse("micro_batches", text(s.micro_batches) + " micro-batches of " + text(m.layers) + " layers exceed " +
                                text(kMostPasses) + " passes; use fewer micro-batches");
}

void check(const Settings& s) {
  check_sizes(s);
  divides("tensor", s.tensor, s.model.hidden, "values of hidden");
  divides("tensor", s.tensor, s.model.heads, "heads");
  if (s.model.layers % (s.pipeline * s.virtual_stages) != 0)
    refuse("pipeline", text(s.pipeline) + " stages with " + text(s.virtual_stages) +
                           " virtual stages do not divide the " + text(s.model.layers) + " layers");
  if (s.virtual_stages > 1 && (s.pipeline == 1 || s.micro_batches % s.pipeline != 0))
    refuse("virtual_stages",
           "the interleaved schedule needs pipeline > 1 and a number of micro_batches that is a "
           "multiple of pipeline; got pipeline=" +
               text(s.pipeline) + ", micro_batches=" + text(s.micro_batches));
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
  s.tensor = params.count("tensor"), s.pipeline = params.count("pipeline"), s.expert = params.count("expert");
  s.virtual_stages = params.count("virtual_stages");
  const u64 replica = u64{s.tensor} * s.pipeline;
  const u64 fewest = replica * s.expert;
  if (fewest > kMostRanks)
    refuse("tensor", "tensor x pipeline x expert = " + text(fewest) + " exceeds " + text(kMostRanks) + " ranks");
  if (ranks == 0) ranks = static_cast<u32>(fewest * std::max<u64>(1, 16 / fewest));
  if (ranks % replica != 0)
    refuse("tensor", "tensor x pipeline = " + text(replica) + " does not divide the " + text(ranks) + " ranks");
  s.data = static_cast<u32>(ranks / replica);
  s.sequence_parallel = params.boolean("sequence_parallel") && s.tensor > 1;
  s.zero = params.count("zero"), s.overlap = params.boolean("overlap"), s.recompute = params.boolean("recompute");
  s.micro_batch = params.count("micro_batch"), s.micro_batches = params.count("micro_batches");
  s.value_bytes = params.count("bytes_per_value"), s.gradient_bytes = params.count("bytes_per_gradient");
  s.bucket_bytes = static_cast<u64>(params.integer("bucket_bytes")), s.tflops = params.real("tflops");
  s.algorithm = algorithm_named(params.text("algorithm")), s.alltoall = algorithm_named(params.text("alltoall"));
  s.pipelining = {static_cast<u64>(params.integer("chunk_bytes")), params.count("channels")};
  s.ranks_per_node = params.count("ranks_per_node");
  check(s);
  return std::make_shared<TrainingStep>(s, scaled(params.count("iterations"), scale));
}

std::vector<ParamSpec> model_params() {
  const auto size = [](const char* key, i64 most, const char* unit, const std::string& doc) {
    return integer(key, 0, 0, most, unit, doc + "; 0 = that of the model");
  };
  return {
      choice(
          "model", "small", model_names(),
          "sizes of the transformer. gpt_13b, gpt_175b: Brown et al. 2020; llama_7b, llama_65b: Touvron et al. 2023; "
          "mixtral_8x7b: Jiang et al. 2024; small: 4 layers of 256 values, for first runs"),
      size("layers", 1 << 16, "", "transformer layers"),
      size("hidden", 1 << 20, "", "hidden size h; the inner size of feed-forward blocks grows with it"),
      size("heads", 1 << 16, "", "attention heads"),
      size("kv_heads", 1 << 16, "", "heads of keys and values"),
      size("intermediate", 1 << 24, "", "inner size of a feed-forward block"),
      size("vocabulary", 1 << 24, "", "size of the vocabulary"),
      size("sequence", 1 << 24, "tokens", "length of a sequence"),
      size("experts", 1 << 16, "", "feed-forward blocks of a layer; 1 = dense"),
      size("top_k", 1 << 16, "", "experts that each token uses"),
  };
}

std::vector<ParamSpec> params() {
  std::vector<ParamSpec> specs = model_params();
  const std::vector<ParamSpec> more{
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
  specs.insert(specs.end(), more.begin(), more.end());
  return specs;
}

const Register<MotifSpec> registration{{
    .name = "training_step",
    .summary = "training of a transformer with data, tensor, pipeline, expert and sequence parallelism",
    .params = params(),
    .build = build,
}};

}  // namespace

}  // namespace flitgym::workload::motifs::training_step
