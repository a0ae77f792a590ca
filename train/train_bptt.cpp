/// build/train_bptt: see --help.
#include "train/bptt.h"
#include "train/checkpoint.h"
#include "train/flags.h"
#include "train/trainer.h"

int main(int argc, char** argv) {
  using namespace loopless;
  return run_program("train_bptt", [&] {
    const std::optional<TrainConfig> config = parse_train_flags("bptt", argc, argv);
    if (!config) return;
    Rnn rnn(config->rnn, config->run.seed);
    if (config->run.load_rnn_path) load_weights(rnn.parameters(), *config->run.load_rnn_path);
    Bptt bptt(rnn, config->bptt);
    train(*config, bptt, rnn.parameters());
  });
}
