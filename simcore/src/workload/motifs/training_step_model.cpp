// Published sizes of language models. `small` is not published; it keeps tests and first runs short.
//
// GPT: Brown et al., NeurIPS 2020, table 2.1 (13B has d_model 5,140 there, which 40 heads of 128 correct to 5,120).
// Llama: Touvron et al. 2023, table 2; inner size 2/3 4 h, rounded up to a multiple of 256. Mixtral 8x7B: Jiang et al.
// 2024, table 1.
#include "workload/motifs/training_step_model.hpp"

#include <algorithm>

#include "simcore/error.hpp"

namespace flitgym::workload::motifs::training_step {

namespace {

// clang-format off
constexpr Model kModels[] = {
    // layers hidden heads kv inner  vocabulary sequence experts top_k gated tied positions
    {   4,    256,    8,   8,  1024,  2048,      128,    1,      1, false, true,  true },
    {  40,   5120,   40,  40, 20480, 50257,     2048,    1,      1, false, true,  true },
    {  96,  12288,   96,  96, 49152, 50257,     2048,    1,      1, false, true,  true },
    {  32,   4096,   32,  32, 11008, 32000,     2048,    1,      1, true,  false, false},
    {  80,   8192,   64,  64, 22016, 32000,     2048,    1,      1, true,  false, false},
    {  32,   4096,   32,   8, 14336, 32000,    32768,    8,      2, true,  false, false},
};
// clang-format on

}  // namespace

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names{"small", "gpt_13b", "gpt_175b", "llama_7b", "llama_65b", "mixtral_8x7b"};
  return names;
}

const Model& model_named(const std::string& name) {
  const auto& names = model_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw ConfigError("motif.training_step.model: unknown value '" + name + "'" + did_you_mean(name, names) +
                      "; valid values: " + join(names));
  return kModels[found - names.begin()];
}

}  // namespace flitgym::workload::motifs::training_step
