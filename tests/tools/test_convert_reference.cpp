// tools/convert_reference.py: weights under the reference's names become checkpoints, and back.
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "models/reference_names.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/golden.h"
#include "tests/support/tiny_models.h"
#include "tests/tools/run_python.h"

namespace loopless::testing {
namespace {

constexpr const char* kWeights = "tests/golden/weights.safetensors";

void expect_same_tensors(const std::string& got, const std::string& want) {
  const SafetensorsFile a = read_safetensors(got), b = read_safetensors(want);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, tensor] : b.tensors) {
    ASSERT_TRUE(a.tensors.contains(name)) << name;
    const Tensor& other = a.tensors.at(name);
    ASSERT_EQ(other.shape(), tensor.shape()) << name;
    EXPECT_EQ(std::memcmp(other.data(), tensor.data(), tensor.numel() * sizeof(float)), 0) << name;
  }
}

NamedParameters parameters_of(const Models& models) {
  NamedParameters all = models.rnn->parameters();
  for (const NamedParameter& one : models.teacher->parameters()) all.push_back(one);
  return all;
}

class ConvertReference : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_ / name; }
  std::string command(const std::string& flags) const {
    return kSystemPython + " tools/convert_reference.py " + flags;
  }
  void convert(const std::string& flags) {
    const Outcome outcome = run_command(command(flags));
    ASSERT_EQ(outcome.status, 0) << outcome.output;
  }
  void expect_error(const std::string& flags, int status, const std::string& message) {
    const Outcome outcome = run_command(command(flags));
    EXPECT_EQ(outcome.output, "convert_reference: " + message + "\n");
    EXPECT_EQ(outcome.status, status);
  }
  /// A checkpoint of tiny models, with moments beside the weights.
  void write_tiny(const std::string& path) {
    const Models models = tiny_models("dmt", 4);
    NamedTensors tensors;
    for (const NamedParameter& parameter : parameters_of(models)) {
      tensors.emplace_back(parameter.name, *parameter.tensor);
      tensors.emplace_back("adam.m." + parameter.name, *parameter.tensor);
    }
    write_safetensors(path, tensors, {{"format", "loopless checkpoint 1"}, {"step", "3"}});
  }
  /// Losses of the golden reading's row, through build/evaluate: a held-out split of one window.
  std::vector<double> losses_of_row(const Tensor& tokens) {
    std::vector<uint8_t> bytes(tokens.data<int32_t>(), tokens.data<int32_t>() + tokens.numel());
    const Tensor split = Tensor::from({tokens.numel()}, bytes);
    write_npy(at("tokens.npy"), split);
    const Outcome outcome =
        run_command(build_folder() + "/evaluate --load " + at("ours.safetensors") +
                    " --length 9 --dataset npy:" + at("tokens.npy") + "," + at("tokens.npy") +
                    " --json " + at("result.json"));
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    const auto json = nlohmann::json::parse(read_bytes(at("result.json")));
    EXPECT_EQ(json["windows"], 1);
    EXPECT_EQ(json["context"], 12);
    std::vector<double> losses;
    for (double bits : json["rnn"]["by_position"]) losses.push_back(bits * std::numbers::ln2);
    return losses;
  }

  TemporaryFolder folder_;
};

TEST_F(ConvertReference, round_trip_from_the_reference_keeps_every_bit) {
  convert(std::string(kWeights) + " -o " + at("ours.safetensors"));
  convert("--to_reference " + at("ours.safetensors") + " -o " + at("theirs.safetensors"));
  expect_same_tensors(at("theirs.safetensors"), kWeights);
}

TEST_F(ConvertReference, round_trip_from_ours_keeps_every_bit_of_the_weights) {
  write_tiny(at("tiny.safetensors"));
  convert("--to-reference " + at("tiny.safetensors") + " -o " + at("theirs.safetensors"));
  convert(at("theirs.safetensors") + " -o " + at("ours.safetensors") + " --method dmt");
  const Models want = tiny_models("dmt", 4);
  write_checkpoint(at("want.safetensors"), want.config, 3, parameters_of(want));
  expect_same_tensors(at("ours.safetensors"), at("want.safetensors"));
}

