/// build/train_dmt: see --help.
#include "train/checkpoint.h"
#include "train/dmt.h"
#include "train/flags.h"
#include "train/trainer.h"

int main(int argc, char** argv) {
  using namespace loopless;
  return run_program("train_dmt", [&] {
    const std::optional<TrainConfig> config = parse_train_flags("dmt", argc, argv);
    if (!config) return;
    Teacher teacher(config->teacher, config->run.seed);
    Rnn rnn(config->rnn, config->run.seed);
    if (!config->run.load_teacher_path) {
      throw UsageError(
          "--load_teacher_path: must name a run or a checkpoint, since DMT's labels are a trained "
          "teacher's memories; train one with train_smt");
    }
    load_weights(teacher.parameters(), *config->run.load_teacher_path);
    if (config->run.load_rnn_path) load_weights(rnn.parameters(), *config->run.load_rnn_path);
    Dmt dmt(teacher, rnn, config->dmt);
    NamedParameters saved = rnn.parameters();
    const NamedParameters of_teacher = teacher.parameters();
    saved.insert(saved.end(), of_teacher.begin(), of_teacher.end());
    train(*config, dmt, saved);
  });
}
