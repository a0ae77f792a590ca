#include "tensor/safetensors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

namespace loopless {
namespace {

using nlohmann::json;

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kAlignment = 8;                // bytes; the header is padded to it
constexpr int64_t kLongestHeader = 100'000'000;  // bytes; as the format's own library has it
constexpr const char* kMetadata = "__metadata__";
constexpr std::pair<const char*, DType> kTypes[] = {
    {"F32", kF32}, {"BF16", kBF16}, {"I32", kI32}, {"U8", kU8}};

/// What the header says of one tensor. Offsets are bytes behind the header.
struct HeaderEntry {
  std::string name;
  std::optional<DType> dtype;
  bool has_shape = false;
  std::vector<int64_t> shape, offsets;  // offsets: begin and end, or empty until they were read

  int64_t begin() const { return offsets[0]; }
  int64_t end() const { return offsets[1]; }
};

/// Follows the header as it is parsed, and throws at the first thing that does not belong there:
/// nothing is built that could outgrow the file. The header has the form
///   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
///    "__metadata__": {"key": "value", ...}}
class HeaderReader : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(const std::string& path) : path_(path) {}

  std::vector<HeaderEntry> entries;
  Metadata metadata;

  bool start_object(size_t) override {
    if (place_ == Place::kStart) return enter(Place::kNames);
    if (place_ != Place::kNames) fail(subject(), " must not be an object");
    if (name_ == kMetadata) return enter(Place::kMetadata);
    entry_ = HeaderEntry();
    entry_.name = name_;
    return enter(Place::kEntry);
  }

  bool end_object() override {
    if (place_ == Place::kEntry) {
      if (!entry_.dtype || !entry_.has_shape || entry_.offsets.empty()) {
        fail(quoted(name_), " must have dtype, shape and data_offsets");
      }
      entries.push_back(std::move(entry_));
    }
    return enter(place_ == Place::kNames ? Place::kEnd : Place::kNames);
  }

  bool key(string_t& key) override {
    if (place_ == Place::kNames) {
      name_ = key;
      if (!names_.insert(key).second) fail("the name ", quoted(name_), " is there twice");
      return true;
    }
    key_ = key;
    bool is_new = true;
    if (place_ == Place::kMetadata) {
      is_new = metadata.emplace(key, "").second;
    } else if (key == "dtype") {
      is_new = !entry_.dtype;
    } else if (key == "shape") {
      is_new = !std::exchange(entry_.has_shape, true);
    } else if (key == "data_offsets") {
      is_new = entry_.offsets.empty();
    } else {
      fail(subject(), " is no field of a tensor");
    }
    if (!is_new) fail(subject(), " is there twice");
    return true;
  }

  bool start_array(size_t) override {
    if (place_ == Place::kEntry && key_ == "shape") return enter(Place::kShape);
    if (place_ == Place::kEntry && key_ == "data_offsets") return enter(Place::kOffsets);
    fail(subject(), " must not be a list");
  }

  bool end_array() override {
    if (place_ == Place::kOffsets && entry_.offsets.size() != 2) {
      fail(subject(), " must have two numbers");
    }
    return enter(Place::kEntry);
  }

  bool number_unsigned(number_unsigned_t number) override {
    const bool is_shape = place_ == Place::kShape;
    if (!is_shape && place_ != Place::kOffsets) fail(subject(), " must not be a number");
    std::vector<int64_t>& list = is_shape ? entry_.shape : entry_.offsets;
    if (list.size() == (is_shape ? Shape::kMaxRank : 2)) fail(subject(), " has too many numbers");
    if (number > INT64_MAX) fail(subject(), ": ", number, " is too large");
    list.push_back(static_cast<int64_t>(number));
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::kMetadata) {
      metadata[key_] = text;
      return true;
    }
    if (place_ != Place::kEntry || key_ != "dtype") fail(subject(), " must not be a string");
    for (const auto& [name, dtype] : kTypes) {
      if (text == name) entry_.dtype = dtype;
    }
    if (!entry_.dtype) {
      fail(subject(), " ", quoted(text), " is not supported, only F32, BF16, I32 and U8");
    }
    return true;
  }

  bool null() override { fail(subject(), " must not be null"); }
  bool boolean(bool) override { fail(subject(), " must not be true or false"); }
  bool number_integer(number_integer_t) override { fail(subject(), " must not be negative"); }
  bool number_float(number_float_t, const string_t&) override {
    fail(subject(), " must not be a fraction or so large");
  }
  bool binary(binary_t&) override { fail(subject(), " must not be binary"); }

  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    detail::throw_error(path_, ": byte ", kLengthBytes + static_cast<int64_t>(position),
                        ": the header is not well-formed JSON; save it again");
  }

 private:
  enum class Place { kStart, kNames, kEntry, kShape, kOffsets, kMetadata, kEnd };

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  static std::string quoted(const std::string& text) { return '"' + printable(text) + '"'; }

  /// Where the parser is, for messages.
  std::string subject() const {
    return place_ == Place::kNames ? quoted(name_) : quoted(name_) + ": " + quoted(key_);
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    detail::throw_error(path_, ": ", parts..., "; save it again");
  }

  const std::string& path_;
  Place place_ = Place::kStart;
  std::set<std::string> names_;
  std::string name_;  // of the tensor the parser is in, or "__metadata__"
  std::string key_;   // the last key inside it
  HeaderEntry entry_;
};