/// The table of names in Python is that of models/reference_names.cpp: both give the same models.
TEST_F(ConvertReference, names_are_those_of_the_library) {
  convert(std::string(kWeights) + " -o " + at("ours.safetensors") + " --Tc 12 --step 7");
  const Models models = load_models(at("ours.safetensors"));
  GoldenModels golden;
  EXPECT_EQ(models.step, 7);
  EXPECT_EQ(models.config.method, "smt");
  EXPECT_EQ(models.config.smt.Tc, 12);
  EXPECT_EQ(models.config.rnn, golden.rnn.config());
  EXPECT_EQ(models.config.teacher, golden.teacher.config());
  NamedParameters want = golden.rnn.parameters();
  for (const NamedParameter& one : golden.teacher.parameters()) want.push_back(one);
  const NamedParameters got = parameters_of(models);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].tensor->to_vector(), want[i].tensor->to_vector()) << want[i].name;
  }

  // Back again, the library finds every parameter under the names of its own table.
  write_tiny(at("tiny.safetensors"));
  convert("--to_reference " + at("tiny.safetensors") + " -o " + at("theirs.safetensors"));
  Models tiny = tiny_models("dmt", 4);
  const std::vector<float> before = tiny.rnn->parameters().back().tensor->to_vector();
  for (const NamedParameter& one : parameters_of(tiny)) one.tensor->zero();
  load_weights(parameters_of(tiny), at("theirs.safetensors"));
  EXPECT_EQ(tiny.rnn->parameters().back().tensor->to_vector(), before);
}

/// The reference's losses, teacher-forced, come out of the command line.
TEST_F(ConvertReference, golden_losses_through_evaluate) {
  convert(std::string(kWeights) + " -o " + at("ours.safetensors") + " --Tc 12");
  const Golden golden("read");
  const Tensor x = golden.at("in.x"), want = golden.at("loss_eval_");
  float largest = 0;
  for (float loss : want.to_vector()) largest = std::max(largest, loss);
  for (int64_t row = 0; row < x.size(0); ++row) {
    const std::vector<double> losses = losses_of_row(x.view_rows(row, 1));
    ASSERT_EQ(losses.size(), 9u);
    for (int64_t p = 0; p < 9; ++p) {
      EXPECT_NEAR(losses[p], want.data()[row * 9 + p], kGoldenDmt * largest) << row << ", " << p;
    }
  }
}

TEST_F(ConvertReference, what_weights_do_not_show_is_said_by_flags) {
  convert(std::string(kWeights) + " -o " + at("ours.safetensors") +
          " --mem_fsq 0.5 --mem_rms_norm False --rotary_pos_emb False --method dmt --dataset kjv");
  const TrainConfig config = read_checkpoint(at("ours.safetensors")).config;
  EXPECT_EQ(config.method, "dmt");
  EXPECT_EQ(config.run.dataset, "kjv");
  EXPECT_EQ(config.rnn.mem_fsq, 0.5);
  EXPECT_FALSE(config.teacher.mem_rms_norm);
  EXPECT_FALSE(config.teacher.rotary_pos_emb);
}

TEST_F(ConvertReference, errors_are_one_line) {
  const std::string weights = kWeights, out = " -o " + at("out.safetensors");
  expect_error(weights, 2,
               "the following arguments are required: -o/--output; --help shows the usage");
  expect_error(weights + out + " --Tc 0", 2,
               "argument --Tc: must be a whole number of at least 1, got '0'; --help shows the "
               "usage");
  expect_error(weights + " -o x.pkl", 2,
               "x.pkl: a checkpoint is a .safetensors file; --help shows the usage");
  expect_error("missing.safetensors" + out, 1,
               "missing.safetensors: cannot open: No such file or directory");
  expect_error("README.md" + out, 1, "README.md: is no safetensors file");
  expect_error("--to_reference " + weights + out, 1, weights + ": is no checkpoint of loopless");
  expect_error("--to_reference " + folder_.path() + out, 1,
               folder_.path() + ": holds no checkpoint (step_*.safetensors)");
  expect_error(weights + out + " --mem_tokens 5", 1,
               "--mem_tokens: is 5, the teacher has 4 registers");
  expect_error(weights + " -o " + at("no/out.safetensors"), 1,
               at("no/out.safetensors") + ": cannot write: No such file or directory");
  EXPECT_EQ(folder_.file_count(), 0);

  const Tensor one = Tensor::zeros({2, 3});
  write_safetensors(at("broken"), {{"rnn.embed.weight", one}});
  expect_error(at("broken") + out, 1, at("broken") + ": parameter rnn.to_logits.weight is missing");
  write_safetensors(at("broken"), {{"embed.weight", one}});
  expect_error(at("broken") + out, 1,
               at("broken") + ": embed.weight is no parameter of the reference's models");
  write_bytes(at("broken"), std::string("\x09\0\0\0\0\0\0\0{\"a\": 1}", 16));
  expect_error(at("broken") + out, 1, at("broken") + ": is no safetensors file");
  convert(weights + out);
  expect_error(weights + out, 1,
               at("out.safetensors") + ": is there already; --overwrite replaces it");
  convert(weights + out + " --overwrite");
}

