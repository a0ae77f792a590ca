/// The reference implementation's results, and how close ours must come.
///
/// Tolerances are relative to each tensor's largest value: four times the largest error of the
/// reference's own float32 run against its float64 run.
#pragma once

#include <map>
#include <string>

#include "models/rnn.h"
#include "models/teacher.h"
#include "tensor/safetensors.h"
#include "train/config.h"
#include "train/data/windows.h"

namespace loopless::testing {

inline constexpr double kGoldenSmt = 4 * 2e-7;         // results of SMT
inline constexpr double kGoldenUnif = 4 * 1.2e-6;      // loss_unif
inline constexpr double kGoldenBptt = 4 * 1.6e-6;      // results of BPTT
inline constexpr double kGoldenDmt = 4 * 3.5e-6;       // results of DMT, eight steps
inline constexpr double kGoldenGradient = 4 * 1.1e-6;  // gradients of SMT and DMT
inline constexpr double kGoldenBpttGradient = 4 * 3.2e-5;

/// One file of tests/golden.
class Golden {
 public:
  explicit Golden(const std::string& name);

  Tensor at(const std::string& tensor) const;
  float number(const std::string& tensor) const { return at(tensor).data()[0]; }
  const std::string& setting(const std::string& key) const;
  Windows windows() const { return {at("in.x"), at("in.y")}; }

  /// `ours` agrees with the tensor of that name: same number of elements, NaN never agrees.
  void expect(const Tensor& ours, const std::string& tensor, double tolerance) const;

  /// Every parameter's gradient agrees with "grad.*" under its reference names. A parameter whose
  /// gradient is all zeros there is one that the loss does not reach: ours must be zero or absent.
  /// Parameters without any gradient in the file must have none.
  void expect_gradients(const NamedParameters& parameters, double tolerance) const;

  /// Weights after training: 99.9 % of the elements within 1.4e-5, none further than `largest`.
  void expect_after(const NamedParameters& parameters, double largest) const;

 private:
  std::string name_;
  SafetensorsFile file_;
};

/// The models of the golden files with their weights; `memory` changes what mem_fsq, mem_rms_norm
/// are.
struct GoldenModels {
  explicit GoldenModels(const ModelConfig& memory = {});
  Teacher teacher;
  Rnn rnn;
};

}  // namespace loopless::testing