/// The header's text, once its length is known to make sense.
std::string_view header_text(const MappedFile& file) {
  const std::string& path = file.path();
  CHECK(file.size() >= kLengthBytes, path, ": not a safetensors file: it has ", file.size(),
        " bytes, and the length of the header alone has ", kLengthBytes);
  uint64_t length;
  std::memcpy(&length, file.data(), sizeof length);
  CHECK(length <= kLongestHeader, path, ": not a safetensors file: the length of its header is ",
        length, " bytes, more than ", kLongestHeader);
  CHECK(static_cast<int64_t>(length) <= file.size() - kLengthBytes, path,
        ": the file is cut: its header ends at byte ", kLengthBytes + length, ", the file at byte ",
        file.size(), "; copy it again");
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes, length);
  // The parser would skip a byte order mark, and take a zero byte for the end.
  CHECK(text.substr(0, 1) == "{", path, ": byte ", kLengthBytes, ": the header must start with {");
  CHECK(text.find('\0') == text.npos, path, ": byte ", kLengthBytes + text.find('\0'),
        ": the header has a zero byte; save it again");
  return text;
}

/// Every byte behind the header must belong to exactly one tensor, of the size its shape says.
void check_places(const std::string& path, std::vector<HeaderEntry>& entries, int64_t data_bytes) {
  for (const HeaderEntry& entry : entries) {
    const std::string name = printable(entry.name);
    CHECK(Shape::is_valid(entry.shape), path, ": \"", name, "\" has too many elements");
    CHECK(entry.begin() <= entry.end(), path, ": \"", name, "\" ends at byte ", entry.end(),
          ", before its begin ", entry.begin(), "; save it again");
    CHECK(entry.end() <= data_bytes, path, ": \"", name, "\" ends at byte ", entry.end(),
          " behind the header, the file at byte ", data_bytes, "; copy it again");
    const Shape shape(entry.shape.data(), static_cast<int>(entry.shape.size()));
    CHECK(entry.end() - entry.begin() == shape.numel() * size_of(*entry.dtype), path, ": \"", name,
          "\" is ", *entry.dtype, " ", shape, " and needs ", shape.numel() * size_of(*entry.dtype),
          " bytes, but has ", entry.end() - entry.begin(), "; save it again");
  }
  std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
    return std::pair(a.begin(), a.end()) < std::pair(b.begin(), b.end());
  });
  int64_t covered = 0;
  for (const HeaderEntry& entry : entries) {
    CHECK(entry.begin() >= covered, path, ": \"", printable(entry.name), "\" begins at byte ",
          entry.begin(), " behind the header, inside another tensor; save it again");
    CHECK(entry.begin() == covered, path, ": bytes ", covered, " to ", entry.begin(),
          " behind the header belong to no tensor; save it again");
    covered = entry.end();
  }
  CHECK(covered == data_bytes, path, ": ", data_bytes - covered,
        " bytes too many at the end belong to no tensor; save it again");
}

const char* type_name(DType dtype) {
  const auto is_it = [=](const auto& type) { return type.second == dtype; };
  return std::find_if(std::begin(kTypes), std::end(kTypes), is_it)->first;
}

/// The header of a file to be written.
std::string header_for(const std::string& path, const NamedTensors& tensors,
                       const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::set<std::string> names = {kMetadata};
  if (!metadata.empty()) header[kMetadata] = metadata;
  int64_t at = 0;
  for (const auto& [name, x] : tensors) {
    CHECK(names.insert(name).second, path, ": cannot write: the name \"", name,
          "\" is used twice or reserved");
    CHECK(x.defined(), path, ": cannot write: \"", name, "\" is undefined");
    std::vector<int64_t> shape;
    for (int i = 0; i < x.rank(); ++i) shape.push_back(x.size(i));
    header[name] = {
        {"dtype", type_name(x.dtype())}, {"shape", shape}, {"data_offsets", {at, at + x.bytes()}}};
    at += x.bytes();
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  const int64_t padding = -static_cast<int64_t>(text.size()) & (kAlignment - 1);
  return text.append(padding, ' ');
}

}  // namespace

SafetensorsMap::SafetensorsMap(std::string path) : file_(std::move(path)) {
  const std::string_view text = header_text(file_);
  HeaderReader header(file_.path());
  json::sax_parse(text.begin(), text.end(), &header);
  const std::byte* data = file_.data() + kLengthBytes + text.size();
  const int64_t data_bytes = file_.size() - kLengthBytes - static_cast<int64_t>(text.size());
  check_places(file_.path(), header.entries, data_bytes);

  metadata_ = std::move(header.metadata);
  for (HeaderEntry& entry : header.entries) {
    const Shape shape(entry.shape.data(), static_cast<int>(entry.shape.size()));
    entries_.push_back({std::move(entry.name), *entry.dtype, shape, data + entry.begin()});
  }
}

SafetensorsFile read_safetensors(const std::string& path) {
  const SafetensorsMap map(path);
  SafetensorsFile result;
  result.metadata = map.metadata();
  for (const SafetensorsMap::Entry& entry : map.entries()) {
    const Tensor x = Tensor::empty(entry.shape, entry.dtype);
    if (x.bytes() > 0) std::memcpy(x.raw(), entry.raw, x.bytes());
    result.tensors.emplace(entry.name, x);
  }
  return result;
}

void write_safetensors(const std::string& path, const NamedTensors& tensors,
                       const Metadata& metadata) {
  const std::string header = header_for(path, tensors, metadata);
  const uint64_t length = header.size();
  AtomicFile file(path);
  file.write(&length, sizeof length);
  file.write(header);
  for (const auto& [name, x] : tensors) file.write(x.raw(), x.bytes());
  file.commit();
}

}  // namespace loopless
