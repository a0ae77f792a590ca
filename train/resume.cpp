#include "train/resume.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "tensor/file.h"
#include "train/config_json.h"
#include "train/setting_values.h"
#include "train/settings.h"

namespace loopless {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Of the settings of the run itself, those that its numbers depend on.
const std::set<std::string>& fixed_run_settings() {
  static const std::set<std::string> names = {"seed", "test_windows"};
  return names;
}

bool is_fixed(const Setting& setting) {
  return std::string(setting.section.key) != kRun.key ||
         fixed_run_settings().contains(setting.name);
}

void check_checkpoint(const Checkpoint& checkpoint, const TrainConfig& config,
                      const std::string& data_fingerprint) {
  CHECK(checkpoint.config.method == config.method, checkpoint.path, ": is of train_",
        checkpoint.config.method, ", which train_", config.method, " cannot go on from");
  CHECK(checkpoint.training, checkpoint.path,
        ": holds weights alone, without the moments and counters that going on needs; "
        "--load_rnn_path starts a new run from it");
  const std::string changed = differences(config, checkpoint.config);
  CHECK(changed.empty(), checkpoint.path, ": cannot go on with other settings: ", changed);
  const std::string& data = checkpoint.training->progress.data;
  CHECK(data == data_fingerprint, checkpoint.path, ": cannot go on with other data: they were ",
        data, ", they are ", data_fingerprint);
}

Resumption resume_newest(const TrainConfig& config, const RunDirectory& directory,
                         const std::string& data_fingerprint) {
  Resumption result;
  result.is_same_run = directory.has_config();
  std::vector<CheckpointFile> files = list_checkpoints(directory.path());
  std::reverse(files.begin(), files.end());
  for (const CheckpointFile& file : files) {
    try {
      result.from = read_checkpoint(file.path);
    } catch (const Error& error) {
      result.notes.push_back(std::string("skipped ") + error.what());
      continue;
    }
    check_checkpoint(*result.from, config, data_fingerprint);
    result.is_same_run = true;
    result.notes.push_back("resuming from " + file.path);
    return result;
  }
  CHECK(files.empty(), directory.path(), ": none of its ", files.size(),
        " checkpoints is whole; the newest: ", result.notes.front().substr(8));
  if (result.is_same_run) {
    const std::string changed = differences(config, read_config(directory.config()));
    CHECK(changed.empty(), directory.path(), ": cannot go on with other settings: ", changed);
    result.notes.push_back(directory.path() +
                           ": the run has saved no checkpoint yet, starting from step 0");
  } else {
    result.notes.push_back(directory.path() + ": no run to resume, starting from step 0");
  }
  return result;
}

Resumption resume_from(const std::string& path, const TrainConfig& config,
                       const RunDirectory& directory, const std::string& data_fingerprint) {
  Resumption result;
  result.from = read_checkpoint(path);
  check_checkpoint(*result.from, config, data_fingerprint);
  const fs::path folder = fs::weakly_canonical(fs::absolute(result.from->path)).parent_path();
  result.is_same_run = folder == fs::weakly_canonical(fs::absolute(directory.checkpoints()));
  result.notes.push_back("resuming from " + result.from->path);
  if (!result.is_same_run) return result;
  const std::vector<CheckpointFile> files = list_checkpoints(directory.path());
  if (files.empty()) return result;  // the one given has another name
  const CheckpointFile& newest = files.back();
  CHECK(newest.step <= result.from->step, directory.path(), ": holds newer checkpoints than ",
        result.from->path, ", up to ", newest.path,
        "; move them away, or choose another --save_dir");
  return result;
}

}  // namespace

std::string differences(const TrainConfig& now, const TrainConfig& then) {
  const json before = to_json(then);
  std::string result;
  for_each_setting(now, [&](const Setting& setting, const auto& value) {
    const json& old = before[setting.section.key][setting.name];
    if (!is_fixed(setting) || old == json_of(value)) return;
    result += (result.empty() ? "--" : "; --") + setting.flag() + ": is " +
              join(words_of(json_of(value))) + ", was " + join(words_of(old));
  });
  return result;
}

Resumption find_resumption(const TrainConfig& config, const RunDirectory& directory,
                           const std::string& data_fingerprint) {
  if (config.run.resume == "never") return {};
  if (config.run.resume == "auto") return resume_newest(config, directory, data_fingerprint);
  return resume_from(config.run.resume, config, directory, data_fingerprint);
}

void copy_history(const Checkpoint& checkpoint, const RunDirectory& directory) {
  const fs::path folder = fs::weakly_canonical(fs::absolute(checkpoint.path)).parent_path();
  const fs::path lines = folder.parent_path() / "metrics.jsonl";
  if (folder.filename() != "checkpoints" || !fs::exists(lines)) return;
  const MappedFile from(lines.string());
  AtomicFile to(directory.metrics());
  to.write(from.data(), from.size());
  to.commit();
}

}  // namespace loopless
