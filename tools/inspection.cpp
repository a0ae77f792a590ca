#include "tools/inspection.h"

#include <cmath>
#include <filesystem>
#include <map>

#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include "tools/element_summary.h"
#include "tools/run_inspection.h"
#include "train/checkpoint.h"

namespace loopless {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json sizes_of(const Shape& shape) {
  Json sizes = Json::array();
  for (int i = 0; i < shape.rank(); ++i) sizes.push_back(shape[i]);
  return sizes;
}

Json json_of(const ElementSummary& s) {
  return {{"count", s.count}, {"nonfinite", s.nonfinite}, {"mean", s.mean()},
          {"norm", s.norm()}, {"rms", s.rms()},           {"min", s.min},
          {"max", s.max}};
}

// --- .npy ---------------------------------------------------------------------------------------

/// What an array is like as a data set: its tokens are bytes.
Json tokens_of(const NpyMap& file) {
  int64_t counts[256] = {};
  const uint8_t* first = file.data<uint8_t>();
  for (int64_t i = 0; i < file.numel(); ++i) ++counts[first[i]];
  int different = 0, largest = 0;
  double bits = 0;
  for (int token = 0; token < 256; ++token) {
    if (counts[token] == 0) continue;
    ++different;
    largest = token;
    const double share = static_cast<double>(counts[token]) / static_cast<double>(file.numel());
    bits -= share * std::log2(share);
  }
  return {{"different", different}, {"largest", largest}, {"entropy", bits}};
}

Json inspect_npy(const std::string& path) {
  const NpyMap file(path);
  Json result = {{"path", path},
                 {"kind", "npy"},
                 {"bytes", fs::file_size(path)},
                 {"dtype", name_of(file.dtype())},
                 {"shape", sizes_of(file.shape())},
                 {"elements", json_of(summarize_elements(file.raw(), file.dtype(), file.numel()))}};
  if (file.dtype() == kU8 && file.numel() > 0) result["tokens"] = tokens_of(file);
  return result;
}

// --- .safetensors -------------------------------------------------------------------------------

/// "rnn.cell" of "rnn.cell.layer0.attention.norm.gain" for 2 parts; all of a name with fewer.
std::string first_parts(const std::string& name, int parts) {
  size_t end = name.find('.');
  for (int i = 1; i < parts && end != name.npos; ++i) end = name.find('.', end + 1);
  return name.substr(0, end);
}

/// Tensors together under a name, such as a model or a part of one.
struct Group {
  int64_t tensors = 0;
  ElementSummary elements;

  void add(const ElementSummary& more) {
    ++tensors;
    elements.add(more);
  }
  Json json() const { return {{"tensors", tensors}, {"elements", json_of(elements)}}; }
};

struct TensorTables {
  Json parameters = Json::array();
  Json moments = Json::array();
  std::map<std::string, Group> groups;  // of the parameters; "" is all of them
  Group m, v;

  void add(const SafetensorsMap::Entry& entry) {
    const ElementSummary summary = summarize_elements(entry.raw, entry.dtype, entry.shape.numel());
    const Json row = {{"name", entry.name},
                      {"dtype", name_of(entry.dtype)},
                      {"shape", sizes_of(entry.shape)},
                      {"elements", json_of(summary)}};
    const bool is_m = entry.name.starts_with("adam.m.");
    if (is_m || entry.name.starts_with("adam.v.")) {
      (is_m ? m : v).add(summary);
      moments.push_back(row);
      return;
    }
    parameters.push_back(row);
    groups[""].add(summary);
    const std::string outer = first_parts(entry.name, 1), inner = first_parts(entry.name, 2);
    if (outer != entry.name) groups[outer].add(summary);
    if (inner != entry.name && inner != outer) groups[inner].add(summary);
  }

  Json groups_json() const {
    Json list = Json::array();
    for (const auto& [name, group] : groups) {
      Json row = {{"name", name.empty() ? "all" : name}};
      row.update(group.json());
      if (!name.empty()) list.push_back(row);
    }
    Json all = {{"name", "all"}};
    all.update(groups.contains("") ? groups.at("").json() : Group().json());
    list.push_back(all);
    return list;
  }
};

Json inspect_safetensors(const std::string& path) {
  const SafetensorsMap file(path);
  check_checksum(file);
  TensorTables tables;
  for (const SafetensorsMap::Entry& entry : file.entries()) tables.add(entry);
  Json result = {{"path", path}, {"kind", "safetensors"}, {"bytes", file.bytes()}};
  result.update(inspect_metadata(file.metadata(), path));
  result["tensors"] = tables.parameters;
  result["groups"] = tables.groups_json();
  if (!tables.moments.empty()) {
    result["moments"] = {
        {"m", tables.m.json()}, {"v", tables.v.json()}, {"tensors", tables.moments}};
  }
  return result;
}

}  // namespace

Json inspect(const std::string& path) {
  if (fs::is_directory(path)) return inspect_run(path);
  const std::string name = fs::path(path).filename().string();
  if (name.ends_with(".npy")) return inspect_npy(path);
  if (name.ends_with(".safetensors")) return inspect_safetensors(path);
  const MappedFile file(path);  // says what is wrong with a name that leads nowhere
  detail::throw_error(path, ": is neither an .npy, nor a .safetensors, nor the folder of a run");
}

bool has_error(const Json& inspection) {
  if (!inspection.is_structured()) return false;
  if (inspection.is_object() && inspection.contains("error")) return true;
  for (const auto& [key, value] : inspection.items()) {
    // What a run wrote of itself is its own: a metric may be called "error".
    if (key != "metadata" && key != "state" && key != "first" && key != "last" && key != "best" &&
        has_error(value)) {
      return true;
    }
  }
  return false;
}

}  // namespace loopless
