#include "train/config.h"

namespace loopless {

TrainConfig default_config(const std::string& method) {
  TrainConfig config;
  config.method = method;
  if (method != "smt") config.optimizer.batch_size = 32;
  if (method == "dmt") {
    config.run.n_iters = 1'500;
    config.run.log_every = 10;
  }
  return config;
}

}  // namespace loopless