TEST_F(ConvertReference, says_that_torch_is_missing) {
  write_bytes(at("torch.py"), "raise ImportError\n");
  const Outcome outcome = run_command("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + folder_.path() +
                                      " " + command("rnn.pkl -o " + at("out.safetensors")));
  EXPECT_EQ(outcome.output,
            "convert_reference: PyTorch is not importable (pip install torch); only .safetensors "
            "files do without it\n");
  EXPECT_EQ(outcome.status, 1);
}

/// Through torch: separate state dicts, and a checkpoint that nests them behind wrappers' names.
TEST_F(ConvertReference, torch_files) {
  if (!has_python_module("torch")) GTEST_SKIP() << "torch is not importable by " << python();
  const auto convert_with_torch = [&](const std::string& flags) {
    return run_command(python() + " tools/convert_reference.py " + flags);
  };
  convert(std::string(kWeights) + " -o " + at("ours.safetensors"));
  for (const char* model : {"rnn", "teacher"}) {
    const Outcome outcome =
        convert_with_torch("--to_reference " + at("ours.safetensors") + " --model " + model +
                           " -o " + at(std::string(model) + ".pkl"));
    ASSERT_EQ(outcome.status, 0) << outcome.output;
  }
  Outcome outcome = convert_with_torch(at("rnn.pkl") + " " + at("teacher.pkl") + " -o " +
                                       at("again.safetensors"));
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  expect_same_tensors(at("again.safetensors"), at("ours.safetensors"));

  write_bytes(at("nest.py"),
              "import sys, torch\n"
              "rnn, teacher = (torch.load(path) for path in sys.argv[1:3])\n"
              "wrapped = {'module._orig_mod.' + name: t for name, t in rnn.items()}\n"
              "teacher['encoder.rotary_pos_emb.inv_freq'] = torch.ones(16)\n"
              "torch.save({'iter': 5, 'models': {'rnn': wrapped, 'teacher': teacher},\n"
              "            'optim': {'state': {0: {'exp_avg': torch.ones(2)}}}}, sys.argv[3])\n"
              "torch.save({'a': open}, sys.argv[4])\n"
              "torch.save({'a': rnn, 'b': rnn}, sys.argv[5])\n");
  outcome =
      run_command(python() + " " + at("nest.py") + " " + at("rnn.pkl") + " " + at("teacher.pkl") +
                  " " + at("all.pt") + " " + at("code.pkl") + " " + at("twice.pt"));
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  outcome = convert_with_torch(at("all.pt") + " -o " + at("nested.safetensors"));
  ASSERT_EQ(outcome.status, 0) << outcome.output;
  expect_same_tensors(at("nested.safetensors"), at("ours.safetensors"));

  outcome = convert_with_torch(at("code.pkl") + " -o " + at("code.safetensors"));
  EXPECT_EQ(outcome.output,
            "convert_reference: " + at("code.pkl") +
                ": is no file of torch.save with tensors and plain containers alone\n");
  EXPECT_EQ(outcome.status, 1);
  outcome = convert_with_torch(at("twice.pt") + " -o " + at("twice.safetensors"));
  EXPECT_EQ(outcome.output,
            "convert_reference: " + at("twice.pt") + ", b: is a second rnn; the first is a\n");
  EXPECT_EQ(outcome.status, 1);
}

/// The lines of README.md that load a checkpoint in Python.
TEST_F(ConvertReference, readme_loads_a_checkpoint_with_plain_safetensors) {
  if (!has_python_module("safetensors") || !has_python_module("numpy")) {
    GTEST_SKIP() << "safetensors or numpy is not importable by " << python();
  }
  const std::string readme = read_bytes("README.md"), fence = "```python\n";
  const size_t begin = readme.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const size_t first = begin + fence.size();
  std::string lines = readme.substr(first, readme.find("```", first) - first);
  const size_t quote = lines.find("\"runs/");
  ASSERT_NE(quote, std::string::npos) << lines;
  lines.replace(quote + 1, lines.find('"', quote + 1) - quote - 1, at("ours.safetensors"));
  convert(std::string(kWeights) + " -o " + at("ours.safetensors"));
  write_bytes(at("lines.py"), lines +
                                  "print(weights['rnn.embed.weight'].shape, len(weights), "
                                  "config['rnn']['n_heads'])\n");
  const Outcome outcome = run_command(python() + " " + at("lines.py"));
  EXPECT_EQ(outcome.output, "(11, 16) 75 2\n");
}

}  // namespace
}  // namespace loopless::testing
