#include "models/memory.h"

#include "ops/fsq/fsq.h"
#include "ops/rms_norm/rms_norm.h"

namespace loopless {

Tensor memory_of(const Tensor& h, const ModelConfig& config) {
  Tensor m = h;
  if (config.mem_rms_norm) m = rms_norm(m, {}, kMemoryNorm);
  if (config.mem_fsq) m = fsq(m, *config.mem_fsq);
  return m;
}

void check_config(const ModelConfig& config, const char* name) {
  CHECK(config.vocab_size > 0 && config.d_model > 0 && config.mem_tokens > 0 &&
            config.n_heads > 0 && config.decoder_depth > 0,
        name, ": vocab_size, d_model, mem_tokens, n_heads and decoder_depth must be positive");
  CHECK(config.d_model * config.mem_tokens == config.mem_size, name,
        ".mem_size: must be d_model * ", "mem_tokens = ", config.d_model, " * ", config.mem_tokens,
        " = ", config.d_model * config.mem_tokens, ", got ", config.mem_size);
  CHECK(!config.mem_fsq || *config.mem_fsq > 0, name, ".mem_fsq: must be positive, got ",
        config.mem_fsq.value_or(0));
}

namespace {

void check_equal(const char* what, int64_t a, int64_t b) {
  CHECK(a == b, "teacher.", what, " and rnn.", what, " must be equal, got ", a, " and ", b);
}

}  // namespace

void check_match(const TeacherConfig& teacher, const RnnConfig& rnn) {
  check_equal("vocab_size", teacher.vocab_size, rnn.vocab_size);
  check_equal("mem_tokens", teacher.mem_tokens, rnn.mem_tokens);
  check_equal("d_model", teacher.d_model, rnn.d_model);
  check_equal("mem_size", teacher.mem_size, rnn.mem_size);
}

void check_same_decoder(const TeacherConfig& teacher, const RnnConfig& rnn) {
  check_equal("decoder_depth", teacher.decoder_depth, rnn.decoder_depth);
  check_equal("n_heads", teacher.n_heads, rnn.n_heads);
  check_equal("rotary_pos_emb", teacher.rotary_pos_emb, rnn.rotary_pos_emb);
}

}  // namespace loopless
