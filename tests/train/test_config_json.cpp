#include <string>

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/support/files.h"
#include "train/config_json.h"
#include "train/flags.h"

namespace loopless {
namespace {

using nlohmann::json;
using testing::TemporaryFolder;
using testing::write_bytes;

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing thrown";
}

/// A configuration in which no setting has its default.
TrainConfig unusual(const std::string& method) {
  TrainConfig config = default_config(method);
  const auto change = [](const Setting&, auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_same_v<T, std::string>)
      value = "a \"quoted\" text";
    else if constexpr (std::is_same_v<T, LrSchedule>)
      value = LrSchedule::kConstant;
    else if constexpr (std::is_same_v<T, DmtGrad>)
      value = DmtGrad::kFullBptt;
    else if constexpr (std::is_same_v<T, std::array<double, 2>>)
      value = {0.1, 1.0 / 3};
    else if constexpr (std::is_same_v<T, std::optional<std::string>>)
      value = "a/b";
    else if constexpr (std::is_same_v<T, std::optional<int64_t>>)
      value = 7;
    else if constexpr (std::is_same_v<T, std::optional<double>>)
      value = 0.1;
    else if constexpr (std::is_same_v<T, double>)
      value = value / 3 + 0.01;
    else
      value += 3;
  };
  for_each_setting(config, change);
  config.run.seed = UINT64_MAX;
  return config;
}

TEST(ConfigJson, every_setting_survives) {
  for (const char* method : {"smt", "dmt", "bptt"}) {
    const TrainConfig config = unusual(method);
    const json written = to_json(config);
    EXPECT_EQ(to_json(from_json(json::parse(written.dump()))), written);
    EXPECT_NE(written, to_json(default_config(method)));
  }
  const TrainConfig config = from_json(to_json(unusual("dmt")));
  EXPECT_EQ(config.method, "dmt");
  EXPECT_EQ(config.run.seed, UINT64_MAX);
  EXPECT_EQ(config.rnn.mem_fsq, 0.1);
  EXPECT_EQ(config.dmt.grad, DmtGrad::kFullBptt);
  EXPECT_EQ(config.optimizer.adam_betas[1], 1.0 / 3);
}

TEST(ConfigJson, holds_the_sections_of_its_method) {
  const auto keys = [](const char* method) {
    std::string result;
    const json written = to_json(default_config(method));
    for (const auto& [key, value] : written.items()) result += key + " ";
    return result;
  };
  EXPECT_EQ(keys("smt"), "method optimizer rnn run smt teacher ");
  EXPECT_EQ(keys("dmt"), "dmt method optimizer rnn run teacher ");
  EXPECT_EQ(keys("bptt"), "bptt method optimizer rnn run ");
  EXPECT_TRUE(to_json(default_config("smt"))["rnn"]["mem_fsq"].is_null());
}

TEST(ConfigJson, missing_keys_keep_their_defaults) {
  const json given = {{"method", "dmt"}, {"dmt", {{"Td", 16}}}};
  TrainConfig expected = default_config("dmt");
  expected.dmt.Td = 16;
  EXPECT_EQ(to_json(from_json(given)), to_json(expected));
  EXPECT_EQ(expected.optimizer.batch_size, 32);
}

TEST(ConfigJson, errors) {
  json good = to_json(default_config("smt"));
  good["run"]["dataset"] = "kjv";
  good["run"]["save_dir"] = "runs/a";
  const auto changed = [&](const auto& change) {
    json json = good;
    change(json);
    return message_of([&] { from_json(json, "a.json"); });
  };
  EXPECT_EQ(changed([](json&) {}), "nothing thrown");
  EXPECT_EQ(changed([](json& j) { j.erase("method"); }),
            "a.json: method: must be \"smt\", \"dmt\" or \"bptt\", got null");
  EXPECT_EQ(changed([](json& j) { j["method"] = "sgd"; }),
            "a.json: method: must be \"smt\", \"dmt\" or \"bptt\", got \"sgd\"");
  EXPECT_EQ(changed([](json& j) { j["smt"] = 3; }), "a.json: smt: must be an object, got 3");
  EXPECT_EQ(changed([](json& j) { j["smt"]["Tcc"] = 3; }), "a.json: smt.Tcc: the key is unknown");
  EXPECT_EQ(changed([](json& j) { j["dmt"] = json::object(); }), "a.json: dmt: the key is unknown");
  EXPECT_EQ(changed([](json& j) { j = json::array(); }),
            "a.json: must be a JSON object, got array");

  const std::string count = "must be a whole number from 1 to 2147483647, got ";
  EXPECT_EQ(changed([](json& j) { j["smt"]["Tc"] = 0; }), "a.json: smt.Tc: " + count + "0");
  EXPECT_EQ(changed([](json& j) { j["smt"]["Tc"] = "64"; }), "a.json: smt.Tc: " + count + "\"64\"");
  EXPECT_EQ(changed([](json& j) { j["smt"]["Tc"] = 1.5; }), "a.json: smt.Tc: " + count + "1.5");
  EXPECT_EQ(changed([](json& j) { j["smt"]["Tc"] = nullptr; }),
            "a.json: smt.Tc: " + count + "null");
  EXPECT_EQ(changed([](json& j) { j["rnn"]["mem_fsq"] = "None"; }),
            "a.json: rnn.mem_fsq: must be a number of at least 1e-30 or None, got \"None\"");
  EXPECT_EQ(changed([](json& j) { j["optimizer"]["adam_betas"] = {0.9}; }),
            "a.json: optimizer.adam_betas: must be two numbers in [0, 1), got [0.9]");
  EXPECT_EQ(changed([](json& j) { j["smt"]["hot_rnn"] = 1; }),
            "a.json: smt.hot_rnn: must be True or False, got 1");
}

TEST(ConfigJson, files) {
  const TemporaryFolder folder;
  const std::string path = folder / "config.json";
  TrainConfig config = unusual("bptt");
  write_config(path, config);
  EXPECT_EQ(to_json(read_config(path)), to_json(config));
  EXPECT_EQ(folder.file_count(), 1);

  for (const char* text : {"", "{", "{\"method\": }", "{} x"}) {
    write_bytes(path, text);
    EXPECT_EQ(message_of([&] { read_config(path); }), path + ": is not valid JSON");
  }
  write_bytes(path, "{}");
  EXPECT_EQ(message_of([&] { read_config(path); }),
            path + ": method: must be \"smt\", \"dmt\" or \"bptt\", got null");
  EXPECT_EQ(message_of([&] { read_config(folder / "no.json"); }),
            (folder / "no.json") + ": cannot open: No such file or directory");
}

}  // namespace
}  // namespace loopless
