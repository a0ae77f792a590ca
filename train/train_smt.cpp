/// build/train_smt: see --help.
#include "train/checkpoint.h"
#include "train/flags.h"
#include "train/smt.h"
#include "train/trainer.h"

int main(int argc, char** argv) {
  using namespace loopless;
  return run_program("train_smt", [&] {
    const std::optional<TrainConfig> config = parse_train_flags("smt", argc, argv);
    if (!config) return;
    Teacher teacher(config->teacher, config->run.seed);
    Rnn rnn(config->rnn, config->run.seed);
    if (config->run.load_teacher_path) {
      load_weights(teacher.parameters(), *config->run.load_teacher_path);
    }
    if (config->run.load_rnn_path) load_weights(rnn.parameters(), *config->run.load_rnn_path);
    Smt smt(teacher, rnn, config->smt);
    NamedParameters saved = rnn.parameters();
    const NamedParameters of_teacher = teacher.parameters();
    saved.insert(saved.end(), of_teacher.begin(), of_teacher.end());
    train(*config, smt, saved);
  });
}
