/// build/train_bptt: see --help.
#include "train/bptt.h"
#include "train/checkpoint.h"
#include "train/flags.h"
#include "train/trainer.h"

int main(int argc, char** argv) {
  using namespace loopless;
  return run_program("train_bptt", [&] {
    const std::optional<TrainConfig> config = parse_train_flags("bptt", argc, argv);
    if (!config) return 0;
    Rnn rnn(config->rnn, config->run.seed);
    Bptt bptt(rnn, config->bptt);
    const auto start = [&] { return load_start(*config, rnn.parameters()); };
    return train(*config, bptt, rnn.parameters(), start).exit_status();
  });
}
