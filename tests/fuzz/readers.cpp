#include "tests/fuzz/readers.h"

#include <memory>

#include "tensor/error.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include "tests/support/files.h"
#include "train/data/idx.h"
#include "train/data/image_file.h"
#include "train/flags.h"

namespace loopless::testing {
namespace {

/// Keeps the compiler from dropping reads.
volatile unsigned sink = 0;

template <class T>
void look_at(const T* data, int64_t count) {
  unsigned sum = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(data);
  for (int64_t i = 0; i < count * static_cast<int64_t>(sizeof(T)); ++i) sum += bytes[i];
  sink = sum;
}

/// The file that `write` writes at the path it is given.
template <class Write>
std::string file_of(const Write& write) {
  const TemporaryFolder folder;
  write(folder / "seed");
  return read_bytes(folder / "seed");
}

Reader npy() {
  Reader reader{"npy",
                {},
                80,
                [](const std::string& path) {
                  const NpyMap file(path);
                  look_at(file.raw(), file.numel() * size_of(file.dtype()));
                  read_npy(path);
                },
                {}};
  for (const Tensor& x :
       {Tensor::zeros({3, 5}), Tensor::zeros({70}, kU8), Tensor::zeros({2, 0}, kI32)})
    reader.seeds.push_back(file_of([&](const std::string& path) { write_npy(path, x); }));
  return reader;
}

Reader safetensors() {
  Reader reader{"safetensors",
                {},
                400,
                [](const std::string& path) {
                  const SafetensorsMap file(path);
                  for (const SafetensorsMap::Entry& entry : file.entries())
                    look_at(entry.raw, entry.shape.numel() * size_of(entry.dtype));
                  read_safetensors(path);
                },
                {}};
  reader.seeds.push_back(file_of([](const std::string& path) {
    write_safetensors(path,
                      {{"rnn.embed.weight", Tensor::zeros({4, 3})},
                       {"x", Tensor::zeros({5}, kU8)},
                       {"steps", Tensor::zeros({1}, kI32)}},
                      {{"step", "17"}, {"config", R"({"a": [1, "\u00e4"]})"}});
  }));
  reader.seeds.push_back(file_of([](const std::string& path) { write_safetensors(path, {}); }));
  return reader;
}

Reader toml() {
  const auto read = [](const std::string& path) {
    const std::string config = "--config=" + path;
    const char* words[] = {"train_smt", "--save_dir=x", "--dataset=kjv", config.c_str()};
    parse_train_flags("smt", 4, words);
  };
  return {"toml",
          {"# A run.\nlr = 3e-4\nbatch_size = 32\nadam_betas = [0.9, 0.95]\n"
           "lr_schedule = \"warmup_cosine\"\n\n[rnn]\nd_model = 256\nmem_fsq = \"None\"\n"
           "rotary_pos_emb = true\n[smt]\nT = 128\nTc = 64\nTf = 64\ncoef_unif = 1e-3\n",
           "smt.Tc = 64\nrnn.d_model = 256\nn_iters = 100\n", "\n"},
          200,
          read,
          {}};
}

std::vector<std::string> idx_files() {
  const std::string magic("\0\0\x08", 3), flat("\x01\0\0\0\x28", 5),
      images("\x03\0\0\0\x02\0\0\0\x03\0\0\0\x04", 13);
  return {magic + flat + std::string(40, 'a'), magic + images + "abcdefghijklmnopqrstuvwx"};
}

void look_at_idx(const std::string& path) {
  const Idx idx = read_idx(path);
  CHECK(static_cast<int64_t>(idx.bytes.size()) == idx.shape.numel(), "shape and bytes differ");
}

/// Changes of the file itself.
Reader idx() {
  Reader reader{"idx", idx_files(), 16, look_at_idx, {}};
  for (const std::string& file : idx_files()) reader.seeds.push_back(gzipped(file));
  return reader;
}

/// Changes of what is compressed.
Reader compressed_idx() { return {"idx.gz", idx_files(), 16, look_at_idx, gzipped}; }

Reader image() {
  const std::vector<uint8_t> png = encode_png(5, 4, std::vector<uint8_t>(60, 99));
  return {"image",
          {"P5\n4 3\n255\nabcdefghijkl", "P2 # plain\n2 2\n9\n1 2\n3 9\n",
           std::string(png.begin(), png.end())},
          60,
          [](const std::string& path) {
            const Image result = read_image(path);
            CHECK(static_cast<int64_t>(result.pixels.size()) == result.height * result.width,
                  "sides and pixels differ");
          },
          {}};
}

}  // namespace

std::vector<Reader> all_readers() {
  return {npy(), safetensors(), toml(), idx(), compressed_idx(), image()};
}

}  // namespace loopless::testing
