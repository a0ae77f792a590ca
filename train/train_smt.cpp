/// build/train_smt: see --help.
#include "train/checkpoint.h"
#include "train/flags.h"
#include "train/smt.h"
#include "train/trainer.h"

int main(int argc, char** argv) {
  using namespace loopless;
  return run_program("train_smt", [&] {
    const std::optional<TrainConfig> config = parse_train_flags("smt", argc, argv);
    if (!config) return 0;
    Teacher teacher(config->teacher, config->run.seed);
    Rnn rnn(config->rnn, config->run.seed);
    Smt smt(teacher, rnn, config->smt);
    const auto start = [&] { return load_start(*config, rnn.parameters(), teacher.parameters()); };
    return train(*config, smt, joined(rnn.parameters(), teacher.parameters()), start).exit_status();
  });
}
