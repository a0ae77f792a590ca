/// build/train_dmt: see --help.
#include "train/checkpoint.h"
#include "train/dmt.h"
#include "train/flags.h"
#include "train/trainer.h"

int main(int argc, char** argv) {
  using namespace loopless;
  return run_program("train_dmt", [&] {
    const std::optional<TrainConfig> config = parse_train_flags("dmt", argc, argv);
    if (!config) return 0;
    Teacher teacher(config->teacher, config->run.seed);
    Rnn rnn(config->rnn, config->run.seed);
    Dmt dmt(teacher, rnn, config->dmt);
    // Labels are a trained teacher's memories: without one there is nothing to start from.
    if (!config->run.load_teacher_path && config->run.resume == "never") {
      throw UsageError(
          "--load_teacher_path: must name a run or a checkpoint, since DMT's labels are a trained "
          "teacher's memories; train one with train_smt");
    }
    const auto start = [&] {
      CHECK(config->run.load_teacher_path,
            "--load_teacher_path: must name a run or a checkpoint where there is no run to resume");
      return load_start(*config, rnn.parameters(), teacher.parameters());
    };
    return train(*config, dmt, joined(rnn.parameters(), teacher.parameters()), start).exit_status();
  });
}
