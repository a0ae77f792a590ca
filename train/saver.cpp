#include "train/saver.h"

#include <filesystem>
#include <map>

#include "train/config_json.h"

namespace loopless {

std::string Saver::save(const Progress& progress) {
  directory_.ensure();
  if (!directory_.has_config()) write_config(directory_.config(), config_);
  TrainingState training{progress, {}};
  for (const FlatParameters::Entry& entry : flat_.entries()) {
    if (!entry.grad.defined()) continue;
    const Shape& shape = entry.value.shape();
    training.moments.push_back({entry.name, optimizer_.m(entry.begin, shape.numel()).view(shape),
                                optimizer_.v(entry.begin, shape.numel()).view(shape)});
  }
  const std::string path = checkpoint_path(directory_.path(), progress.counts.steps);
  write_checkpoint(path, config_, progress.counts.steps, saved_, &training);
  remove_old(progress);
  return path;
}

void Saver::remove_old(const Progress& progress) const {
  if (!config_.run.keep) return;
  std::vector<CheckpointFile> files = list_checkpoints(directory_.path());
  // Newer ones are damaged, or the run would have gone on from them: they must not push this one out.
  std::erase_if(files, [&](const CheckpointFile& f) { return f.step > progress.counts.steps; });
  for (int64_t i = 0; i + *config_.run.keep < static_cast<int64_t>(files.size()); ++i) {
    if (files[i].step == progress.best_step) continue;
    std::error_code ignored;  // one file too many harms nobody
    std::filesystem::remove(files[i].path, ignored);
  }
}

void Saver::restore(const Checkpoint& checkpoint) const {
  load_parameters(saved_, checkpoint.parameters, checkpoint.path);
  std::map<std::string, const Moments*> found;
  for (const Moments& moments : checkpoint.training->moments) found[moments.parameter] = &moments;
  for (const FlatParameters::Entry& entry : flat_.entries()) {
    if (!entry.grad.defined()) continue;
    const Shape& shape = entry.value.shape();
    const auto it = found.find(entry.name);
    CHECK(it != found.end(), checkpoint.path, ": the moments of ", entry.name, " are missing");
    for (const Tensor& moment : {it->second->m, it->second->v}) {
      check_tensor(checkpoint.path.c_str(), ("the moments of " + entry.name).c_str(), moment,
                   shape);
    }
    optimizer_.m(entry.begin, shape.numel()).view(shape).copy_from(it->second->m);
    optimizer_.v(entry.begin, shape.numel()).view(shape).copy_from(it->second->v);
  }
}

}  // namespace loopless
